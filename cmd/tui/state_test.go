package tui_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

var noon = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// story is a run told fact by fact; each one is a second after the last.
type story struct {
	at     time.Time
	agents []event.AgentRef
	apply  func(event.Event)
}

func newStory(apply func(event.Event)) *story { return &story{at: noon, apply: apply} }

// into folds facts into a state at the time at which they occurred.
func into(state *tui.State) func(event.Event) {
	return func(e event.Event) { state.Apply(e, e.OccurredAt) }
}

func (s *story) tell(kind event.Type, e event.Event, payload any) {
	b, err := json.Marshal(payload)
	if err != nil {
		panic(err)
	}
	e.Type, e.OccurredAt, e.Payload = kind, s.at, b
	s.at = s.at.Add(time.Second)
	s.apply(e)
}

// starts begins a run of so many lanes.
func (s *story) starts(lanes, cases int) {
	for i := range lanes {
		s.agents = append(s.agents, event.AgentRef{ID: fmt.Sprintf("agent%d", i), Label: fmt.Sprintf("model-%c", 'a'+i)})
	}
	s.tell(event.RunStarted, event.Event{}, event.RunStart{Pack: event.PackRef{Slug: "fizz", Version: 2}, InputSet: "default",
		Sandbox: "docker", Agents: s.agents, Cases: cases, Repetitions: 1, Trials: lanes * cases})
}

func trial(lane, n int) event.Event {
	return event.Event{RunAgentID: fmt.Sprintf("agent%d", lane), TrialID: fmt.Sprintf("trial%d-%d", lane, n),
		CaseKey: fmt.Sprintf("case-%d", n), Repetition: 1, Attempt: 1}
}

func (s *story) trialStarts(lane, n int) {
	s.tell(event.TrialQueued, trial(lane, n), event.Queue{Attempt: 1})
	s.tell(event.Started, trial(lane, n), event.TrialStart{})
}

func (s *story) step(lane, n, step int, tool string) {
	s.tell(event.StepStarted, trial(lane, n), event.Step{StepIndex: step})
	s.tell(event.CallStarted, trial(lane, n), event.Call{})
	s.tell(event.CallDone, trial(lane, n), event.CallEnd{Usage: &provider.Usage{Input: 1000, Output: 20}})
	s.tell(event.ToolStarted, trial(lane, n), event.Tool{ToolName: tool})
}

func (s *story) ends(lane, n int, end event.TrialEnd) { s.tell(event.TrialDone, trial(lane, n), end) }

func passed() event.TrialEnd {
	return event.TrialEnd{Trial: scoring.Trial{Outcome: scoring.OutcomePassed, CostUSD: new(0.01)}}
}

func failed() event.TrialEnd {
	return event.TrialEnd{Trial: scoring.Trial{Outcome: scoring.OutcomeFailed, CostUSD: new(0.02), Scorecard: &scoring.Scorecard{
		Validators: []scoring.ValidatorResult{{Key: "exact", Verdict: scoring.VerdictPass}, {Key: "tests", Verdict: scoring.VerdictFail}}}}}
}

func invalid() event.TrialEnd {
	return event.TrialEnd{Trial: scoring.Trial{Outcome: scoring.OutcomeInvalid, Code: "rate_limit", Phase: "model",
		Reason: "openai: rate_limit (HTTP 429): slow down, you have been asking for far more than your account permits"}}
}

// busy is a run in which everything has happened that can be seen.
func busy() tui.State {
	var state tui.State
	s := newStory(into(&state))
	s.starts(2, 6)
	s.trialStarts(0, 1)
	s.ends(0, 1, passed())
	s.trialStarts(1, 1)
	s.ends(1, 1, failed())
	s.trialStarts(0, 2)
	again := invalid()
	again.WillRetry = true
	s.ends(0, 2, again)
	s.trialStarts(0, 2)
	s.ends(0, 2, invalid())
	s.trialStarts(0, 3)
	s.step(0, 3, 1, "write_file")
	s.tell(event.ToolDone, trial(0, 3), event.Tool{ToolName: "write_file"})
	s.trialStarts(0, 4)
	s.trialStarts(1, 2)
	s.step(1, 2, 3, "exec")
	s.tell(event.CallRetried, trial(0, 4), event.CallError{})
	return state.Snapshot()
}

