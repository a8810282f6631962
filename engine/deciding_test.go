package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/sequential"
	"github.com/agentclash/agentclash/scoring/stats"
)

// deciding is a plan of the prompt pack that a baseline of ten passes of each case
// decides.
func deciding(t *testing.T, h *harness, edit func(*sequential.Spec)) *plan.Plan {
	t.Helper()
	s := sequential.Spec{Aim: stats.DefaultAim(), Seed: 3, MaxEach: plan.MaxRepetitions,
		Cases: []sequential.Case{{CaseKey: "small", Passed: 10, Trials: 10}, {CaseKey: "large", Passed: 10, Trials: 10}}}
	s.Aim.MaxTrials = 40
	if edit != nil {
		edit(&s)
	}
	test, err := sequential.New(s)
	if err != nil {
		t.Fatal(err)
	}
	planned := h.plan(t)
	n := 0
	planned.DecideBy(test, func() string { n++; return "trial-" + string(rune('a'+n/26)) + string(rune('a'+n%26)) })
	return planned
}

func (h *harness) decisions(t *testing.T) (list []event.Decision) {
	t.Helper()
	for _, e := range h.facts {
		if e.Type == event.Decided {
			d, err := event.Decode[event.Decision](e)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, d)
		}
	}
	return list
}

// TestADecisionEndsTheRun: at once with one trial at a time, and with the same
// decision where trials overtake each other.
func TestADecisionEndsTheRun(t *testing.T) {
	t.Parallel()
	// every second failure takes its time, so that later trials end first
	const script = `{cases: {small: [{text: wrong, delay_ms: 20}], large: [{text: wrong}]}}`
	var want event.Decision
	for _, c := range []int{1, 3, 8} {
		h := newHarness(parse(t, promptPack), script)
		h.options.Concurrency = c
		result := h.runOnly(t, t.Context(), deciding(t, h, nil))
		decided := h.decisions(t)
		if result.Status != "completed" || !result.Over || len(decided) != 1 || decided[0].Decision != "regressed" {
			t.Fatalf("concurrency %d: %+v with the decisions %+v", c, result, decided)
		}
		if c == 1 {
			want = decided[0]
		}
		if decided[0] != want {
			t.Errorf("concurrency %d decides %+v, one at a time %+v", c, decided[0], want)
		}
		if begun := result.Agents[0].Scorecard.FailedTrials; begun < want.Trials || begun > want.Trials+2*c || c == 1 && begun != want.Trials {
			t.Errorf("concurrency %d: %d trials for a decision after %d", c, begun, want.Trials)
		}
	}
}

// TestADecisionWaitsForTheFirstRound: where every case has to be run.
func TestADecisionWaitsForTheFirstRound(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `default: [{text: wrong}]`)
	planned := deciding(t, h, func(s *sequential.Spec) {
		s.Cases[0].Trials, s.Cases[0].Passed = 40, 40
		s.Cases, s.Others = s.Cases[:1], []sequential.Other{{CaseKey: "large", Why: "new"}}
		s.WholeRound = true
	})
	if planned.Trials[0].CaseKey != "large" {
		t.Errorf("what does not count comes first: %+v", planned.Trials[0])
	}
	result := h.runOnly(t, t.Context(), planned)
	if d := h.decisions(t); len(d) != 1 || result.Agents[0].Scorecard.FailedTrials != d[0].Trials+1 {
		t.Errorf("%d trials with %+v", result.Agents[0].Scorecard.FailedTrials, d)
	}
}

// TestACaseThatIsNeverValid ends the run undecided: nothing else could count.
func TestACaseThatIsNeverValid(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `{cases: {small: [{error: {code: malformed_response, message: cut}}], large: [{text: wrong}]}}`)
	h.options.RetryInvalid, h.options.Concurrency = 0, 1
	result := h.runOnly(t, t.Context(), deciding(t, h, func(s *sequential.Spec) { s.Invalid = 3 }))
	card := result.Agents[0].Scorecard
	if d := h.decisions(t); len(d) > 0 || result.Status != "completed" || !result.Over || card.InvalidTrials != 20+3 || card.FailedTrials > 1 {
		t.Errorf("got %+v, %+v", d, result)
	}
}

