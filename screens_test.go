package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/cli"
)

// A screen is what docs shows of a program in a terminal.
type screen struct {
	name  string
	theme theme
	// args are what is typed after agentclash. They may prepare what is shown.
	args func(s *stage) []string
	// steps are what is done before the picture is taken, the same at each size.
	steps []step
	// sizes are those of the terminal, columns and rows.
	sizes [][2]int
}

// A step waits until the terminal shows a text, and then presses keys or does something.
type step struct {
	wait string
	keys []string // as tmux names them
	do   func()
}

var bothSizes = [][2]int{{80, 24}, {160, 48}}

// screens are all of them. Another is a line here and its picture in docs.
func screens() []screen {
	run, transcript := newShownRun(), newShownRun()
	return []screen{
		{"doctor", dark, typed("doctor"), []step{{wait: "terminal "}}, bothSizes},
		{"follow", dark, run.args, run.steps(), bothSizes},
		{"follow-transcript", light, transcript.args, append(transcript.steps(), step{wait: "3 running", keys: []string{"Enter"}}, step{wait: "esc back"}), bothSizes[:1]},
		{"ui", dark, browsing, []step{{wait: "Latency:"}}, bothSizes},
		{"ui-trial", light, browsing, []step{{wait: "Latency:", keys: []string{"Tab"}}, {wait: "▸ trials", keys: []string{"Down", "Enter"}}, {wait: "answered (contains)"}}, bothSizes[:1]},
		{"ui-trial", light, browsing, []step{{wait: "▸ trials", keys: []string{"Down", "Enter"}}, {wait: "NOTES.md"}, {wait: "answered (contains)"}}, bothSizes[1:]},
		{"ui-comparison", dark, browsing, []step{{wait: "Latency:", keys: []string{"b"}}, {wait: "clarity"}}, bothSizes[:1]},
	}
}

// browsing is the browser of the store, with a run of which there is a baseline.
func browsing(s *stage) []string {
	s.keepRuns()
	return []string{"ui", "next"}
}

func typed(args ...string) func(*stage) []string {
	return func(*stage) []string { return args }
}

// TestScreens starts each screen of docs in a terminal and holds what it shows against
// the text that is kept; make screenshots writes that and the pictures anew. What would
// change from run to run stands still: the clock, and what differs from machine to machine.
func TestScreens(t *testing.T) {
	t.Parallel()
	write := os.Getenv("AGENTCLASH_SCREENSHOTS") == "1"
	needTmux(t)
	for _, s := range screens() {
		for _, size := range s.sizes {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				stage := newStage(t)
				p := stage.open(size[0], size[1], s.args(stage))
				for _, step := range s.steps {
					p.waitFor(step.wait)
					if len(step.keys) > 0 {
						p.tmux(append([]string{"send-keys", "-t", "screen"}, step.keys...)...)
					}
					if step.do != nil {
						step.do()
					}
				}
				path := filepath.Join("docs", "screens", name+".txt")
				if write {
					shown := stage.same(p.still())
					keepText(t, path, unpainted(shown))
					s.theme.picture(openBrowser(t), name, shown, size[0], size[1])
					return
				}
				p.becomes(stage, path)
			})
		}
	}
}

// What is kept of screens is as large as its name says, and shown somewhere.
func TestScreensAreKept(t *testing.T) {
	t.Parallel()
	kept, err := filepath.Glob("docs/screens/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range screens() {
		for _, size := range s.sizes {
			name := fmt.Sprintf("%s-%dx%d", s.name, size[0], size[1])
			names = append(names, filepath.Join("docs", "screens", name+".txt"))
			raw, err := os.ReadFile(names[len(names)-1])
			if err != nil {
				t.Errorf("%v (make screenshots)", err)
				continue
			}
			lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
			if len(lines) > size[1] || len(lines) < 3 {
				t.Errorf("%s has %d lines", name, len(lines))
			}
			for i, l := range lines {
				if ansi.StringWidth(l) > size[0] {
					t.Errorf("%s: line %d has %d columns", name, i+1, ansi.StringWidth(l))
				}
			}
			if _, err := os.Stat(filepath.Join("docs", "images", name+".png")); err != nil {
				t.Errorf("%v (make screenshots)", err)
			}
		}
	}
	for _, path := range kept {
		if !slices.Contains(names, path) {
			t.Errorf("%s is of no screen", path)
		}
	}
}

// needTmux skips the test where there is no tmux. CI demands one.
func needTmux(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("tmux")
	switch {
	case err != nil && os.Getenv("AGENTCLASH_REQUIRE_TMUX") == "1":
		t.Fatal("no tmux is found, and AGENTCLASH_REQUIRE_TMUX=1 wants it: apt-get install tmux")
	case err != nil:
		t.Skip("no tmux is found: install it to test what terminals show")
	}
}

// byClock is the program with a clock that the test sets.
const byClock = "agentclash-by-clock"

// clockVar names the file in which the time is.
const clockVar = "AGENTCLASH_TEST_CLOCK"

// onTime is a process whose time is what a file says.
func onTime(p *cli.Process) *cli.Process {
	path := os.Getenv(clockVar)
	p.Now = func() time.Time {
		raw, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		at, err := time.Parse(time.RFC3339, string(raw))
		if err != nil {
			panic(err)
		}
		return at
	}
	return p
}

// A stage is where programs are started: a home directory, and a clock that goes on
// when it is told to.
type stage struct {
	*testing.T
	dir     string // also the home directory; as long as shownHome
	program string
	clock   string // the file
	at      time.Time
}

