//go:build linux

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// privateEngine is a Docker engine of a test's own, which may be stopped,
// killed and started again.
type privateEngine struct {
	dir string
	cmd *exec.Cmd
	log *bytes.Buffer
}

func startEngine(t *testing.T) *privateEngine {
	t.Helper()
	if _, err := exec.LookPath("dockerd"); err != nil || os.Getuid() != 0 || !dockerAnswers(t) {
		t.Skip("a Docker engine of one's own needs dockerd, and root")
	}
	dir, err := os.MkdirTemp("", "engine") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	e := &privateEngine{dir: dir}
	t.Cleanup(func() {
		e.end(t, syscall.SIGTERM)
		_ = os.RemoveAll(dir)
	})
	e.start(t)
	return e
}

func (e *privateEngine) host() string { return "unix://" + e.dir + "/sock" }

func (e *privateEngine) start(t *testing.T) {
	t.Helper()
	e.log = &bytes.Buffer{}
	e.cmd = exec.Command("dockerd", "--host", e.host(), "--data-root", e.dir+"/data", "--exec-root", e.dir+"/exec", "--pidfile", e.dir+"/pid",
		"--bridge", "none", "--iptables=false", "--ip-forward=false", "--ip-masq=false", "--storage-driver", "vfs")
	e.cmd.Stderr = e.log
	// An engine without a bridge removes the one that another has made.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if res, err := e.get("/_ping"); err == nil {
			_ = res.Body.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the engine does not start:\n%s", e.log)
}

// end ends the engine, and waits until it is gone.
func (e *privateEngine) end(t *testing.T, how syscall.Signal) {
	t.Helper()
	if e.cmd.ProcessState != nil {
		return
	}
	if err := e.cmd.Process.Signal(how); err != nil {
		t.Error(err)
	}
	_ = e.cmd.Wait()
	// Where nobody reaps them, dead processes look as if they still ran.
	_ = os.Remove(e.dir + "/pid")
	_ = os.Remove(e.dir + "/exec/containerd/containerd.pid")
}

func (e *privateEngine) get(path string) (*http.Response, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.dir+"/sock")
	}}}
	return client.Get("http://engine" + path)
}

// ours counts the containers with a label of ours, of whatever state.
func (e *privateEngine) ours(t *testing.T) int {
	t.Helper()
	res, err := e.get(`/containers/json?all=1&filters={"label":["dev.agentclash.owner"]}`)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list []struct{ State string }
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestEngineFaults: what happens to the engine is never the agent's failure,
// and nothing is left when it is back.
func TestEngineFaults(t *testing.T) {
	t.Parallel()
	e := startEngine(t)
	p := newProgram(t)
	p.env = append(p.env, "DOCKER_HOST="+e.host())
	p.write(t, "pack.yaml", hostilePack+`      - {challenge_key: c, case_key: one, payload: {}}
      - {challenge_key: c, case_key: two, payload: {}}
      - {challenge_key: c, case_key: three, payload: {}}
      - {challenge_key: c, case_key: four, payload: {}}
`)
	step := `{tool_calls: [{name: write_file, arguments: {path: out.txt, content: honest}}, {name: exec, arguments: {command: [sh, -c, "sleep 0.3"]}}]}`
	p.write(t, "agent.yaml", "default: ["+strings.Repeat(step+", ", 6)+`{tool_calls: [{name: submit, arguments: {answer: done}}]}]`+"\n")

	type verdict struct{ passed, failed, invalid int }
	play := func(name string, fault func()) (got verdict, codes string) {
		t.Helper()
		c := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--model", "scripted/agent.yaml", "--image", "builtin",
			"--concurrency", "2", "--name", name, "--quiet")
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- c.Wait() }()
		for n := 0; e.ours(t) == 0 && n < 300; n++ {
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(500 * time.Millisecond)
		fault()
		select {
		case <-done:
		case <-time.After(4 * time.Minute):
			_ = c.Process.Signal(syscall.SIGQUIT) // where it hangs
			<-done
			t.Fatalf("%s: the run hangs:\n%s", name, &out)
		}
		var doc struct {
			Scorecard struct {
				Trials []struct{ Outcome, Code, Reason string }
			}
		}
		p.query(t, &doc, "eval", "scorecard", name)
		for _, trial := range doc.Scorecard.Trials {
			switch trial.Outcome {
			case "passed":
				got.passed++
			case "failed":
				got.failed++
				t.Errorf("%s: a trial is called the agent's failure: %s %s", name, trial.Code, trial.Reason)
			case "invalid":
				got.invalid++
				codes += trial.Code + " "
			}
		}
		t.Logf("%s: %+v %s", name, got, codes)
		return got, codes
	}
	nothingLeft := func(after string) {
		t.Helper()
		var ignored any
		p.query(t, &ignored, "run", "list") // it looks for what dead processes left
		if out, err := p.command(t.Context(), "sandbox", "gc").CombinedOutput(); err != nil {
			t.Errorf("%s: gc: %v\n%s", after, err, out)
		}
		for n := 0; e.ours(t) > 0; n++ {
			if n == 200 {
				t.Errorf("%s: %d containers are left", after, e.ours(t))
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}

	if got, _ := play("well", func() {}); got.passed != 4 {
		t.Fatalf("with a well engine: %+v", got)
	}
	if got, codes := play("slow", func() {
		_ = syscall.Kill(e.cmd.Process.Pid, syscall.SIGSTOP)
		time.Sleep(3 * time.Second)
		_ = syscall.Kill(e.cmd.Process.Pid, syscall.SIGCONT)
	}); got.passed != 4 {
		t.Errorf("with a slow engine: %+v %s", got, codes)
	}
	for name, how := range map[string]syscall.Signal{"stopped": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		got, codes := play(name, func() { e.end(t, how) })
		if got.invalid == 0 || !strings.Contains(codes, "sandbox_") {
			t.Errorf("%s: got %+v %s, want invalid trials with the sandbox's code", name, got, codes)
		}
		e.start(t)
		nothingLeft(name)
	}
	play("restarted", func() {
		e.end(t, syscall.SIGTERM)
		e.start(t)
	})
	nothingLeft("restarted")

	out, err := p.command(t.Context(), "eval", "start", "--pack", "pack.yaml", "--model", "scripted/agent.yaml", "--image", "agentclash-test/none:1").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("agentclash-test/none:1")) || !bytes.Contains(out, []byte("docker pull")) {
		t.Errorf("a missing image: %v\n%s", err, out)
	}
}
