package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
)

// example is what is known of a line of help, or of all lines of a command, beside the
// line itself. Most lines need nothing: the world has what they name.
type example struct {
	before  string // what is done first, in the same shell
	after   string // what is done then, so that what goes on beside it ends
	stdin   string
	status  int    // what it ends with, when that is not 0
	why     string // of the status, of another line, or of not running it
	ready   string // of a command that goes on until it is interrupted: what it says when it has begun
	instead string // what is run in the line's place
	docker  bool   // it asks a Docker engine
	skip    bool   // it cannot be run here
}

// placeholders are words of examples that stand for something of the reader's own, by
// the beginning of the line that they are in.
var placeholders = []struct{ line, word, is string }{
	{"agentclash run export", "http://localhost:4318", "$COLLECTOR"},
	{"agentclash run failures", "frc_3f9a0c", `$(agentclash run failures nightly --json --query '.items[0].failure_cluster_key')`},
	{"agentclash run promote-failure", "5f3a9c21", `$(agentclash run failures nightly --json --query '.items[0].trial_id')`},
	{"agentclash run turn submit", "5f3a9c21", `$(agentclash run turn status --json --query '.items[0].trial_id')`},
	{"agentclash artifact delete", "1a2b3c4d", `$(agentclash artifact list --json --query '.items[0].artifact_id')`},
	{"agentclash cache explain", "5f3a9c21", `$(agentclash eval scorecard latest --json --query '.scorecard.trials[0].trial_id')`},
	{"agentclash release-gate show", "1a2b3c4d", `$(agentclash release-gate list --json --query '.items[0].id')`},
}

// shownExample is a line of the help of a command.
type shownExample struct {
	command string // as it is typed
	line    string
	group   bool // the command holds others
}

// facts are what is known of it: what is known of the line, else of the command.
func (s shownExample) facts() (key string, e example) {
	for _, key := range []string{s.line, s.command} {
		if e, ok := examples[key]; ok {
			return key, e
		}
	}
	return "", example{}
}

// script is the line as bash is given it.
func (s shownExample) script() string {
	line := s.line
	if _, e := s.facts(); e.instead != "" {
		line = e.instead
	}
	for _, p := range placeholders {
		if strings.HasPrefix(line, p.line) {
			line = strings.ReplaceAll(line, p.word, p.is)
		}
	}
	return line
}

