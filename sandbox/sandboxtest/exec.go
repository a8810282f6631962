package sandboxtest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox"
)

func execChecks() []check {
	return []check{
		{"X1", "arguments arrive as they are", process, exactArguments},
		{"X2", "exit codes", process, exitCodes},
		{"X2", "a signal's exit code", process, signalCodes},
		{"X3", "a program that cannot be started is a StartError", process, startErrors},
		{"X4", "standard input", process, standardInput},
		{"X5", "the working directory", process, workingDirectory},
		{"X6", "the environment", process, environment},
		{"X6", "a call's variables have precedence over all", process, callVariables},
		{"X7", "a home, a place for temporary files, and a time zone", process, homeAndTemporary},
		{"X4", "8 MiB of any bytes as standard input", tools, largeInput},
		{"X1", "a program is found through PATH", process, foundByName},
		{"X8", "programs and calls see the same files", process, sameFiles},
		{"X8", "links made by a program", tools, madeLinks},
		{"I5", "a program can fill the workspace and no more", process, programFills},
		{"L5", "programs at the same time", process, programsAtOnce},
	}
}

// sh is a command that runs a script with the box's shell; args are $1 and on.
func sh(script string, args ...string) sandbox.Command {
	return sandbox.Command{Argv: append([]string{"/bin/sh", "-c", script, "script"}, args...)}
}

// ran runs a command that ends by itself.
func (k *contract) ran(t *testing.T, box sandbox.Session, c sandbox.Command) sandbox.Result {
	t.Helper()
	r, err := box.Exec(during(t), c)
	if err != nil {
		t.Fatalf("exec %.200q: got %v, want a result", c.Argv, err)
	}
	return r
}

func (k *contract) succeed(t *testing.T, box sandbox.Session, c sandbox.Command) sandbox.Result {
	t.Helper()
	r := k.ran(t, box, c)
	if r.ExitCode != 0 || r.Signal != 0 || r.TimedOut || r.StartError != "" {
		t.Fatalf("exec %.200q: got %s, want success", c.Argv, summary(r))
	}
	return r
}

func (k *contract) wantOutput(t *testing.T, box sandbox.Session, c sandbox.Command, want string) {
	t.Helper()
	if got := k.succeed(t, box, c).Stdout.Text; got != want {
		t.Errorf("exec %.200q: got output %.200q, want %.200q", c.Argv, got, want)
	}
}

func summary(r sandbox.Result) string {
	return fmt.Sprintf("{exit %d, signal %d, timed out %v, start error %q, stdout %.300q, stderr %.300q}",
		r.ExitCode, r.Signal, r.TimedOut, r.StartError, r.Stdout.Text, r.Stderr.Text)
}

func exactArguments(t *testing.T, k *contract) {
	box := k.box(t)
	args := []string{
		"", " ", "a b", "'single'", `"double"`, `back\slash\n`, "$HOME", "`echo x`", "$(echo x)", "*", "~", "-c", "--", "a;b&&c|d>e",
		"ünï-コード-🦀", "new\nline", "tab\t", "%s", "{a,b}", "#", "!", "",
	}
	want := strconv.Itoa(len(args)) + ":"
	for _, a := range args {
		want += "<" + a + ">"
	}
	k.wantOutput(t, box, sh(`printf '%s:' "$#"; for a in "$@"; do printf '<%s>' "$a"; done`, args...), want)
	long := strings.Repeat("x", 100_000)
	k.wantOutput(t, box, sh(`printf %s "${#1}"`, long), "100000")
}

func exitCodes(t *testing.T, k *contract) {
	box := k.box(t)
	for _, code := range []int{0, 1, 2, 7, 126, 127, 128, 137, 255} {
		r := k.ran(t, box, sh(`exit "$1"`, strconv.Itoa(code)))
		if r.ExitCode != code || r.Signal != 0 || r.TimedOut || r.OutOfMemory || r.StartError != "" {
			t.Errorf("exit %d: got %s", code, summary(r))
		}
		if r.Elapsed <= 0 {
			t.Errorf("exit %d: got an elapsed time of %v, want some", code, r.Elapsed)
		}
	}
}