func TestApplyCounts(t *testing.T) {
	t.Parallel()
	got := busy()
	want := tui.State{
		Pack: "fizz v2", InputSet: "default", Sandbox: "docker", StartedAt: noon, Trials: 12, PerLane: 6,
		Passed: 1, Failed: 1, Invalid: 1, Calls: 2, Retries: 2, InputTokens: 2000, OutputTokens: 40,
		SpentUSD: 0.03, Priced: 2, Unpriced: 2, Problem: 3, EndsAt: noon.Add(12*time.Second + 9*4*time.Second),
		Lanes: []tui.Lane{
			{ID: "agent0", Label: "model-a", Passed: 1, Invalid: 1, Running: 2, Now: "case-3#1 next step"},
			{ID: "agent1", Label: "model-b", Failed: 1, Running: 1, Now: "case-2#1 tool exec"},
		},
	}
	ignore := cmpopts.IgnoreFields(tui.State{}, "Running", "Problems", "Passes", "Watched")
	if diff := cmp.Diff(want, got, ignore, cmpopts.IgnoreUnexported(tui.State{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestApplyFollowsARunningTrial(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range busy().Running {
		names = append(names, fmt.Sprintf("%d %s %d %s %s", r.Lane, r.Name, r.Step, r.Doing, r.LastTool))
	}
	want := []string{"0 case-3#1 1 next step write_file", "0 case-4#1 0 waiting to call again ", "1 case-2#1 3 tool exec exec"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestApplyKeepsFailedAndInvalidApart(t *testing.T) {
	t.Parallel()
	took := 2 * time.Second
	want := []tui.Ended{
		{TrialID: "trial1-1", Attempt: 1, Outcome: "failed", Lane: "model-b", Name: "case-1#1", Reason: "did not pass: tests", Took: took},
		{TrialID: "trial0-2", Attempt: 1, Outcome: "retried", Lane: "model-a", Name: "case-2#1", Code: "rate_limit", Phase: "model", Reason: invalid().Reason, Took: took},
		{TrialID: "trial0-2", Attempt: 1, Outcome: "invalid", Lane: "model-a", Name: "case-2#1", Code: "rate_limit", Phase: "model", Reason: invalid().Reason, Took: took},
	}
	if diff := cmp.Diff(want, busy().Problems, cmpopts.IgnoreUnexported(tui.Ended{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A resumed run has fewer trials than cases times lanes; no lane then claims
// to know how many it has.
func TestApplyOfAResumedRun(t *testing.T) {
	t.Parallel()
	var state tui.State
	newStory(into(&state)).tell(event.RunStarted, event.Event{}, event.RunStart{
		Agents: []event.AgentRef{{ID: "a"}, {ID: "b"}}, Cases: 10, Repetitions: 1, Trials: 7})
	if state.PerLane != 0 || state.Trials != 7 {
		t.Errorf("got %d trials, %d a lane; want 7 and 0", state.Trials, state.PerLane)
	}
}

func TestApplyIsNotUpsetByDamage(t *testing.T) {
	t.Parallel()
	var state tui.State
	s := newStory(into(&state))
	s.starts(1, 1)
	for _, kind := range []event.Type{event.RunStarted, event.RunFinished, event.StepStarted, event.CallDone, event.ToolStarted, event.TrialDone} {
		for _, payload := range []string{"", "null", `"text"`, `{"outcome":7}`, "{"} {
			e := trial(0, 1)
			e.Type, e.Payload = kind, json.RawMessage(payload)
			state.Apply(e, noon)
		}
	}
	if got := state.Done(); got != 0 {
		t.Errorf("got %d trials done, want none: no outcome was readable", got)
	}
}

// What is kept depends on what runs and what failed, not on how much was run.
func TestApplyOfTenThousandTrialsKeepsLittle(t *testing.T) {
	t.Parallel()
	var state tui.State
	s := newStory(into(&state))
	s.starts(16, 625)
	end, err := json.Marshal(failed())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 625 {
		for lane := range 16 {
			e := trial(lane, n)
			e.Type = event.Started
			state.Apply(e, noon)
			e.Type, e.Payload = event.TrialDone, end
			state.Apply(e, noon)
		}
	}
	if state.Failed != 10_000 || state.Problem != 10_000 || len(state.Running) != 0 {
		t.Errorf("got %d failed, %d problems, %d running; want 10000, 10000, 0", state.Failed, state.Problem, len(state.Running))
	}
	if got := len(state.Problems); got > 4000 {
		t.Errorf("%d problems are kept, want at most 4000", got)
	}
	if got, want := state.Problems[len(state.Problems)-1].Name, "case-624#1"; got != want {
		t.Errorf("last problem: got %q, want %q", got, want)
	}
}
