package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
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
	shown, pages := everyHelp(t), map[string]string{}
	_, flags, _ := strings.Cut(shown[0].text, "\nFlags:\n")
	flags, _, _ = strings.Cut(flags, "\n\n")
	_, global, found := strings.Cut(flags, "help for agentclash\n")
	if !found {
		t.Fatalf("the root's flags are %q", flags)
	}
	own := regexp.MustCompile(`(?m)^ +--version .*\n`) // the root's alone
	global = own.ReplaceAllString(global, "")
	for _, page := range shown {
		path := strings.Fields(page.command.CommandPath())[1:]
		text, file := page.text, "agentclash.txt"
		for line := range strings.Lines(text) {
			if len(line) > 81 && !strings.HasPrefix(line, "  agentclash ") && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%v --help: %d columns: %s", path, len(line)-1, line)
			}
		}
		if len(path) > 0 {
			text = strings.Replace(text, "\n\nGlobal Flags:\n"+global, "\n\nGlobal Flags: as of agentclash", 1)
			file = path[0] + ".txt"
		}
		pages[file] += "$ " + page.command.CommandPath() + " --help\n" + text + "\n"
	}
	goldenFiles(t, helpGolden, pages)
}

// helpPage is a command that people are told of, and what a person sees of its --help.
type helpPage struct {
	command *cobra.Command
	text    string
}

// everyHelp is the help of every command, the root's first. Tests share one reading.
func everyHelp(t *testing.T) []helpPage {
	t.Helper()
	pages, err := readHelp()
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var readHelp = sync.OnceValues(func() (pages []helpPage, err error) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		text, failed := helpOf(strings.Fields(c.CommandPath())[1:])
		pages, err = append(pages, helpPage{c, text}), errors.Join(err, failed)
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				visit(sub)
			}
		}
	}
	visit(cmd.Tree(cli.System()))
	if len(pages) < 150 {
		err = errors.Join(err, fmt.Errorf("read the help of %d commands, which cannot be all", len(pages)))
	}
	return pages, err
})

// helpOf has the program itself show a command's help on a terminal.
func helpOf(path []string) (string, error) {
	var out bytes.Buffer
	p := cli.System()
	p.Out, p.Err = &out, &out
	p.Terminal = func() (int, int, bool) { return 80, 24, true }
	if status := cmd.Main(p, append(path, "--help")); status != 0 {
		return "", fmt.Errorf("%v --help: status %d: %s", path, status, out.String())
	}
	return out.String(), nil
}

// TestStartIsSmall: every command line makes all commands before one of them is run, and
// must not read packs or a store for it. Allocations say so on any machine.
func TestStartIsSmall(t *testing.T) {
	const most = 20_000
	if n := testing.AllocsPerRun(1, func() { cmd.Tree(cli.System()) }); n > most {
		t.Errorf("the commands are made with %.0f allocations, more than %d", n, most)
	}
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
	lines := strings.Split(everyHelp(t)[0].text, "\n")
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
