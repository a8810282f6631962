package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/scoring"
)

// guest builds the program that runs in containers once.
var guest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "agentclash-engine-test")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "agent")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "../sandbox/guest/internal/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest: %w\n%s", err, out)
	}
	return os.ReadFile(bin)
})

// containers opens boxes of an image with python, where there are any.
func containers(t *testing.T) sandbox.Provider {
	t.Helper()
	o := docker.Options{
		Getenv: os.Getenv, Image: docker.StandInImage, NoPull: true, Guest: func(string) ([]byte, error) { return guest() },
		Owner: fmt.Sprintf("test/%d/%s", os.Getpid(), t.Name()), HostID: "agentclash-engine-test", Alive: func(string) bool { return true },
	}
	skip := t.Skipf
	if os.Getenv("AGENTCLASH_REQUIRE_DOCKER") == "1" {
		skip = t.Fatalf
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	if _, err := docker.Probe(ctx, o); err != nil {
		skip("no Docker engine: %v", err)
	}
	p, err := docker.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close the provider: %v", err)
		}
	})
	var lost *sandbox.BoxError
	if _, err := p.Describe(t.Context(), sandbox.Spec{}); errors.As(err, &lost) && lost.Kind == sandbox.Image {
		skip("no image: %v", err)
	}
	return p
}

// limited is the native pack with lines more below version.
func limited(t *testing.T, lines string) *pack.Pack {
	t.Helper()
	return parse(t, strings.Replace(nativePack, "  evaluation_spec:", "  "+lines+"\n  evaluation_spec:", 1))
}

// toolEvents are what was stated of an agent's calls, but of submit.
func (h *harness) toolEvents(t *testing.T) []event.Tool {
	t.Helper()
	var all []event.Tool
	for _, e := range h.facts {
		if e.Type != event.ToolDone && e.Type != event.ToolFailed {
			continue
		}
		v, err := event.Decode[event.Tool](e)
		if err != nil {
			t.Fatal(err)
		}
		if v.ToolName != "submit" {
			all = append(all, v)
		}
	}
	return all
}

// Each limit is the kernel's to keep, and whoever runs into one is told which.
func TestLimitsAreNamed(t *testing.T) {
	t.Parallel()
	boxes := containers(t)
	for name, tc := range map[string]struct{ limits, call, want string }{
		"memory":              {"memory: 128MiB", python("x = bytearray(300 << 20)"), "memory"},
		"memory of a child":   {"memory: 128MiB", python("import subprocess, sys; sys.exit(subprocess.call(['python3', '-c', 'x = bytearray(300 << 20)']) != 0)"), "memory"},
		"processes":           {"pids: 48", python("import subprocess\nfor i in range(99): subprocess.Popen(['sleep', '1'])"), "pids"},
		"threads":             {"pids: 48", python("import threading, time\nfor i in range(99): threading.Thread(target=time.sleep, args=[1]).start()"), "pids"},
		"open files":          {"open_files: 64", python("x = [open('/dev/null') for i in range(99)]"), "open_files"},
		"output":              {"output_bytes: 1MiB", python("while True: print('x' * 1000)"), "output_bytes"},
		"a file":              {"file_bytes: 1MiB", python("open('f', 'wb').write(b'x' * (2 << 20))"), "file_bytes"},
		"a file of dd":        {"file_bytes: 1MiB", `{name: exec, arguments: {command: [dd, if=/dev/zero, of=f, bs=65536, count=99]}}`, "file_bytes"},
		"a file of the tool":  {"file_bytes: 4096", `{name: write_file, arguments: {path: f, content: "` + long(5000) + `"}}`, "file_bytes"},
		"the workspace":       {"memory: 128MiB", `{name: exec, arguments: {command: [dd, if=/dev/zero, of=f, bs=1M, count=99]}}`, "workspace_bytes"},
		"the workspace, gone": {"memory: 128MiB", `{name: exec, arguments: {command: [sh, -c, "dd if=/dev/zero of=f bs=1M count=99; e=$?; rm f; exit $e"]}}`, "disk"},
		"room in /tmp":        {"memory: 128MiB", `{name: exec, arguments: {command: [dd, if=/dev/zero, of=/tmp/f, bs=1M, count=99]}}`, "disk"},
		"nothing":             {"memory: 128MiB", python("print('x'); raise SystemExit(3)"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(limited(t, "sandbox: {"+tc.limits+"}"),
				"default:\n  - tool_calls:\n      - "+tc.call+"\n  - tool_calls: [{name: submit, arguments: {answer: done}}]\n")
			h.boxes = boxes
			h.run(t)
			calls := h.toolEvents(t)
			if len(calls) != 1 || calls[0].Limit != tc.want || !calls[0].Result.IsError {
				t.Fatalf("got %+v, want the limit %q", calls, tc.want)
			}
			var told struct{ Limit string }
			if err := json.Unmarshal([]byte(calls[0].Result.Content), &told); err != nil || told.Limit != tc.want {
				t.Errorf("the agent was told %s, want the limit %q", calls[0].Result.Content, tc.want)
			}
			if got := h.only(t); got.Code == "sandbox_lost" {
				t.Errorf("the trial: got %+v", got)
			}
		})
	}
}

