package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

const busyPack = `
pack: {slug: busy, name: Busy, family: faults}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file], allow_shell: true}
  evaluation_spec:
    name: busy
    version_number: 1
    judge_mode: deterministic
    post_execution_checks: [{key: out, type: file_capture, path: /workspace/out.txt}]
    validators:
      - {key: runs, type: code_execution, target: "file:out", config: {test_command: "sleep 0.05; read -r word < out.txt; test $word = done", scoring: all_or_nothing, timeout_ms: 60000}}
    runtime_limits: {max_duration_ms: 3600000}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges:
  - {key: c, title: C, category: faults, difficulty: easy, instructions: Write the file., assets: [{key: big, path: big.bin}]}
input_sets:
  - key: default
    name: Default
    cases:
`

// busyAgent calls tools for a while, and leaves a process behind.
const busyAgent = `default:
  - tool_calls: [{name: exec, arguments: {command: [sh, -c, "sleep 300 & sleep 0.05"]}}]
  - tool_calls: [{name: exec, arguments: {command: [sleep, "0.05"]}}]
  - tool_calls: [{name: write_file, arguments: {path: out.txt, content: "done\n"}}]
  - tool_calls: [{name: submit, arguments: {answer: done}}]
`

// TestKillLeavesNoBox kills the real program with kill -9 at moments of a run
// drawn by chance: before a container is created, between its creation and its
// start, while files are staged, during calls, tests and removals, with boxes
// that wait for their trials. After the next start nothing of it is left in the
// engine, and what is not its own is as it was.
func TestKillLeavesNoBox(t *testing.T) {
	t.Parallel()
	if !dockerAnswers(t) {
		t.Skip("no Docker engine answers")
	}
	p := newProgram(t)
	var cases strings.Builder
	for i := range 10 {
		fmt.Fprintf(&cases, "      - {challenge_key: c, case_key: case-%d}\n", i)
	}
	p.write(t, "big.bin", strings.Repeat("x", 1<<20))
	p.write(t, "pack.yaml", busyPack+cases.String())
	p.write(t, "agent.yaml", busyAgent)
	p.write(t, "slow.yaml", "default: [{delay_ms: 3600000, text: never}]\n")
	e := newEngineAPI(t)
	defer p.bystanders(t, e)()
	began := time.Now() // how long the run takes here, for the moments
	if out, err := p.busy(t, "whole").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	within := time.Since(began)
	networks := e.names(t, "networks")
	chance := rand.New(rand.NewSource(7)) //nolint:gosec // moments, not secrets
	met := map[string]int{}
	for round := range rounds(3, 100) {
		c := p.busy(t, fmt.Sprintf("run-%d", round))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(chance.Int63n(int64(within))))
		_ = c.Process.Kill()
		for _, one := range e.of(t, c.Process.Pid) {
			met[one.State]++
		}
		_ = c.Wait() // it was killed
		tries := 0
		for ; len(e.of(t, c.Process.Pid)) > 0; tries++ { // the engine may still do what it was told
			if tries == 20 {
				t.Fatalf("round %d: left over after the next starts: %+v", round, e.of(t, c.Process.Pid))
			}
			var list any
			p.query(t, &list, "run", "list")
			time.Sleep(50 * time.Millisecond)
		}
		if tries > 1 {
			met["gone after a second start"]++
		}
	}
	t.Logf("run of %s; states of its containers at the moment of the kill: %v", within.Round(time.Millisecond), met)
	for _, n := range e.names(t, "networks") {
		if strings.Contains(n, "agentclash") || strings.Contains(n, "busy") {
			t.Errorf("the network %s is there, of %v before", n, networks)
		}
	}
	var volumes struct{ Volumes []struct{ Name string } }
	e.do(t, http.MethodGet, "/volumes?filters="+url.QueryEscape(`{"label":["dev.agentclash.owner"]}`), nil, &volumes)
	if len(volumes.Volumes) > 0 {
		t.Errorf("left volumes: %v", volumes.Volumes)
	}
}

// busy is a run with all that a trial can have.
func (p program) busy(t *testing.T, name string) *exec.Cmd {
	return p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--model", "scripted/agent.yaml",
		"--image", "builtin", "--concurrency", "3", "--name", name, "--quiet")
}

// bystanders are a run that goes on and a container that is nobody's. The
// function looks whether both are still there, and ends them.
func (p program) bystanders(t *testing.T, e engineAPI) (check func()) {
	t.Helper()
	living := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--case", "case-0", "--model", "scripted/slow.yaml",
		"--image", "builtin", "--name", "living", "--quiet")
	if err := living.Start(); err != nil {
		t.Fatal(err)
	}
	var box []listed
	for range 500 {
		if box = e.of(t, living.Process.Pid); len(box) == 1 && box[0].State == "running" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if len(box) != 1 {
		_ = living.Process.Kill()
		t.Fatalf("the living run has the containers %v, want one", box)
	}
	var stranger struct{ ID string }
	e.do(t, http.MethodPost, "/containers/create", map[string]any{
		"Image": box[0].ImageID, "Cmd": []string{"x"}, "HostConfig": map[string]any{"NetworkMode": "none"},
		"Labels": map[string]string{"com.example.dev.agentclash.owner": "dead/1/1"},
	}, &stranger)
	return func() {
		var is struct{ State struct{ Running bool } }
		e.do(t, http.MethodGet, "/containers/"+box[0].ID+"/json", nil, &is)
		if !is.State.Running {
			t.Error("the box of a living run was stopped")
		}
		e.do(t, http.MethodGet, "/containers/"+stranger.ID+"/json", nil, nil)
		e.do(t, http.MethodDelete, "/containers/"+stranger.ID+"?force=1", nil, nil)
		_ = living.Process.Kill()
		_ = living.Wait() // it was killed
	}
}

// engineAPI speaks to the engine without us in between.
type engineAPI struct{ client *http.Client }

func newEngineAPI(t *testing.T) engineAPI {
	c := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket())
	}}}
	t.Cleanup(c.CloseIdleConnections)
	return engineAPI{c}
}

func (e engineAPI) do(t *testing.T, method, path string, body, into any) {
	t.Helper()
	var payload bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequest(method, "http://engine"+path, &payload)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode >= 400 {
		t.Errorf("%s %s: %s: %s", method, path, res.Status, text)
		return
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// listed is a container in the engine's list.
type listed struct {
	ID, State, ImageID string
	Labels             map[string]string
}

// of lists the containers whose owner has a process id, whatever their state.
func (e engineAPI) of(t *testing.T, pid int) []listed {
	t.Helper()
	var all, its []listed
	e.do(t, http.MethodGet, "/containers/json?all=1&filters="+url.QueryEscape(`{"label":["dev.agentclash.owner"]}`), nil, &all)
	for _, c := range all {
		part := strings.Split(c.Labels["dev.agentclash.owner"], "/")
		if len(part) == 3 && part[1] == strconv.Itoa(pid) && (c.State != "removing" || !e.ghost(t, c.ID)) {
			its = append(its, c)
		}
	}
	return its
}

// ghost tells whether a container that is listed does not exist. Engine 20.10
// can leave one in its list, as being removed, when it notices an end twice.
func (e engineAPI) ghost(t *testing.T, id string) bool {
	t.Helper()
	res, err := e.client.Get("http://engine/containers/" + id + "/json")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusNotFound
}

func (e engineAPI) names(t *testing.T, what string) []string {
	t.Helper()
	var all []struct{ Name string }
	e.do(t, http.MethodGet, "/"+what, nil, &all)
	var names []string
	for _, n := range all {
		names = append(names, n.Name)
	}
	return names
}