func signalCodes(t *testing.T, k *contract) {
	box := k.box(t)
	if r := k.ran(t, box, sh(`kill -0 $$`)); r.ExitCode != 0 && !k.Tools {
		t.Skipf("the box's shell has no kill: %s", summary(r))
	}
	for _, signal := range []int{1, 2, 6, 9, 15} {
		r := k.ran(t, box, sh(`echo before; kill -"$1" $$; while :; do :; done`, strconv.Itoa(signal)))
		if r.ExitCode != 128+signal || r.Signal != signal || r.TimedOut || r.StartError != "" || r.Stdout.Text != "before\n" {
			t.Errorf("kill -%d: got %s, want exit %d, signal %d", signal, summary(r), 128+signal, signal)
		}
	}
}

func startErrors(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "data.txt", "no program")
	for what, c := range map[string]sandbox.Command{
		"a missing program":         {Argv: []string{"/no/such/program", "arg"}},
		"a missing program by name": {Argv: []string{"agentclash-no-such-program"}},
		"a file that is no program": {Argv: []string{"/workspace/data.txt"}},
		"a directory":               {Argv: []string{"/workspace"}},
		"a missing directory":       {Argv: []string{"/bin/sh", "-c", ":"}, Dir: "no/such/dir"},
		"a file for a directory":    {Argv: []string{"/bin/sh", "-c", ":"}, Dir: "data.txt"},
	} {
		r, err := box.Exec(during(t), c)
		if err != nil || r.ExitCode != -1 || r.StartError == "" || r.Signal != 0 || r.TimedOut {
			t.Errorf("exec of %s: got %s, %v, want exit -1 and why", what, summary(r), err)
		}
	}
	r, err := box.Exec(during(t), sandbox.Command{})
	if err == nil && (r.StartError == "" || r.ExitCode != -1) {
		t.Errorf("exec of nothing: got %s, want an error or a StartError", summary(r))
	}
	k.wantOutput(t, box, sh("echo fine"), "fine\n")
}

func standardInput(t *testing.T, k *contract) {
	box := k.box(t)
	c := sh(`while read -r l; do printf '<%s>' "$l"; done`)
	c.Stdin = []byte("one\n two\\n\n\nthree\n")
	k.wantOutput(t, box, c, `<one><two\n><><three>`)

	c = sh(`if read -r l; then echo "got <$l>"; else echo end; fi`)
	k.wantOutput(t, box, c, "end\n")
	c.Stdin = []byte{}
	k.wantOutput(t, box, c, "end\n")

	c = sh(`read -r l; printf %s "${#l}"`) // more than any pipe holds
	c.Stdin = []byte(strings.Repeat("x", 200_000) + "\n")
	k.wantOutput(t, box, c, "200000")

	c = sh(`exit 3`) // a program need not read it
	c.Stdin = make([]byte, 4<<20)
	if r := k.ran(t, box, c); r.ExitCode != 3 || r.Signal != 0 {
		t.Errorf("exec with input that is not read: got %s, want exit 3", summary(r))
	}
	if k.Tools {
		c = sandbox.Command{Argv: []string{"cat"}, Stdin: []byte("any\x00bytes\xff\xfe\r\n")}
		k.wantOutput(t, box, c, string(c.Stdin))
	}
}

func workingDirectory(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "sub/dir/file.txt", "x")
	for dir, want := range map[string]string{
		"": "/workspace", ".": "/workspace", "sub": "/workspace/sub", "sub/dir": "/workspace/sub/dir", "/workspace/sub": "/workspace/sub",
	} {
		c := sh(`pwd; if [ -d /workspace/sub/dir ]; then echo seen; fi`)
		c.Dir = dir
		k.wantOutput(t, box, c, want+"\nseen\n")
	}
	c := sh(`if [ -f file.txt ]; then echo here; fi; echo made > made.txt`)
	c.Dir = "sub/dir"
	k.wantOutput(t, box, c, "here\n")
	wantRead(t, box, "sub/dir/made.txt", "made\n")
}

