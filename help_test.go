package main_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
)

// TestHelpFitsATerminal reads the help of every command at 80 columns. Only what is
// there to be copied, an example or a list without blanks, may be longer.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	verbs := regexp.MustCompile(`(?m)^  ([a-z-]+) +[A-Z]`)
	seen := 0
	var read func(path ...string)
	read = func(path ...string) {
		var out bytes.Buffer
		p := cli.System()
		p.Out, p.Err = &out, &out
		p.Terminal = func() (int, int, bool) { return 80, 24, true }
		if status := cmd.Main(p, append(path, "--help")); status != 0 {
			t.Fatalf("%v --help: status %d: %s", path, status, out.String())
		}
		seen++
		for line := range strings.Lines(out.String()) {
			if len(line) > 81 && !strings.HasPrefix(line, "  agentclash ") && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%v --help: %d columns: %s", path, len(line)-1, line)
			}
		}
		_, rest, _ := strings.Cut(out.String(), "Available Commands:\n")
		list, _, _ := strings.Cut(rest, "\n\n")
		for _, m := range verbs.FindAllStringSubmatch(list, -1) {
			if m[1] != "help" && m[1] != "completion" {
				read(append(append([]string{}, path...), m[1])...)
			}
		}
	}
	read()
	if seen < 60 {
		t.Errorf("read the help of %d commands, which cannot be all", seen)
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