// shownExamples are the lines of all help, command by command. A command that can be
// run and shows none is a failure.
func shownExamples(t *testing.T) (list []shownExample) {
	t.Helper()
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Hidden {
			return
		}
		lines := exampleLines(c.Example)
		if len(lines) == 0 && c.Runnable() && !c.HasSubCommands() {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, line := range lines {
			list = append(list, shownExample{c.CommandPath(), line, c.HasSubCommands()})
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(cmd.Tree(cli.System()))
	if len(list) < 150 {
		t.Fatalf("found %d lines, which cannot be all", len(list))
	}
	return list
}

// exampleLines are the command lines of an example: no comments, and lines that go on
// after a backslash are one.
func exampleLines(text string) (lines []string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestExamples runs every line of the help of every command as it stands there, each in
// a world of its own.
func TestExamples(t *testing.T) {
	t.Parallel()
	list := shownExamples(t)
	base := preparedWorld(t)
	used := map[string]bool{}
	done := map[string]bool{}
	engine := sync.OnceValue(func() bool { return dockerAnswers(t) })
	for _, shown := range list {
		key, e := shown.facts()
		used[key] = true
		if e.skip || done[shown.line] {
			continue
		}
		done[shown.line] = true
		t.Run(strings.TrimPrefix(shown.line, "agentclash "), func(t *testing.T) {
			t.Parallel()
			if e.docker && !engine() {
				t.Skip("no Docker engine")
			}
			w := base.copy(t)
			said := w.try(t, shown, e)
			if said.status != e.status {
				t.Errorf("%s\nstatus %d, want %d\n%s%s", shown.line, said.status, e.status, said.out, said.err)
			}
		})
	}
	for key, e := range examples {
		if !used[key] {
			t.Errorf("no help has %q any more, of which the table knows something", key)
		}
		if (e.status != 0 || e.skip || e.instead != "") && e.why == "" {
			t.Errorf("the table does not say why %q is as it is", key)
		}
	}
	for _, p := range placeholders {
		if !slices.ContainsFunc(list, func(s shownExample) bool {
			return strings.HasPrefix(s.line, p.line) && strings.Contains(s.line, p.word)
		}) {
			t.Errorf("no line of %q has the placeholder %s any more", p.line, p.word)
		}
	}
}

// try does what a line needs, then runs it. Status 99 is kept for what it needs.
func (w world) try(t *testing.T, shown shownExample, e example) reply {
	t.Helper()
	before := "set -e\n{ trap 'exit 99' ERR\n" + e.before + "\ntrap - ERR; } >&2 </dev/null\nset +e -o pipefail\n"
	if e.ready != "" {
		return w.interrupt(t, before+"exec "+shown.script(), regexp.MustCompile(e.ready))
	}
	return w.run(t, before+shown.script()+"\nstatus=$?\n{ :; "+e.after+"\n} >&2\nwait\nexit $status", e.stdin)
}

// interrupt starts a command, waits until it says that it is ready, and ends it as
// Ctrl-C does. One that ends without having said so has failed.
func (w world) interrupt(t *testing.T, script string, ready *regexp.Regexp) reply {
	t.Helper()
	c := w.command(t.Context(), script)
	var out, talk bytes.Buffer
	c.Stderr = &talk
	pipe, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	lines, begun := bufio.NewScanner(pipe), false
	for lines.Scan() {
		fmt.Fprintln(&out, lines.Text())
		if !begun && ready.MatchString(lines.Text()) {
			begun = true
			must(t, c.Process.Signal(os.Interrupt))
		}
	}
	_ = c.Wait() // the status is looked at
	if !begun {
		t.Errorf("it never said %q", ready)
	}
	return reply{out: out.String(), err: talk.String(), status: c.ProcessState.ExitCode()}
}

// readme are the lines of the README that do not end with 0, or are run otherwise.
var readme = map[string]example{
	"agentclash eval start --pack my-pack.yaml --model scripted/next.yaml --gate": {status: 1, why: "one of its answers is wrong"},
	"agentclash deployment create --name next --model openai/llama3 --base-url http://localhost:8000/v1": {
		instead: `agentclash deployment create --name next --model openai/llama3 --base-url "$LAB/v1"`, why: "the server is another one"},
	"agentclash ci run --report junit=junit.xml": {
		before: "git init -q && mkdir packs prompts && cp my-pack.yaml packs && echo 'Answer in one word.' >prompts/prod.md",
		status: 3, why: "there is no baseline yet",
	},
	"make quickstart": {skip: true, why: "it builds the program; CI runs it"},
	"make test":       {skip: true, why: "it runs this"},
}

// TestReadme goes through the README as a reader does, one line after another in an
// empty directory.
func TestReadme(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, os.RemoveAll(filepath.Join(w.dir, "project")))
	must(t, os.Mkdir(filepath.Join(w.dir, "project"), 0o755))
	command := regexp.MustCompile(`^    ((?:agentclash|sed|export|make) .*)$`)
	ran, used := 0, map[string]bool{}
	for text := range strings.Lines(read(t, "README.md")) {
		m := command.FindStringSubmatch(strings.TrimRight(text, "\n"))
		if m == nil {
			continue
		}
		e := readme[m[1]]
		used[m[1]] = true
		if e.skip {
			continue
		}
		line := m[1]
		if e.instead != "" {
			line = e.instead
		}
		ran++
		if said := w.run(t, "set -e\n"+e.before+"\n"+line, ""); said.status != e.status {
			t.Fatalf("%s\nstatus %d, want %d\n%s%s", line, said.status, e.status, said.out, said.err)
		}
	}
	if ran < 9 {
		t.Errorf("ran %d lines of the README, which cannot be all", ran)
	}
	for line := range readme {
		if !used[line] {
			t.Errorf("the README has no line %q any more", line)
		}
	}
}