func environment(t *testing.T, k *contract) {
	odd := "a 'b' \"c\" $HOME `x` \\ = ü\nline"
	box := k.boxOf(t, sandbox.Spec{Env: map[string]string{"PLAIN": "box", "ODD": odd, "EMPTY": "", "OVER": "box"}})
	c := sh(`printf '%s|' "$PLAIN" "$ODD" "${EMPTY-unset}" "$OVER" "${ADDED-unset}" "${NONE-unset}"`)
	k.wantOutput(t, box, c, "box|"+odd+"||box|unset|unset|")
	over := c
	over.Env = map[string]string{"OVER": "call", "ADDED": odd}
	k.wantOutput(t, box, over, "box|"+odd+"||call|"+odd+"|unset|")
	k.wantOutput(t, box, c, "box|"+odd+"||box|unset|unset|") // one call's is not the next one's
	k.wantOutput(t, box, sh(`echo "${PLAIN-unset}"`), "box\n")
	k.wantOutput(t, k.box(t), sh(`echo "${PLAIN-unset}"`), "unset\n")
}

func foundByName(t *testing.T, k *contract) {
	k.wantOutput(t, k.box(t), sandbox.Command{Argv: []string{"sh", "-c", "echo found"}}, "found\n")
}

func sameFiles(t *testing.T, k *contract) {
	box := k.box(t)
	write(t, box, "dir/given.txt", "given to the program\n")
	k.wantOutput(t, box, sh(`read -r l < dir/given.txt; echo "$l"`), "given to the program\n")

	k.succeed(t, box, sh(`printf 'made by the program' > dir/made.txt; printf 'one\n' > dir/more.txt; printf 'two\n' >> dir/more.txt`))
	wantRead(t, box, "dir/made.txt", "made by the program")
	wantRead(t, box, "dir/more.txt", "one\ntwo\n")
	wantListing(t, box, "dir", true, file("dir/given.txt", 21), file("dir/made.txt", 19), file("dir/more.txt", 8))

	write(t, box, "dir/made.txt", "replaced by the call")
	k.wantOutput(t, box, sh(`read -r l < dir/made.txt || :; echo "$l"; echo again > dir/given.txt`), "replaced by the call\n")
	wantRead(t, box, "dir/given.txt", "again\n")
}

func madeLinks(t *testing.T, k *contract) {
	box := k.box(t)
	k.succeed(t, box, sh(`mkdir -p d/sub; echo x > d/real; ln -s real d/link; ln d/real d/hard; rm -f d/none`))
	wantListing(t, box, "d", true, file("d/hard", 2), sandbox.Entry{Path: "/workspace/d/link", Symlink: true}, file("d/real", 2), dir("d/sub"))
	wantRead(t, box, "d/link", "x\n")
	wantRead(t, box, "d/hard", "x\n")
	write(t, box, "d/hard", "y")
	wantRead(t, box, "d/real", "x\n")
}

func programFills(t *testing.T, k *contract) {
	box := k.boxOf(t, sandbox.Spec{Limits: sandbox.Limits{WorkspaceBytes: 4 << 20}})
	k.ran(t, box, sh(`x=0123456789abcdef; i=0
		while [ $i -lt 12 ]; do x=$x$x; i=$((i+1)); done
		i=0; while [ $i -lt 128 ]; do printf %s "$x" >> big; i=$((i+1)); done`)) // 8 MiB, 64 KiB at a time
	f, err := box.ReadFile(during(t), "big", 0)
	if err != nil || f.Size > 4<<20 || f.Size < 1<<20 {
		t.Errorf("a program's 8 MiB where there are 4: got %d bytes, %v", f.Size, err)
	}
	err = box.WriteFile(during(t), "one-more", make([]byte, 1<<20))
	wantError(t, "write where a program has used all space", err, sandbox.ErrNoSpace)
	k.succeed(t, box, sh(`: > big`))
	write(t, box, "one-more", "fits again")
}

func programsAtOnce(t *testing.T, k *contract) {
	box := k.box(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := sh(`read -r l; i=0; while [ $i -lt 50 ]; do echo "out $1 $l"; echo "err $1 $l" >&2; i=$((i+1)); done; exit "$1"`, strconv.Itoa(i))
			c.Stdin = fmt.Appendf(nil, "in %d\n", i)
			r, err := box.Exec(during(t), c)
			if err != nil || r.ExitCode != i {
				t.Errorf("program %d: got %s, %v", i, summary(r), err)
				return
			}
			line := fmt.Sprintf(" %d in %d\n", i, i)
			if d := cmp.Diff(strings.Repeat("out"+line, 50)+strings.Repeat("err"+line, 50), r.Stdout.Text+r.Stderr.Text); d != "" {
				t.Errorf("program %d: got the output of another (-want +got):\n%s", i, d)
			}
		})
	}
	wg.Wait()
}
