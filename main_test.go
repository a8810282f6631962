package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/sandbox/e2b/e2btest"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

// TestMain makes the test binary able to be agentclash, so that the scripts
// run the real program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agentclash": func() { os.Exit(cmd.Main(cli.System(), os.Args[1:])) },
		byClock:      func() { os.Exit(cmd.Main(onTime(cli.System()), os.Args[1:])) },
	})
}

func TestScript(t *testing.T) {
	docker, machines := dockerAnswers(t), e2btest.Can() == nil
	guest := ""
	if docker || machines {
		// the test binary itself is not static when the race detector is on
		bin, err := built()
		if err != nil {
			t.Fatal(err)
		}
		guest = bin
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("AGENTCLASH_HOME", filepath.Join(e.WorkDir, ".home"))
			e.Setenv("AGENTCLASH_SECRET_STORE", "file")
			e.Setenv("AGENTCLASH_GUEST", guest)
			e.Setenv("TESTDATA", mustAbs(t, "testdata"))
			e.Setenv("EXAMPLES", mustAbs(t, "examples"))
			e.Setenv("CI", "")
			// a program with the race detector in it sleeps for a second before it
			// ends; what it found it has said by then, and says with its status
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "docker":
				return docker, nil
			case "e2b":
				return machines, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "fromfile": fromFile, "echoserver": echoServer, "agentserver": agentServer, "e2bserver": func(ts *testscript.TestScript, _ bool, _ []string) {
			s := e2btest.New(t)
			for name, value := range map[string]string{
				"E2B_API_KEY": e2btest.Key, "E2B_TEMPLATE_ID": e2btest.Template, "E2B_API_BASE_URL": s.URL, "E2B_SANDBOX_URL": s.URL,
			} {
				ts.Setenv(name, value)
			}
		}},
	})
}

// fromFile sets a variable to what a file says.
func fromFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fromfile FILE VARIABLE")
	}
	ts.Setenv(args[1], strings.TrimSpace(ts.ReadFile(args[0])))
}

// echoServer starts a web server that answers with the headers and the address
// it was sent, and puts its own address into ECHO.
func echoServer(ts *testscript.TestScript, _ bool, _ []string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	ts.Defer(s.Close)
	ts.Setenv("ECHO", s.Listener.Addr().String())
}

// agentServer starts an agent that is an endpoint, as in docs/agents.md, and puts
// its address into AGENT. It wants the key that is in SERVICE_KEY, and knows the
// sums of the script's pack.
func agentServer(ts *testscript.TestScript, _ bool, _ []string) {
	key := ts.Getenv("SERVICE_KEY")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			CaseKey string `json:"case_key"`
			Task    struct {
				Case struct{ Payload map[string]int }
			}
		}
		switch err := json.NewDecoder(r.Body).Decode(&q); {
		case r.Header.Get("Authorization") != "Bearer "+key:
			http.Error(w, "who are you? not "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		case err != nil || r.URL.Path != "/agent":
			http.Error(w, "not understood", http.StatusBadRequest)
		case q.CaseKey == "broken":
			http.Error(w, "sad", http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"output":"%d","usage":{"input_tokens":30,"output_tokens":3},"cost_usd":0.125}`, q.Task.Case.Payload["a"]+q.Task.Case.Payload["b"])
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv("AGENT", s.URL+"/agent")
}

// exits runs a command that must end with the given status: testscript itself
// can only say "must fail".
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND [ARG ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: exit status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// dockerAnswers says whether the scripts that open containers can run. With
// AGENTCLASH_REQUIRE_DOCKER they must.
func dockerAnswers(t *testing.T) bool {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	_, err := sandboxes.ProbeDocker(ctx, &cli.App{Process: cli.System()})
	if err != nil && os.Getenv("AGENTCLASH_REQUIRE_DOCKER") != "" {
		t.Fatalf("AGENTCLASH_REQUIRE_DOCKER is set and no engine answers: %v", err)
	}
	return err == nil
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}

// TestArchitectureNamesRealFiles reads the file names in ARCHITECTURE.md.
func TestArchitectureNamesRealFiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for i, word := range strings.Split(string(page), "`") {
		if i%2 == 0 || !strings.HasSuffix(word, ".go") && !strings.HasSuffix(word, ".md") {
			continue
		}
		named++
		if _, err := os.Stat(word); err != nil {
			t.Errorf("ARCHITECTURE.md names %s: %v", word, err)
		}
	}
	if named < 15 {
		t.Fatalf("found %d file names in ARCHITECTURE.md, which cannot be all", named)
	}
}
