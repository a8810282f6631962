package main_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// decisions are the commands that decide from what is stored, with their exit
// statuses.
var decisions = []struct {
	args   string
	status int
	gate   bool // it keeps a record of its verdict
}{
	{"run list", 0, false},
	{"run ranking next", 0, false},
	{"run failures next", 0, false},
	{"eval scorecard next", 0, false},
	{"eval scorecard next --json", 0, false},
	{"baseline show", 0, false},
	{"baseline list --json", 0, false},
	{"baseline history", 0, false},
	{"compare runs --baseline base --candidate next", 0, false},
	{"compare runs --baseline baseline --candidate latest --json", 0, false},
	{"compare runs --baseline base --candidate next --case capital", 0, false},
	{"compare latest", 0, false},
	{"compare latest --gate", 1, true},
	{"compare gate --baseline base --candidate next", 1, true},
	{"compare gate --baseline base --candidate next --json", 1, true},
	{"release-gate list", 0, false},
	{"release-gate show latest", 0, false},
}

// said is what a command came to.
type said struct {
	stdout, stderr string
	status         int
}

// varying is what no two gates have in common: the id of the record and the time.
var varying = regexp.MustCompile(`"(id|generated_at)": *"[^"]*",?\s*`)

// TestDecisionsOffline takes every decision again by a user who can write
// nothing in the home, beside an engine that must not be asked, and then with no
// network at all: what is said is the same, and the home is as it was.
func TestDecisionsOffline(t *testing.T) {
	t.Parallel()
	p := sharedProgram(t)
	home := filepath.Join(p.dir, "home")
	for _, args := range []string{
		"eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good --name base --quiet",
		"eval start --pack builtin:quickstart --model scripted/builtin:quickstart-bad --name next --quiet",
		"baseline set base",
	} {
		if got := p.says(t, nil, args); got.status != 0 {
			t.Fatalf("%s: %+v", args, got)
		}
	}
	want := map[string]said{}
	for _, gates := range []bool{true, false} { // the records are listed by the others
		for _, d := range decisions {
			if d.gate == gates {
				want[d.args] = p.says(t, nil, d.args)
			}
		}
	}
	if list := want["release-gate list"].stdout; strings.Count(list, "scorecard_not_passed") != 3 {
		t.Fatalf("not every gate is recorded: %s", list)
	}
	offline := p
	offline.env = append(slices.Clone(p.env), "DOCKER_HOST="+unasked(t))
	check := func(t *testing.T, how *syscall.SysProcAttr) {
		before := contents(t, home)
		for _, d := range decisions {
			as := offline
			if d.args == "run list" {
				as = p // it may look for what dead processes left in an engine
			}
			got, want := as.says(t, how, d.args), want[d.args]
			if got.status != d.status || got.status != want.status {
				t.Errorf("%s: status %d, want %d: %s", d.args, got.status, d.status, got.stderr)
			}
			if got, want := varying.ReplaceAllString(got.stdout, ""), varying.ReplaceAllString(want.stdout, ""); got != want || want == "" {
				t.Errorf("%s: got\n%s\nwant\n%s", d.args, got, want)
			}
			extra, ok := strings.CutSuffix(got.stderr, want.stderr)
			note := "! the verdict is not recorded: "
			if strings.Contains(d.args, "--json") {
				note = `{"note":"the verdict is not recorded: `
			}
			told := strings.HasPrefix(extra, note) && strings.Count(extra, "\n") == 1
			if !ok || d.gate != told || !d.gate && extra != "" {
				t.Errorf("%s: it says %q on stderr, on a home that can be written %q", d.args, got.stderr, want.stderr)
			}
		}
		if after := contents(t, home); after != before {
			t.Errorf("the home was\n%s\nand is\n%s", before, after)
		}
	}
	protect(t, home)
	t.Run("on a read-only home", func(t *testing.T) {
		if got := p.says(t, nobody(), "baseline set next"); !strings.Contains(got.stderr, "read-only") {
			t.Fatalf("the home can be written: %+v", got)
		}
		check(t, nobody())
	})
	t.Run("without the empty log that readers leave", func(t *testing.T) {
		merge(t, home)
		check(t, nobody())
	})
	t.Run("and with no network", func(t *testing.T) {
		how := nobody()
		alone(how)
		probe := exec.Command("true")
		probe.SysProcAttr = how
		if err := probe.Run(); err != nil {
			t.Skipf("no network namespace can be made: %v", err)
		}
		check(t, how)
	})
}

// sharedProgram is the program where another user can run it and read its home.
func sharedProgram(t *testing.T) program {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "agentclash-offline-") // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bin, err := built()
	if err == nil {
		err = exec.Command("cp", bin, filepath.Join(dir, "agentclash")).Run()
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return program{bin: filepath.Join(dir, "agentclash"), dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "AGENTCLASH_HOME=" + filepath.Join(dir, "home"), "CI=true",
		"AGENTCLASH_SECRET_STORE=file", "DOCKER_HOST=unix://" + filepath.Join(dir, "no-engine"),
	}}
}

// unasked is the address of an engine that nobody may call.
func unasked(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
			t.Error("an engine was called")
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-over })
	return "tcp://" + l.Addr().String()
}

func (p program) says(t *testing.T, how *syscall.SysProcAttr, args string) said {
	t.Helper()
	c := p.command(t.Context(), strings.Fields(args)...)
	var out, talk bytes.Buffer
	c.Stdout, c.Stderr, c.SysProcAttr = &out, &talk, how
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", args, err)
	}
	return said{out.String(), talk.String(), c.ProcessState.ExitCode()}
}

// nobody is another user when this is root, whom no mode bit stops.
func nobody() *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

// alone gives a process a network namespace of its own, in which there is nothing.
func alone(how *syscall.SysProcAttr) {
	how.Cloneflags = syscall.CLONE_NEWNET
	if os.Getuid() != 0 {
		how.Cloneflags |= syscall.CLONE_NEWUSER
		how.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		how.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	}
}

// contents names the files of a directory, with what is in them.
func contents(t *testing.T, dir string) string {
	t.Helper()
	text := ""
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		text += fmt.Sprintf("%s %x\n", path, sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// merge removes a log that holds nothing, as the last writer does.
func merge(t *testing.T, home string) {
	t.Helper()
	log := filepath.Join(home, "agentclash.db-wal")
	if info, err := os.Stat(log); err != nil || info.Size() > 0 {
		t.Fatalf("there is no empty log: %v", err)
	}
	err := os.Chmod(home, 0o755)
	for _, path := range []string{log, filepath.Join(home, "agentclash.db-shm")} {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		t.Fatal(err)
	}
	protect(t, home)
}

// protect lets everybody read a directory and nobody write there.
func protect(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.Chmod(path, 0o555)
		}
		return os.Chmod(path, 0o444)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
}
