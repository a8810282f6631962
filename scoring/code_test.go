package scoring_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// tests makes a spec's validator run a test command.
func tests(spec *scoring.Spec, config string) {
	v := &spec.Validators[0]
	v.Type, v.Target, v.ExpectedFrom, v.Config = scoring.CodeExecution, "file:f", "", json.RawMessage(config)
}

func TestCodeExecutionVectors(t *testing.T) {
	t.Parallel()
	for _, b := range readBlocks(t, "testdata/code_execution.txt") {
		b.only(t, "case", "config", "negate", "stdout", "stderr", "exit", "timed_out", "error", "run", "file", "want", "reason", "message", "outcome")
		t.Run(b["case"], func(t *testing.T) {
			t.Parallel()
			spec := oneValidator()
			tests(&spec, codeConfig(t, b["config"]))
			spec.Validators[0].Negate = b["negate"] == "true"
			if field, ok := strings.CutPrefix(b["want"], "refused "); ok {
				refused(t, spec, "validators[0]."+field, b["message"])
				return
			}
			card := scoring.Score(spec, codeEvidence(t, b))
			if len(card.Validators) == 0 {
				t.Fatalf("the spec is refused: %s", card.PackError)
			}
			got := card.Validators[0]
			if verdictText(got) != b["want"] || !strings.Contains(got.Reason, b["reason"]) {
				t.Errorf("got %s (%s), want %s (%s)", verdictText(got), got.Reason, b["want"], b["reason"])
			}
			if d := card.Decide(); b["outcome"] != "" && string(d.Outcome)+" "+d.Code != b["outcome"] {
				t.Errorf("got outcome %s %s, want %s", d.Outcome, d.Code, b["outcome"])
			}
		})
	}
}

// codeConfig adds a test command to a vector's config, unless it has one.
func codeConfig(t *testing.T, config string) string {
	t.Helper()
	if config == "null" {
		return config
	}
	merged := map[string]any{"test_command": "make test"}
	if config != "" {
		var given map[string]any
		if err := json.Unmarshal([]byte(config), &given); err != nil {
			t.Fatal(err)
		}
		maps.Copy(merged, given)
	}
	b, err := json.Marshal(merged)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func codeEvidence(t *testing.T, b block) scoring.Evidence {
	t.Helper()
	ev := evidence()
	ev.FinalOutput = new("done")
	ev.Files["f"] = scoring.CapturedFile{Key: "f", Path: "/workspace/f", Exists: b["file"] != "(none)"}
	if b["run"] == "(never)" {
		return ev
	}
	run := scoring.CodeRun{
		ValidatorKey: "v", Stdout: b.text(t, "stdout"), Stderr: b.text(t, "stderr"),
		TimedOut: b["timed_out"] == "true", ExecutionError: b.text(t, "error"),
	}
	if b["exit"] != "" {
		n, err := strconv.Atoi(b["exit"])
		if err != nil {
			t.Fatal(err)
		}
		run.ExitCode = &n
	}
	ev.CodeRuns["v"] = run
	return ev
}

func TestCountVectors(t *testing.T) {
	t.Parallel()
	for _, b := range readBlocks(t, "testdata/test_counts.txt") {
		b.only(t, "case", "stdout", "stderr", "want")
		n, ok := scoring.CountTests(b.text(t, "stdout"), b.text(t, "stderr"))
		got := "nothing"
		if ok {
			got = fmt.Sprintf("passed=%d failed=%d errors=%d total=%d", n.Passed, n.Failed, n.Errors, n.Total)
		}
		if got != b["want"] {
			t.Errorf("%s: got %s, want %s", b["case"], got, b["want"])
		}
	}
}

func TestGraders(t *testing.T) {
	t.Parallel()
	spec := oneValidator()
	tests(&spec, `{"test_command":" make test ","scoring":"all_or_nothing"}`)
	s, problems := scoring.Compile(spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	got := s.Graders()
	if len(got) != 1 {
		t.Fatalf("got %d graders, want 1", len(got))
	}
	g := got[0]
	if g.Key != "v" || g.Target != "file:f" || g.Check.Path != "/workspace/f" || g.Config.TestCommand != "make test" {
		t.Errorf("got grader %+v", g)
	}
	if *g.Config.TimeoutMS != scoring.DefaultTestTimeoutMS || *g.Config.PassThreshold != 1 || g.Config.Scoring != scoring.AllOrNothing {
		t.Errorf("got config %+v, want the defaults filled in", g.Config)
	}
}

// A config that is left out names no command: there is nothing to run.
func TestNoGraderWithoutACommand(t *testing.T) {
	t.Parallel()
	spec := oneValidator()
	tests(&spec, "null")
	s, problems := scoring.Compile(spec)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := s.Graders(); len(got) != 0 {
		t.Errorf("got graders %+v, want none", got)
	}
}

// The counts are evidence, so that a reader sees what the score came from.
func TestCodeEvidence(t *testing.T) {
	t.Parallel()
	spec, ev := oneValidator(), evidence()
	tests(&spec, `{"test_command":"make test"}`)
	ev.CodeRuns["v"] = scoring.CodeRun{ValidatorKey: "v", Stdout: "2 passed, 1 failed", ExitCode: new(1)}
	got := string(scoring.Score(spec, ev).Validators[0].Evidence)
	want := `{"kind":"code_execution","exit_code":1,"scoring":"fraction_passed","passed_tests":2,"failed_tests":1,"error_tests":0,"total_tests":3}`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Why tests could not run is in the reason: the status alone says little.
func TestWhyACommandEnded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		run  scoring.CodeRun
		want string
	}{
		{scoring.CodeRun{ExitCode: new(127), Stderr: "first\nsh: 1: pytest: not found\n\n"}, "status 127, by which a shell says that there is no such program: sh: 1: pytest: not found"},
		{scoring.CodeRun{ExitCode: new(126)}, "status 126, by which a shell says that a program cannot be run"},
		{scoring.CodeRun{ExitCode: new(137), Limit: "memory", Stderr: "Killed"}, "status 137, at the sandbox's limit memory: Killed"},
		{scoring.CodeRun{ExitCode: new(1), Stderr: strings.Repeat("x", 5000)}, "status 1: xxx"},
	} {
		spec, ev := oneValidator(), evidence()
		tests(&spec, `{"test_command":"pytest"}`)
		c.run.ValidatorKey = "v"
		ev.CodeRuns["v"] = c.run
		got := scoring.Score(spec, ev).Validators[0].Reason
		if !strings.HasPrefix(got, "the test command ended with "+c.want) || len(got) > 500 {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
