package main_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/manual"
)

const helpGolden = "testdata/golden/help"

// TestHelp renders --help of every command on a terminal of 80 columns, and holds it
// against one file for each command of the first level. Global flags are written out in
// the root's file, and where a command shows others. Only what is there to be copied,
// an example or a list without blanks, may be longer than a line.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := cmd.Tree(cli.System())
	pages, seen := map[string]string{}, 0
	_, flags, _ := strings.Cut(helpOf(t), "\nFlags:\n")
	flags, _, _ = strings.Cut(flags, "\n\n")
	_, global, found := strings.Cut(flags, "help for agentclash\n")
	if !found {
		t.Fatalf("the root's flags are %q", flags)
	}
	for _, c := range everyCommand(root) {
		path := strings.Fields(c.CommandPath())[1:]
		text, file := helpOf(t, path...), "agentclash.txt"
		for line := range strings.Lines(text) {
			if len(line) > 81 && !strings.HasPrefix(line, "  agentclash ") && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%v --help: %d columns: %s", path, len(line)-1, line)
			}
		}
		if len(path) > 0 {
			text = strings.Replace(text, "\n\nGlobal Flags:\n"+global, "\n\nGlobal Flags: as of agentclash", 1)
			file = path[0] + ".txt"
		}
		pages[file] += "$ " + c.CommandPath() + " --help\n" + text + "\n"
		seen++
	}
	if seen < 150 {
		t.Errorf("read the help of %d commands, which cannot be all", seen)
	}
	goldenFiles(t, helpGolden, pages)
}

// everyCommand is a command and all below it that people are told of.
func everyCommand(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			list = append(list, everyCommand(sub)...)
		}
	}
	return list
}

// helpOf is what a person sees of --help.
func helpOf(t *testing.T, path ...string) string {
	t.Helper()
	var out bytes.Buffer
	p := cli.System()
	p.Out, p.Err = &out, &out
	p.Terminal = func() (int, int, bool) { return 80, 24, true }
	if status := cmd.Main(p, append(path, "--help")); status != 0 {
		t.Fatalf("%v --help: status %d: %s", path, status, out.String())
	}
	return out.String()
}

// goldenFiles holds a directory against the files that are to be in it.
func goldenFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if *update {
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range want {
		kept, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%v: make update", err)
		} else if diff := cmp.Diff(string(kept), text); diff != "" {
			t.Errorf("%s is not what the program says: make update (-file +program):\n%s", filepath.Join(dir, name), diff)
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if _, known := want[f.Name()]; !known {
			t.Errorf("%s is of no command: make update", filepath.Join(dir, f.Name()))
		}
	}
}

// TestHelpIsGrouped: every command stands under a heading, and what a newcomer needs can
// be seen without scrolling back.
func TestHelpIsGrouped(t *testing.T) {
	t.Parallel()
	root := cmd.Tree(cli.System())
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.GroupID == "" {
			t.Errorf("%s is in no group: cmd/root.go", c.Name())
		}
	}
	lines := strings.Split(helpOf(t), "\n")
	first := strings.Join(lines[:min(24, len(lines))], "\n")
	for _, want := range []string{"\nStart here:\n", "  quickstart ", "  doctor ", "\nEvaluate:\n", "  eval "} {
		if !strings.Contains(first, want) {
			t.Errorf("the first 24 lines of help do not have %q:\n%s", want, first)
		}
	}
	page := read(t, "llms.txt")
	for _, g := range manual.Groups(root) {
		var names []string
		for _, c := range g.Commands {
			names = append(names, "`"+c.Name()+"`")
		}
		if line := "- " + g.Title + ": " + strings.Join(names, ", ") + "\n"; !strings.Contains(page, line) {
			t.Errorf("llms.txt has no line %q", line)
		}
	}
}

// TestNoTemplates keeps text/template out of the program: it calls methods by name, so
// that the linker has to keep all there are, 13 MB of them. Cobra links it for who sets
// a template.
func TestNoTemplates(t *testing.T) {
	t.Parallel()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(program, []byte("text/template.(*state).evalField")) {
		t.Error("the program executes templates")
	}
}