// shownHome is what the pictures show in the place of the home directory.
const shownHome = "/home/sam"

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, at: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	for s.dir == "" {
		dir := fmt.Sprintf("/tmp/%04x", rand.N(1<<16))
		switch err := os.Mkdir(dir, 0o700); {
		case err == nil:
			s.dir = dir
		case !errors.Is(err, fs.ErrExist):
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	within := t.TempDir()
	s.program, s.clock = filepath.Join(within, byClock), filepath.Join(within, "clock")
	if err := os.Symlink(self, s.program); err != nil {
		t.Fatal(err)
	}
	s.pass(0)
	return s
}

// pass lets time go by.
func (s *stage) pass(d time.Duration) {
	s.Helper()
	s.at = s.at.Add(d)
	next := s.clock + ".next"
	err := os.WriteFile(next, []byte(s.at.Format(time.RFC3339)), 0o644)
	if err == nil {
		err = os.Rename(next, s.clock)
	}
	if err != nil {
		s.Error(err)
	}
}

// env has no key, no engine and nothing else of this machine.
func (s *stage) env() []string {
	return []string{"HOME=" + s.dir, "TMPDIR=" + s.dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "SHELL=/bin/sh",
		"AGENTCLASH_SECRET_STORE=file", "DOCKER_HOST=unix://" + s.dir + "/.docker/run/docker.sock", "GORACE=atexit_sleep_ms=0", clockVar + "=" + s.clock}
}

func (s *stage) must(args ...string) {
	s.Helper()
	c := exec.Command(s.program, args...)
	c.Dir, c.Env = s.dir, s.env()
	if out, err := c.CombinedOutput(); err != nil {
		s.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func (s *stage) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

// keepRuns has the store hold two runs of the pack in testdata/report that were made
// once and exported, so that their ids, dates and durations stay: a baseline and a
// candidate.
func (s *stage) keepRuns() {
	s.Helper()
	for _, name := range []string{"steady", "next"} {
		s.must("run", "import", filepath.Join(mustAbs(s.T, "testdata"), "report", name+".acb"), "--quiet")
	}
	s.must("baseline", "set", "steady", "--quiet")
}

// ofMachines is what differs between machines, and what is shown in its place.
var ofMachines = []struct {
	of *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`agentclash [^ ]+, [a-z]+/[a-z0-9]+`), "agentclash v1.0.0, linux/amd64"},
	{regexp.MustCompile(`[0-9]+\.[0-9] GB free`), "96.4 GB free"},
}

// same is what a terminal shows, the same on each machine.
func (s *stage) same(shown string) string {
	shown = strings.ReplaceAll(shown, s.dir, shownHome)
	for _, m := range ofMachines {
		shown = m.of.ReplaceAllString(shown, m.by)
	}
	return shown
}

// A pane is a terminal with a program in it.
type pane struct {
	*testing.T
	socket string
}

// open shows a program in a terminal of so many columns and rows, below the line that
// has started it.
func (s *stage) open(columns, rows int, args []string) *pane {
	s.Helper()
	p := &pane{T: s.T, socket: "agentclash-" + filepath.Base(s.dir)}
	s.write("tmux.conf", "set -g default-terminal tmux-256color\nset -g status off\nset -s escape-time 0\n")
	line := "agentclash " + strings.Join(args, " ")
	c := exec.Command("tmux", "-L", p.socket, "-u", "-f", filepath.Join(s.dir, "tmux.conf"), "new-session", "-d", "-s", "screen",
		"-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows), "-c", s.dir, "sh", "-c", `printf '$ %s\n' "$1"; shift; "$@"; exec cat`, "sh", line, s.program)
	c.Args = append(c.Args, args...)
	c.Env = s.env()
	if out, err := c.CombinedOutput(); err != nil {
		s.Fatalf("tmux: %v\n%s", err, out)
	}
	s.Cleanup(func() { p.tmux("kill-server") })
	return p
}

func (p *pane) tmux(args ...string) string {
	p.Helper()
	c := exec.Command("tmux", append([]string{"-L", p.socket}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		p.Errorf("tmux %v: %v %s", args, err, stderr.String())
	}
	return string(out)
}

// shown is what the terminal shows, with its colours.
func (p *pane) shown() string { return p.tmux("capture-pane", "-e", "-p", "-t", "screen") }

// patience is how long something may take that has to come.
const patience = 2 * time.Minute

func (p *pane) waitFor(text string) {
	p.Helper()
	for start := time.Now(); !strings.Contains(unpainted(p.shown()), text); time.Sleep(50 * time.Millisecond) {
		if p.Failed() || time.Since(start) > patience {
			p.Fatalf("%q was never shown, but\n%s", text, unpainted(p.shown()))
		}
	}
}

// becomes waits until the terminal shows what is kept.
func (p *pane) becomes(s *stage, path string) {
	p.Helper()
	want, err := os.ReadFile(path)
	if err != nil {
		p.Fatalf("%v (make screenshots)", err)
	}
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		diff := cmp.Diff(string(want), unpainted(s.same(p.shown())))
		if diff == "" {
			return
		}
		if time.Since(start) > patience/4 {
			p.Fatalf("%s is shown no more (make screenshots): (-kept +shown)\n%s", path, diff)
		}
	}
}

// still is what the terminal shows once it shows nothing new any more.
func (p *pane) still() string {
	last, times := "", 0
	for times < 10 {
		now := p.shown()
		if times++; now != last {
			last, times = now, 0
		}
		time.Sleep(200 * time.Millisecond)
	}
	return last
}

// unpainted is a text without colours, and without what nobody sees at its ends.
func unpainted(shown string) string {
	lines := strings.Split(ansi.Strip(shown), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

func keepText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