// TestAnInvalidTrialIsMadeGood at once by the next of its case, and at the end by one in
// reserve. What is in reserve and not needed is not run.
func TestAnInvalidTrialIsMadeGood(t *testing.T) {
	t.Parallel()
	const script = `draw: [{p: 0.3, replies: [{error: {code: malformed_response, message: cut}}]}, {p: 0.5, replies: [{text: "3"}]}, {p: 0.2, replies: [{text: wrong}]}]`
	for seed := range int64(8) {
		for _, c := range []int{1, 5} {
			h := newHarness(parse(t, promptPack), script)
			h.options.RetryInvalid, h.options.Concurrency, h.options.Seed = 0, c, seed
			planned := deciding(t, h, func(s *sequential.Spec) { s.Invalid, s.Aim.MaxTrials = 10, 6 })
			result := h.runOnly(t, t.Context(), planned)
			fold, err := planned.Until.Of(h.trials(t))
			if err != nil {
				t.Fatal(err)
			}
			state, card := fold.State(), result.Agents[0].Scorecard
			if !state.Spent || !state.Decided() && state.Trials != state.MaxTrials || !result.Over || result.Status != "completed" {
				t.Errorf("seed %d, %d at once: %+v, %+v", seed, c, state, result)
			}
			if ended := card.PassedTrials + card.FailedTrials + card.InvalidTrials; c == 1 && ended != state.Trials+state.PassedOver {
				t.Errorf("seed %d: %d trials for %+v", seed, ended, state)
			}
		}
	}
}

// TestAWholeRoundIsOwed: a case that the test is too short for is run all the same, and a
// deadline before that is no end of the run, though it is decided.
func TestAWholeRoundIsOwed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		whole, stopped bool
		status, code   string
		trials         int
	}{
		{"nothing is owed", false, false, "completed", "", 1},
		{"nothing is owed, and the deadline passes", false, true, "completed", "", 1},
		{"a round is owed", true, false, "completed", "", 2},
		{"a round is owed, and the deadline passes", true, true, "failed", engine.CodeDeadline, 1},
	} {
		h := newHarness(parse(t, promptPack), `default: [{text: wrong}]`)
		h.options.Concurrency = 1
		ctx, cancel := context.WithCancelCause(t.Context())
		h.onFact = func(e event.Event) {
			if c.stopped && e.Type == event.Decided {
				cancel(engine.ErrDeadline)
			}
		}
		got := h.runOnly(t, ctx, deciding(t, h, func(s *sequential.Spec) { s.WholeRound, s.Aim.MaxTrials = c.whole, 1 }))
		if d := h.decisions(t); len(d) != 1 || got.Status != c.status || got.Code != c.code || got.Agents[0].Scorecard.FailedTrials != c.trials {
			t.Errorf("%s: got %+v, %+v", c.name, d, got)
		}
	}
}

// TestResumedWithItsTest: after its decision nothing is begun or stated twice. Before the
// decision the same one is reached as without the break.
func TestResumedWithItsTest(t *testing.T) {
	t.Parallel()
	const script = `{cases: {small: [{text: wrong}], large: [{text: "42"}]}}`
	whole := newHarness(parse(t, promptPack), script)
	whole.runOnly(t, t.Context(), deciding(t, whole, nil))
	want := whole.decisions(t)
	if len(want) != 1 {
		t.Fatalf("got %+v", want)
	}
	for _, after := range []int{0, 1, 3, want[0].Trials - 1, want[0].Trials} {
		h := newHarness(parse(t, promptPack), script)
		ctx, cancel := context.WithCancelCause(t.Context())
		if after == 0 {
			cancel(engine.ErrInterrupted)
		}
		done := 0
		h.onFact = func(e event.Event) {
			if e.Type == event.TrialDone {
				if done++; done == after {
					cancel(engine.ErrInterrupted)
				}
			}
		}
		planned := deciding(t, h, nil)
		h.runOnly(t, ctx, planned)
		h.onFact = nil
		prior := h.trials(t)
		var left []plan.Trial
		for _, at := range planned.Trials {
			if !slices.ContainsFunc(prior, func(p scoring.Trial) bool { return p.TrialID == at.ID }) {
				left = append(left, at)
			}
		}
		said := int64(0)
		for _, e := range h.facts {
			if e.TrialID == "" {
				said = e.Sequence
			}
		}
		planned.Trials = left
		planned.Before = plan.Progress{Left: left, Prior: [][]scoring.Trial{prior}, Facts: said, Decided: len(h.decisions(t)) > 0}
		result := h.runOnly(t, t.Context(), planned)
		if got := h.decisions(t); len(got) != 1 || got[0] != want[0] || !result.Over || result.Status != "completed" {
			t.Errorf("broken after %d trials: %+v, want %+v", after, got, want)
		}
	}
}

// TestAnInterruptionAfterTheDecision: what the run was for is there, so it completed.
func TestAnInterruptionAfterTheDecision(t *testing.T) {
	t.Parallel()
	h := newHarness(parse(t, promptPack), `default: [{text: wrong}]`)
	ctx, cancel := context.WithCancelCause(t.Context())
	h.onFact = func(e event.Event) {
		if e.Type == event.Decided {
			cancel(engine.ErrInterrupted)
		}
	}
	if got := h.runOnly(t, ctx, deciding(t, h, nil)); got.Status != "completed" || !got.Over {
		t.Errorf("got %+v", got)
	}
}
