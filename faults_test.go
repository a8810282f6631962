package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// program is the real binary, with a home of its own.
type program struct {
	bin, dir string
	env      []string
}

func newProgram(t *testing.T) program {
	t.Helper()
	dir := t.TempDir()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return program{bin: bin, dir: dir, env: append(os.Environ(), "AGENTCLASH_HOME="+filepath.Join(dir, "home"), "CI=true")}
}

func (p program) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, p.bin, args...)
	c.Env, c.Dir = p.env, p.dir
	return c
}

// query runs a command and decodes the JSON that it prints.
func (p program) query(t *testing.T, into any, args ...string) {
	t.Helper()
	var stderr bytes.Buffer
	c := p.command(t.Context(), append(args, "--json")...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("%s: %v in %s", strings.Join(args, " "), err, out)
	}
}

func (p program) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hundredCases is a pack with a hundred cases; two agents make 200 trials.
func hundredCases(mode string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `pack: {slug: hundred, name: Hundred, family: faults}
version:
  number: 1
  execution_mode: %s
  evaluation_spec:
    name: hundred
    version_number: 1
    judge_mode: deterministic
    validators: [{key: said, type: contains, target: final_output, expected_from: "literal:done"}]
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges: [{key: c, title: C, category: faults, difficulty: easy, instructions: Say done.}]
input_sets:
  - key: default
    name: Default
    cases:
`, mode)
	for i := range 100 {
		fmt.Fprintf(&b, "      - {challenge_key: c, case_key: case-%03d, payload: {n: %d}}\n", i, i)
	}
	return b.String()
}

// built makes the static binary, once for all tests.
var built = sync.OnceValues(func() (string, error) {
	bin, err := filepath.Abs(filepath.Join("bin", "test", "agentclash")) // bin is not kept
	if err != nil {
		return "", err
	}
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
})

// rounds is how often a fault is tried: a few times with a fixed seed, more
// with AGENTCLASH_SLOW.
func rounds(few, many int) int {
	if os.Getenv("AGENTCLASH_SLOW") != "" {
		return many
	}
	return few
}

// TestKill ends a 200-trial run with kill -9 at moments drawn by chance. No
// trial that was called finished is lost, and the next command finds the run
// interrupted; it and those after it leave no sandbox.
func TestKill(t *testing.T) {
	t.Run("prompt_eval", func(t *testing.T) {
		t.Parallel()
		p := newProgram(t)
		p.write(t, "pack.yaml", hundredCases("prompt_eval"))
		p.write(t, "agent.yaml", "default: [{text: done, delay_ms: 10}]\n")
		p.write(t, "other.yaml", "default: [{text: done, delay_ms: 10}]\n")
		p.kill(t, rounds(4, 20), 700*time.Millisecond)
	})
	t.Run("native", func(t *testing.T) {
		t.Parallel()
		if !dockerAnswers(t) {
			t.Skip("no Docker engine answers")
		}
		p := newProgram(t)
		p.write(t, "pack.yaml", hundredCases("native"))
		script := "default: [{tool_calls: [{name: write_file, arguments: {path: a, content: b}}]}, {delay_ms: 50, tool_calls: [{name: submit, arguments: {answer: done}}]}]\n"
		p.write(t, "agent.yaml", script)
		p.write(t, "other.yaml", script)
		p.kill(t, rounds(2, 20), 4*time.Second)
	})
}

func (p program) kill(t *testing.T, rounds int, within time.Duration) {
	chance := rand.New(rand.NewSource(1)) //nolint:gosec // moments, not secrets
	for round := range rounds {
		name := fmt.Sprintf("run-%d", round)
		finished := p.killOnce(t, name, 0, time.Duration(chance.Int63n(int64(within)))+200*time.Millisecond)
		var list struct {
			Items []struct {
				Name, Status, RunID string
			}
		}
		p.query(t, &list, "run", "list", "--limit", "1")
		if len(list.Items) == 0 {
			continue // killed before the run was stored
		}
		got := list.Items[0]
		if got.Name == name && got.Status != "interrupted" && got.Status != "completed" {
			t.Errorf("%s: the next command finds it %s, want interrupted", name, got.Status)
		}
		stored := p.storedTrials(t, name)
		for id := range finished {
			if !stored[id] {
				t.Errorf("%s: trial %s was called finished and is lost", name, id)
			}
		}
		if left := containers(t, p); left > 0 {
			t.Errorf("%s: %d containers are left", name, left)
		}
		t.Logf("%s: %d trials were called finished, %d are stored, status %s", name, len(finished), len(stored), got.Status)
	}
}

// killOnce starts a run, kills it some time after a number of its trials have
// finished, and returns those it called finished.
func (p program) killOnce(t *testing.T, name string, trials int, after time.Duration) map[string]bool {
	t.Helper()
	c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--model", "scripted/agent.yaml", "--model", "scripted/other.yaml",
		"--image", "builtin", "--concurrency", "4", "--name", name, "--follow", "--json", "--quiet")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	begin := func() *time.Timer { return time.AfterFunc(after, func() { _ = c.Process.Kill() }) }
	var timer *time.Timer
	if trials == 0 {
		timer = begin()
	}
	finished := map[string]bool{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct {
			EventType string `json:"event_type"`
			TrialID   string `json:"trial_id"`
		}
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.EventType == "trial.finished" {
			finished[e.TrialID] = true
		}
		if timer == nil && len(finished) >= trials {
			timer = begin()
		}
	}
	_ = c.Wait() // it was killed
	if timer != nil {
		timer.Stop()
	}
	return finished
}