// python is a call that runs a program in python.
func python(program string) string {
	b, _ := json.Marshal([]string{"python3", "-c", program}) // strings always encode
	return "{name: exec, arguments: {command: " + string(b) + "}}"
}

func long(n int) string { return strings.Repeat("x", n) }

// Memory that no process holds leaves none for later programs, and may take the
// box itself: the agent's failure, by the limit's name either way.
func TestMemoryThatNoProcessHolds(t *testing.T) {
	t.Parallel()
	call := "      - " + python(`
import ctypes
c = ctypes.CDLL(None)
c.shmat.restype = ctypes.c_void_p
while True:
    at = c.shmat(c.shmget(0, 1 << 20, 0o1600), None, 0)
    ctypes.memset(at, 1, 1 << 20)
`) + "\n"
	h := newHarness(limited(t, "sandbox: {memory: 64MiB}"), "default:\n  - tool_calls:\n"+strings.Repeat(call, 20)+"  - tool_calls: [{name: submit, arguments: {answer: done}}]\n")
	h.boxes = containers(t)
	h.run(t)
	for _, c := range h.toolEvents(t) {
		if c.Limit != "memory" {
			t.Errorf("got %+v, want the limit memory", c)
		}
	}
	if got := h.only(t); got.Outcome != scoring.OutcomeFailed || got.Code != "memory_limit" && len(h.toolEvents(t)) != 20 {
		t.Errorf("got %s, %s: %s", got.Outcome, got.Code, got.Reason)
	}
}

// What pack and sandbox say of memory is the same: a pack that is accepted has
// a box.
func TestEveryAcceptedWorkspaceFits(t *testing.T) {
	t.Parallel()
	boxes := containers(t)
	for _, block := range []string{
		"sandbox: {memory: 64MiB}", "filesystem: {max_workspace_bytes: 1073741824}",
		"sandbox: {memory: 1GiB}\n  filesystem: {max_workspace_bytes: 429496700}", "filesystem: {max_workspace_bytes: 4096}",
		"filesystem: {max_workspace_bytes: 536870912}", "filesystem: {max_workspace_bytes: 536870913}",
	} {
		p := limited(t, block)
		if b := p.Blockers(); len(b) > 0 {
			t.Errorf("%s: got %v", block, b)
		}
		if _, err := boxes.Describe(t.Context(), plan.NeedsOf(p).Spec); err != nil {
			t.Errorf("%s: got %v", block, err)
		}
	}
	p := limited(t, "sandbox: {open_files: 1048576}")
	if _, err := boxes.Describe(t.Context(), plan.NeedsOf(p).Spec); err != nil && !errors.Is(err, sandbox.ErrSpec) {
		t.Errorf("more open files than there can be: got %v, want a box or ErrSpec", err)
	}
}
