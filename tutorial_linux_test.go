package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

const tutorialPage = "docs/tutorial.md"

// TestTutorial does what docs/tutorial.md says, block by block, in an empty home and
// directory, and sees what it says: on a terminal of 80 columns, since that is what a
// reader has. A command may fail only where the reader asks for its status next.
func TestTutorial(t *testing.T) {
	t.Parallel()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, bin)
	commands, files := 0, 0
	for _, b := range tutorialBlocks(t, read(t, tutorialPage)) {
		switch {
		case b.kind == "console":
			for _, c := range b.commands(t) {
				commands++
				r.types(c)
			}
		case b.file != "":
			files++
			r.saves(b)
		case b.kind != "sh": // which reaches the network, and is for the reader alone
			t.Errorf("%s:%d: a block of %q has no part in the tutorial", tutorialPage, b.line, b.kind)
		}
	}
	r.mayFail(nil)
	if commands < 15 || files < 5 {
		t.Errorf("the tutorial has %d commands and %d files, which cannot be all", commands, files)
	}
	for _, verb := range []string{"validate", "eval start", "scorecard", "replay", "transcript", "baseline set", "compare", "ci run", "run report", "promote-failure"} {
		if !strings.Contains(strings.Join(r.typed, "\n"), verb) {
			t.Errorf("the tutorial does not come by %s", verb)
		}
	}
}

// block is a fenced block of the page.
type block struct {
	line int    // of its first line of text
	kind string // console, yaml, sh
	file string // that the reader saves it as
	text []string
}

// tutorialBlocks are the fenced blocks of a page. The file that one is saved as stands
// after the language, and in the sentence before it.
func tutorialBlocks(t *testing.T, page string) []block {
	t.Helper()
	var blocks []block
	inside, before := false, ""
	for i, line := range strings.Split(page, "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && !inside:
			kind, file, _ := strings.Cut(info, " ")
			if file != "" && !strings.Contains(before, "`"+file+"`") {
				t.Errorf("%s:%d: the sentence before does not say that this is %s: %q", tutorialPage, i+1, file, before)
			}
			blocks, inside = append(blocks, block{line: i + 2, kind: kind, file: file}), true
		case fence:
			inside = false
		case inside:
			b := &blocks[len(blocks)-1]
			b.text = append(b.text, line)
		case line != "":
			before = line
		}
	}
	return blocks
}

// command is a line after "$ " and what is said to come of it.
type command struct {
	line  int
	text  string
	shows []string
}

func (b block) commands(t *testing.T) (list []command) {
	t.Helper()
	for i, line := range b.text {
		if text, typed := strings.CutPrefix(line, "$ "); typed {
			list = append(list, command{line: b.line + i, text: text})
			continue
		}
		if len(list) == 0 {
			t.Fatalf("%s:%d: a console block begins with a command", tutorialPage, b.line)
		}
		last := &list[len(list)-1]
		last.shows = append(last.shows, line)
	}
	return list
}

// pattern is what the command's output has to match: … is any text within a line, or
// as a line of its own any number of lines.
func (c command) pattern() *regexp.Regexp {
	var b strings.Builder
	b.WriteString("^")
	for _, line := range c.shows {
		if line == "…" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + `\n`)
	}
	b.WriteString("$")
	return regexp.MustCompile(b.String())
}

// reader is who follows the tutorial.
type reader struct {
	t       *testing.T
	dir     string // where the shell is
	env     []string
	where   string // file that a command's directory is left in
	status  int
	pending string // what is to be said when nobody asks for the status
	typed   []string
}

func newReader(t *testing.T, bin string) *reader {
	home := t.TempDir()
	path := filepath.Join(home, "bin")
	if err := errors.Join(os.Mkdir(path, 0o755), os.Symlink(bin, filepath.Join(path, "agentclash"))); err != nil {
		t.Fatal(err)
	}
	return &reader{t: t, dir: t.TempDir(), where: filepath.Join(home, "pwd"), env: []string{
		"HOME=" + home, "PATH=" + path + ":" + os.Getenv("PATH"), "TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1",
		"AGENTCLASH_SECRET_STORE=file", "DOCKER_HOST=unix:///nonexistent", "GORACE=" + os.Getenv("GORACE"),
	}}
}

func (r *reader) saves(b block) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, b.file), []byte(strings.Join(b.text, "\n")+"\n"), 0o644); err != nil {
		r.t.Fatalf("%s:%d: %v", tutorialPage, b.line, err)
	}
}

// mayFail complains of a failed command when the next one does not ask for its status.
func (r *reader) mayFail(next *command) {
	r.t.Helper()
	if r.status != 0 && (next == nil || next.text != "echo $?") && r.pending != "" {
		r.t.Error(r.pending)
	}
	r.pending = ""
}

func (r *reader) types(c command) {
	r.t.Helper()
	r.mayFail(&c)
	r.typed = append(r.typed, c.text)
	term := tuitest.Open(r.t, 80, 24)
	// the status of the one before is what $? is, and cd leads the next one elsewhere
	script := fmt.Sprintf("(exit %d)\n%s\nstatus=$?\npwd > %q\nexit $status\n", r.status, c.text, r.where)
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.Program, term.Program, term.Program
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	term.Program.Close()
	<-term.Over
	shown := strings.ReplaceAll(term.Text(), "\r\n", "\n")
	r.status = cmd.ProcessState.ExitCode()
	if r.status != 0 {
		r.pending = fmt.Sprintf("%s:%d: %s: status %d\n%s", tutorialPage, c.line, c.text, r.status, shown)
	}
	if !c.pattern().MatchString(shown) {
		r.t.Errorf("%s:%d: %s: the tutorial shows\n%s\n\nand this was seen:\n%s", tutorialPage, c.line, c.text, strings.Join(c.shows, "\n"), shown)
	}
	where, err := os.ReadFile(r.where)
	if err != nil {
		r.t.Fatal(err)
	}
	r.dir = strings.TrimSpace(string(where))
}
