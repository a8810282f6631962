package scoring

import (
	"fmt"
	"strings"
)

// The ways to score a code_execution.
const (
	FractionPassed = "fraction_passed"
	AllOrNothing   = "all_or_nothing"
)

// DefaultTestTimeoutMS is how long a test command may take when its config
// does not say.
const DefaultTestTimeoutMS = 30000

// codeConfig is the config of code_execution; CodeExecutionConfig is its Go
// form.
func codeConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "test_command", Type: KeyString, Required: true, Doc: "what sh -lc runs in the sandbox after the agent finished"},
		{Name: "timeout_ms", Type: KeyInteger, Above: new(0.0), Default: int64(DefaultTestTimeoutMS), Doc: "how long it may take"},
		{Name: "scoring", Type: KeyString, Default: FractionPassed, Enum: []string{FractionPassed, AllOrNothing},
			Doc: "the share of passed tests, or 1 only when none failed"},
		{Name: "pass_threshold", Type: KeyNumber, Min: new(0.0), Max: new(1.0), Default: 1.0, Doc: "the verdict is pass from this score on"},
	}
}

func checkCode(s settings, p *problems, field string) {
	if s.has("test_command") && strings.TrimSpace(s.text("test_command")) == "" {
		p.add(field+".test_command", "is required")
	}
}

func codeSettings(s settings) CodeExecutionConfig {
	c := CodeExecutionConfig{TestCommand: strings.TrimSpace(s.text("test_command")), Scoring: s.text("scoring")}
	if ms, ok := s.integer("timeout_ms"); ok {
		c.TimeoutMS = &ms
	}
	if v, ok := s.number("pass_threshold"); ok {
		c.PassThreshold = &v
	}
	return c
}

// codeEvidence is the evidence of a code_execution.
type codeEvidence struct {
	Kind     string `json:"kind"`
	ExitCode *int   `json:"exit_code,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Scoring  string `json:"scoring"`
	*TestCounts
}

func codeExecution(s settings) inspector {
	config := codeSettings(s)
	return func(t *trial, v *validator) finding {
		if config.TestCommand == "" { // a config that was left out
			return authors(senseless("there is no test_command to run"))
		}
		f := config.judge(t, v)
		if file, ok := t.ev.Files[v.target.key]; ok && (!file.Exists || file.Unread != "") {
			f.lack = strings.TrimSpace(fmt.Sprintf("the file %s %s", quoted(file.Path), file.Unread))
		}
		return f
	}
}

func (c CodeExecutionConfig) judge(t *trial, v *validator) finding {
	run, ok := t.ev.CodeRuns[v.Key]
	if !ok {
		return finding{state: Unavailable, cause: t.uncollected(), reason: "the test command was never run"}
	}
	if strings.TrimSpace(run.ExecutionError) != "" {
		// a sandbox in which nobody could run it had no trial at all: what stands in
		// its way is the agent's, such as a directory that it locked or never made
		return senseless("the test command could not be run: " + run.ExecutionError)
	}
	detail := codeEvidence{Kind: CodeExecution, ExitCode: run.ExitCode, TimedOut: run.TimedOut, Scoring: c.Scoring}
	counts, counted := CountTests(run.Stdout, run.Stderr)
	if counted {
		detail.TestCounts = &counts
	}
	if run.TimedOut {
		return c.graded(0, "the test command ran out of time", detail)
	}
	if !counted && run.ExitCode == nil {
		return finding{state: Unavailable, cause: causeEngine, reason: "the test command left neither test counts nor an exit status", detail: detail}
	}
	score, reason := c.score(run, counts, counted)
	return c.graded(score, reason, detail)
}

// score rates a run. An exit status that is not 0 counts unless the failure it
// stands for is among the counted ones: output is the agent's to write.
func (c CodeExecutionConfig) score(run CodeRun, n TestCounts, counted bool) (float64, string) {
	failed := run.ExitCode != nil && *run.ExitCode != 0
	switch {
	case failed && (!counted || n.Failed+n.Errors == 0):
		return 0, run.ended()
	case !counted:
		return 1, ""
	case c.Scoring != AllOrNothing:
		return float64(n.Passed) / float64(n.Total), fmt.Sprintf("%d of %d tests passed", n.Passed, n.Total)
	case n.Failed+n.Errors > 0:
		return 0, fmt.Sprintf("%d of %d tests did not pass", n.Failed+n.Errors, n.Total)
	}
	return 1, ""
}

// maxSaid is how much of what a test command said last is in a reason, in bytes.
const maxSaid = 300

// ended says with which status a command ended, and why as far as that is known:
// tests that cannot run look like tests that fail.
func (run CodeRun) ended() string {
	reason := fmt.Sprintf("the test command ended with status %d", *run.ExitCode)
	switch *run.ExitCode {
	case 126:
		reason += ", by which a shell says that a program cannot be run"
	case 127:
		reason += ", by which a shell says that there is no such program"
	}
	if run.Limit != "" {
		reason += ", at the sandbox's limit " + run.Limit
	}
	said := strings.TrimSpace(run.Stderr)
	if said = strings.TrimSpace(said[strings.LastIndexByte(said, '\n')+1:]); said != "" {
		reason += ": " + clipTo(said, maxSaid)
	}
	return clipTo(reason, maxReason)
}

func (c CodeExecutionConfig) graded(score float64, reason string, detail codeEvidence) finding {
	f := finding{state: Available, score: score, pass: score >= *c.PassThreshold, detail: detail, settled: true}
	if !f.pass {
		f.reason = reason
	}
	return f
}