// storedTrials are the finished trials of a run, by id.
func (p program) storedTrials(t *testing.T, run string) map[string]bool {
	t.Helper()
	stored := map[string]bool{}
	for _, agent := range []string{"agent", "other"} {
		c := p.command(t.Context(), "eval", "scorecard", run, "--agent", agent, "--json")
		out, err := c.Output()
		if err != nil {
			continue // nothing of this agent was finished
		}
		var doc struct {
			Scorecard struct {
				Trials []struct {
					TrialID string `json:"trial_id"`
				}
			}
		}
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
		for _, trial := range doc.Scorecard.Trials {
			stored[trial.TrialID] = true
		}
	}
	return stored
}

// containers counts this program's containers that are left in the engine. A command
// gives a slow engine half a second to remove them, and what it cannot do now the next
// will: so there are more commands, for a while.
func containers(t *testing.T, p program) int {
	t.Helper()
	if !dockerAnswers(t) {
		return 0
	}
	left := containersNow(t, p)
	for until := time.Now().Add(30 * time.Second); left > 0 && time.Now().Before(until); left = containersNow(t, p) {
		time.Sleep(100 * time.Millisecond)
	}
	return left
}

// containersNow counts them after one command.
func containersNow(t *testing.T, p program) int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket())
	}}}
	defer client.CloseIdleConnections()
	var runs struct {
		Items []struct {
			RunID string `json:"run_id"`
		}
	}
	p.query(t, &runs, "run", "list", "--limit", "100")
	left := 0
	for _, r := range runs.Items {
		filters := url.QueryEscape(`{"label":["dev.agentclash.run=` + r.RunID + `"]}`)
		res, err := client.Get("http://engine/containers/json?all=1&filters=" + filters)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ State string }
		err = json.NewDecoder(res.Body).Decode(&list)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.State != "removing" { // the engine has been told
				left++
			}
		}
	}
	return left
}

// socket is where the engine of the tests listens.
func socket() string {
	if path, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		return path
	}
	return "/var/run/docker.sock"
}

// TestResume goes on with a killed run: what was finished is kept, the rest is
// run, and together they are the whole run.
func TestResume(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write(t, "pack.yaml", hundredCases("prompt_eval"))
	p.write(t, "agent.yaml", "default: [{text: done, delay_ms: 10}]\n")
	p.write(t, "other.yaml", "default: [{text: done, delay_ms: 10}]\n")
	p.killOnce(t, "broken", 20, 0)
	before := p.storedTrials(t, "broken")
	out, err := p.command(t.Context(), "run", "resume", "broken", "--exit-code").CombinedOutput()
	if err != nil {
		t.Fatalf("resume: %v\n%s", err, out)
	}
	after := p.storedTrials(t, "broken")
	if len(before) == 0 || len(before) == 200 || len(after) != 200 {
		t.Errorf("got %d trials before and %d after, want some and 200", len(before), len(after))
	}
	for id := range before {
		if !after[id] {
			t.Errorf("trial %s is gone after the resume", id)
		}
	}
	if out, err := p.command(t.Context(), "run", "resume", "broken").CombinedOutput(); err == nil {
		t.Errorf("a complete run was resumed:\n%s", out)
	}
}

// TestInterruptAndCancel: the first Ctrl-C keeps what is finished and exits
// 130; `run cancel` from another process ends a run with 31.
func TestInterruptAndCancel(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write(t, "pack.yaml", hundredCases("prompt_eval"))
	p.write(t, "agent.yaml", "default: [{text: done, delay_ms: 100}]\n")
	start := func(name string) *exec.Cmd {
		c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--model", "scripted/agent.yaml", "--name", name, "--concurrency", "4", "--follow")
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() && !strings.Contains(lines.Text(), "passed") {
			continue
		}
		go func() {
			for lines.Scan() {
				continue // keep the pipe open
			}
		}()
		return c
	}
	status := func(c *exec.Cmd) int {
		_ = c.Wait()
		return c.ProcessState.ExitCode()
	}
	c := start("ctrl-c")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := status(c); got != 130 {
		t.Errorf("interrupted: exit status %d, want 130", got)
	}
	c = start("cancel")
	if out, err := p.command(t.Context(), "run", "cancel", "cancel").CombinedOutput(); err != nil {
		t.Errorf("run cancel: %v\n%s", err, out)
	}
	if got := status(c); got != 31 {
		t.Errorf("cancelled: exit status %d, want 31", got)
	}
	for name, want := range map[string]string{"ctrl-c": "interrupted", "cancel": "cancelled"} {
		var run struct{ Status string }
		p.query(t, &run, "run", "get", name)
		if run.Status != want {
			t.Errorf("%s: got status %s, want %s", name, run.Status, want)
		}
	}
}
