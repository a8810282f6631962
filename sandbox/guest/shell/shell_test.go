package shell_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/sandbox/guest/shell"
)

// run calls a program with its arguments and its input.
func run(t *testing.T, input string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var out, errs bytes.Buffer
	status = shell.Main(t.Context(), args, shell.Std{In: in, Out: &out, Err: &errs})
	return status, out.String(), errs.String()
}

func TestShell(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script.sh")
	if err := os.WriteFile(script, []byte("echo \"$0 $# $2\"; exit 4"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args   []string
		input  string
		status int
		stdout string
	}{
		"a command":             {[]string{"sh", "-c", "echo hi"}, "", 0, "hi\n"},
		"a login shell":         {[]string{"/bin/sh", "-lc", "echo hi; exit 3"}, "", 3, "hi\n"},
		"a name and parameters": {[]string{"sh", "-c", `echo "$0|$1|$2"`, "n", "a b", ""}, "", 0, "n|a b|\n"},
		"options that begin -":  {[]string{"sh", "-c", `printf '%s\n' "$1"`, "n", "-e"}, "", 0, "-e\n"},
		"errexit":               {[]string{"sh", "-ec", "false; echo no"}, "", 1, ""},
		"nounset":               {[]string{"sh", "-uc", "echo $NO_SUCH_VARIABLE; echo no"}, "", 1, ""},
		"pipefail":              {[]string{"sh", "-o", "pipefail", "-c", "false | true"}, "", 1, ""},
		"a program as input":    {[]string{"sh"}, "x=1\necho $((x+1))\n", 0, "2\n"},
		"a file":                {[]string{"sh", script, "a", "b"}, "", 4, script + " 2 b\n"},
		"input":                 {[]string{"sh", "-c", `while read -r l; do echo "<$l>"; done`}, "a\nb\n", 0, "<a>\n<b>\n"},
		"loops and functions":   {[]string{"sh", "-c", `f() { for i in "$@"; do [ "$i" = b ] && return 5; done; }; f a b c; echo $?`}, "", 0, "5\n"},
		"a missing command":     {[]string{"sh", "-c", "agentclash-no-such-command"}, "", 127, ""},
		"a missing file":        {[]string{"sh", script + "none"}, "", 127, ""},
		"broken syntax":         {[]string{"sh", "-c", "if"}, "", 2, ""},
		"an unknown option":     {[]string{"sh", "-Z", "-c", "echo hi"}, "", 2, ""},
		"-c of nothing":         {[]string{"sh", "-c"}, "", 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := run(t, tc.input, tc.args...)
			if status != tc.status || stdout != tc.stdout {
				t.Errorf("got %d, %q (stderr %q); want %d, %q", status, stdout, stderr, tc.status, tc.stdout)
			}
			if (tc.status == 2 || tc.status == 127) && stderr == "" {
				t.Error("it failed without a word")
			}
		})
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("a"), []byte("of a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct { // in this order
		args   []string
		input  string
		status int
		stdout string
	}{
		{[]string{"true"}, "", 0, ""},
		{[]string{"false"}, "", 1, ""},
		{[]string{"echo", "-n", "a", " b"}, "", 0, "a  b"},
		{[]string{"cat", at("a"), "-"}, "in", 0, "of a\nin"},
		{[]string{"cat", at("none")}, "", 1, ""},
		{[]string{"mkdir", "-p", at("d/e")}, "", 0, ""},
		{[]string{"mkdir", at("d")}, "", 1, ""},
		{[]string{"cp", at("a"), at("d")}, "", 0, ""},
		{[]string{"cp", at("d"), at("f")}, "", 1, ""},
		{[]string{"mv", at("d/a"), at(".b")}, "", 0, ""},
		{[]string{"ls", dir}, "", 0, "a\nd\n"},
		{[]string{"ls", "-a", dir}, "", 0, ".b\na\nd\n"},
		{[]string{"ls", "-l", dir}, "", 2, ""},
		{[]string{"rm", at("d")}, "", 1, ""},
		{[]string{"rm", "-r", at("d")}, "", 0, ""},
		{[]string{"rm", "-f", at("none"), at(".b")}, "", 0, ""},
		{[]string{"ls", "-a", dir}, "", 0, "a\n"},
		{[]string{"sleep", "0.01"}, "", 0, ""},
		{[]string{"sleep", "soon"}, "", 2, ""},
		{[]string{"awk"}, "", 127, ""},
	} {
		status, stdout, stderr := run(t, tc.input, tc.args...)
		if status != tc.status || stdout != tc.stdout {
			t.Errorf("%q: got %d, %q (stderr %q); want %d, %q", tc.args, status, stdout, stderr, tc.status, tc.stdout)
		}
		if status > 0 && tc.args[0] != "false" && stderr == "" {
			t.Errorf("%q: it failed without a word", tc.args)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	names := shell.Names()
	if !slices.IsSorted(names) || !slices.Contains(names, "sh") || !slices.Contains(names, "cat") {
		t.Errorf("got %q", names)
	}
	for _, n := range names {
		if !shell.Is(n) || !shell.Is("/bin/"+n) {
			t.Errorf("%q is not one of its own names", n)
		}
	}
	for _, n := range []string{"agentclash", "bash", "", "sh.test", strings.Repeat("x", 100)} {
		if shell.Is(n) {
			t.Errorf("it answers to %q", n)
		}
	}
}
