package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// steered is a run of the prompt pack whose model answers when it is let, in a
// bubble of synctest: once all wait, nothing else would happen.
type steered struct {
	*harness
	t      *testing.T
	plan   *plan.Plan
	answer chan string // what the model answers; "" fails
	ended  chan engine.Result
	linger chan struct{} // until it is closed a call that is cancelled does not end; nil: it ends at once

	mu       sync.Mutex
	underWay map[string]bool // refs
	asked    int
}

func newSteered(t *testing.T, agents int, o plan.Options) *steered {
	t.Helper()
	return newSteeredPack(t, promptPack, agents, o)
}

func newSteeredPack(t *testing.T, src string, agents int, o plan.Options) *steered {
	t.Helper()
	s := &steered{harness: newHarness(parse(t, src)), t: t, answer: make(chan string), ended: make(chan engine.Result, 1), underWay: map[string]bool{}}
	s.options, s.options.MinPassRate, s.controls, s.boxes = o, 1, new(engine.Controls), sandboxtest.Memory()
	for i := range agents {
		s.agents = append(s.agents, plan.Deployment{Name: fmt.Sprint("d", i), Provider: provider.OpenAI, Model: "gpt", BaseURL: "http://127.0.0.1:1/v1"})
		s.clients = append(s.clients, modelFunc(s.complete))
	}
	s.plan = s.harness.plan(t)
	return s
}

func (s *steered) complete(ctx context.Context, req provider.Request) (provider.Response, error) {
	ref := fmt.Sprint(req.Ref.Agent, req.Ref.Case, req.Ref.Repetition)
	s.mu.Lock()
	s.underWay[ref] = true
	s.asked++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.underWay, ref)
	}()
	select {
	case text := <-s.answer:
		if text == "" {
			return provider.Response{}, &provider.Error{Provider: provider.OpenAI, Code: provider.MalformedResponse, Message: "cut"}
		}
		if text == "auth" {
			return provider.Response{}, &provider.Error{Provider: provider.OpenAI, Code: provider.Auth, Message: "no such key"}
		}
		if len(req.Tools) > 0 {
			return provider.Response{Finish: provider.FinishToolCalls, ToolCalls: []provider.ToolCall{{ID: "1", Name: "submit", Arguments: json.RawMessage(`{"answer":"done"}`)}}}, nil
		}
		if text == "right" {
			text = map[string]string{"small": "3", "large": "42"}[req.Ref.Case]
		}
		return provider.Response{Text: text, Finish: provider.FinishStop}, nil
	case <-ctx.Done():
		if s.linger != nil {
			<-s.linger
		}
		return provider.Response{}, provider.FromContext(ctx, provider.OpenAI)
	}
}

func (s *steered) start(ctx context.Context) {
	go func() { s.ended <- s.runOnly(s.t, ctx, s.plan) }()
	synctest.Wait()
}

// runs says how many calls are under way, once nothing moves, and how many were made.
func (s *steered) runs(now, asked int, when string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.underWay) != now || s.asked != asked {
		s.t.Errorf("%s: %d run, and %d have begun; want %d and %d", when, len(s.underWay), s.asked, now, asked)
	}
}

func (s *steered) answers(texts ...string) {
	for _, text := range texts {
		s.answer <- text
		synctest.Wait()
	}
}

// finish answers rightly until the run is over.
func (s *steered) finish() engine.Result {
	for {
		select {
		case s.answer <- "right":
		case result := <-s.ended:
			s.scoreAgain(s.t, s.plan)
			return result
		}
	}
}

// steering is what was stated about it.
func (h *harness) steering(t *testing.T) (list []string) {
	t.Helper()
	for _, e := range h.facts {
		if e.Type == event.RunAdjusted {
			a, err := event.Decode[event.Adjustment](e)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprintf("%s %v %d %d", a.Action, a.Paused, a.Concurrency, a.Trials))
		}
	}
	return list
}

func TestAPauseHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t, 1, plan.Options{Repetitions: 4, Concurrency: 2, RetryInvalid: 1})
		s.start(t.Context())
		s.runs(2, 2, "at first")
		s.controls.Pause(true)
		s.controls.Pause(true)
		s.answers("right", "")
		s.runs(0, 2, "paused: no trial begins, and none is tried again")
		s.controls.SetConcurrency(3)
		s.runs(0, 2, "paused, with more at once")
		s.controls.Pause(false)
		s.runs(3, 5, "resumed")
		result := s.finish()
		if card := result.Agents[0].Scorecard; result.Status != "completed" || card.PassedTrials != 8 || card.Trials != 8 {
			t.Errorf("got %s with %+v", result.Status, card)
		}
		if got := strings.Join(s.steering(t), ", "); got != "paused true 2 0, concurrency_changed true 3 0, resumed false 3 0" {
			t.Errorf("stated: %s", got)
		}
	})
}

// TestAPausedRunEnds by its deadline and by an interrupt.
func TestAPausedRunEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t, 1, plan.Options{Repetitions: 4, Concurrency: 2})
		s.plan.Options.Deadline = s.plan.CreatedAt.Add(time.Hour)
		s.controls.Pause(true) // before it begins
		s.start(t.Context())
		s.runs(0, 0, "paused from the start")
		if result := <-s.ended; result.Code != engine.CodeDeadline {
			t.Errorf("got %+v", result)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newSteered(t, 1, plan.Options{Repetitions: 4, Concurrency: 2})
		s.start(ctx)
		s.controls.Pause(true)
		s.answers("right")
		cancel(engine.ErrInterrupted)
		if result := <-s.ended; result.Status != "interrupted" || result.Agents[0].Scorecard.PassedTrials != 1 {
			t.Errorf("got %+v", result)
		}
		if _, err := s.controls.RetryInvalid(); err == nil || !strings.Contains(err.Error(), "agentclash run retry RUN --invalid") {
			t.Errorf("a run that has ended: %v", err)
		}
	})
}

func TestConcurrencyFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t, 1, plan.Options{Repetitions: 8, Concurrency: 4})
		s.start(t.Context())
		s.runs(4, 4, "at first")
		s.controls.SetConcurrency(-3)
		s.answers("right", "right", "right")
		s.runs(1, 4, "lowered to 1: those that run end")
		s.answers("right")
		s.runs(1, 5, "one by one")
		s.controls.SetConcurrency(6)
		s.runs(6, 10, "raised to 6: more begin at once")
		s.controls.SetConcurrency(plan.MaxConcurrency + 1)
		if result := s.finish(); result.Agents[0].Scorecard.PassedTrials != 16 {
			t.Errorf("got %+v", result.Agents[0].Scorecard)
		}
		if got := strings.Join(s.steering(t), ", "); got != "concurrency_changed false 1 0, concurrency_changed false 6 0, concurrency_changed false 256 0" {
			t.Errorf("stated: %s", got)
		}
	})
}

// TestPeersRunTogether whatever the concurrency is changed to: a group enters as one.
func TestPeersRunTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSteeredPack(t, nativePack, 3, plan.Options{Repetitions: 5, Concurrency: 6, PeerStandings: true, PeerGap: 1})
		s.start(t.Context())
		s.runs(6, 6, "two groups of three")
		s.controls.SetConcurrency(1)
		s.answers("right", "right", "right", "right", "right", "right")
		s.runs(3, 9, "one group, though one trial at once was asked for")
		s.controls.Pause(true)
		s.answers("right", "", "right")
		s.runs(0, 9, "paused")
		if n, err := s.controls.RetryInvalid(); n != 1 || err != nil {
			t.Errorf("retried %d, %v", n, err)
		}
		s.controls.SetConcurrency(100)
		s.controls.Pause(false)
		s.runs(7, 16, "all that is left")
		result := s.finish()
		for _, agent := range result.Agents {
			if agent.Scorecard.FailedTrials != 5 || len(agent.Invalid) > 0 {
				t.Errorf("%s: %+v", agent.Label, agent.Scorecard)
			}
		}
	})
}

// trialOf finds a trial of a case by what was stated.
func (h *harness) trialOf(caseKey string, repetition int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.facts {
		if e.CaseKey == caseKey && e.Repetition == repetition {
			return e.TrialID
		}
	}
	return ""
}

func TestOneTrialIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t, 1, plan.Options{Repetitions: 2, Concurrency: 3, RetryInvalid: 1})
		if err := s.controls.CancelTrial("id-0001"); err == nil {
			t.Error("a trial of a run that has not begun is cancelled")
		}
		s.linger = make(chan struct{})
		s.start(t.Context())
		s.runs(3, 3, "at first")
		id := s.trialOf("large", 1)
		for range 2 { // twice is once, while it runs
			if err := s.controls.CancelTrial(id); err != nil {
				t.Error(err)
			}
		}
		close(s.linger)
		s.runs(3, 4, "the others go on, and the next begins")
		for _, c := range []struct{ id, want string }{{id, "it does not run"}, {"nobody", "no such trial"}} {
			if err := s.controls.CancelTrial(c.id); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("cancel %s: got %v", c.id, err)
			}
		}
		result := s.finish()
		if card := result.Agents[0].Scorecard; result.Status != "completed" || card.PassedTrials != 3 || card.InvalidTrials != 1 || len(result.Agents[0].Invalid) != 1 {
			t.Errorf("got %s with %+v", result.Status, card)
		}
		got := result.Agents[0].Invalid[0]
		if got.TrialID != id || got.Code != "cancelled" || got.Phase != "agent" || got.StopReason != "cancelled" || got.Attempt != 1 {
			t.Errorf("got %+v", got)
		}
		if stated := s.steering(t); len(stated) != 1 || !strings.HasPrefix(stated[0], event.ActionCancelTrial) {
			t.Errorf("stated: %v", stated)
		}
		if err := s.controls.CancelTrial(id); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("after the run: %v", err)
		}
	})
}

// TestACancelledTrialIsInAPhase, and its box is removed.
func TestACancelledTrialIsInAPhase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op    sandboxtest.Op
		phase string
		boxes int
	}{{sandboxtest.OpOpen, "sandbox", 0}, {sandboxtest.OpWrite, "agent", 1}, {sandboxtest.OpQuiesce, "verification", 1}, {sandboxtest.OpRead, "verification", 1}} {
		h, boxes := native(t, writeAndSubmit)
		h.controls = new(engine.Controls)
		gate := boxes.Block(c.op, 1)
		planned := h.plan(t)
		cancelled := make(chan error, 1)
		go func() {
			<-gate.Reached()
			cancelled <- h.controls.CancelTrial(planned.Trials[0].ID)
		}()
		result := h.runPlan(t, t.Context(), planned)
		if err := <-cancelled; err != nil {
			t.Errorf("%s: %v", c.op, err)
		}
		trial := h.only(t)
		if trial.Outcome != scoring.OutcomeInvalid || trial.Code != "cancelled" || trial.Phase != c.phase {
			t.Errorf("%s: got %s %s in %s (%s)", c.op, trial.Outcome, trial.Code, trial.Phase, trial.Reason)
		}
		if result.Status != "failed" || result.Agents[0].Cause != "cancelled" {
			t.Errorf("%s: a run without a valid trial is %s for %q", c.op, result.Status, result.Agents[0].Cause)
		}
		if len(boxes.Boxes()) != c.boxes || c.boxes > 0 && !boxes.Boxes()[0].Closed() {
			t.Errorf("%s: %d boxes", c.op, len(boxes.Boxes()))
		}
	}
}

// TestACancelledTrialWhileItIsJudged keeps what the agent did, and stays invalid when
// it is scored again.
func TestACancelledTrialWhileItIsJudged(t *testing.T) {
	t.Parallel()
	h := judged(t, strings.Replace(ranked, "mode: n_wise", "mode: rubric, rubric: 'kind'", 1), "", kinder, says("dear"))
	h.controls = new(engine.Controls)
	asked := make(chan struct{}, 9)
	h.judges["gpt-judge"] = modelFunc(func(ctx context.Context, _ provider.Request) (provider.Response, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return provider.Response{}, provider.FromContext(ctx, provider.OpenAI)
	})
	planned := h.plan(t)
	go func() {
		<-asked
		if err := h.controls.CancelTrial(planned.Trials[0].ID); err != nil {
			t.Error(err)
		}
	}()
	h.runPlan(t, t.Context(), planned)
	trial := h.only(t)
	if trial.Outcome != scoring.OutcomeInvalid || trial.Code != "cancelled" || trial.Phase != scoring.PhaseScoring || trial.Usage.TotalTokens != 15 {
		t.Errorf("got %+v", trial)
	}
}

func TestInvalidTrialsAreRunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t, 1, plan.Options{Repetitions: 2, Concurrency: 2})
		s.start(t.Context())
		s.answers("", "", "right")
		s.runs(1, 4, "two are invalid, and the last runs")
		for _, want := range []int{2, 0} {
			if n, err := s.controls.RetryInvalid(); n != want || err != nil {
				t.Errorf("got %d, %v; want %d", n, err, want)
			}
		}
		s.runs(2, 5, "the first of them runs again")
		result := s.finish()
		card := result.Agents[0].Scorecard
		if result.Status != "completed" || card.PassedTrials != 4 || card.Trials != 4 || len(result.Agents[0].Invalid) > 0 {
			t.Errorf("got %s with %+v", result.Status, card)
		}
		attempts := map[int]int{}
		for _, trial := range s.trials(t) {
			attempts[trial.Attempt]++
		}
		if attempts[1] != 4 || attempts[2] != 2 {
			t.Errorf("attempts: %v", attempts)
		}
	})
}

// TestAnInterruptedRetry leaves the run unfinished: the trial is owed its attempt.
func TestAnInterruptedRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newSteered(t, 1, plan.Options{Repetitions: 1, Concurrency: 2})
		s.start(ctx)
		s.answers("")
		s.controls.Pause(true)
		if n, err := s.controls.RetryInvalid(); n != 1 || err != nil {
			t.Fatalf("got %d, %v", n, err)
		}
		s.answers("right")
		cancel(engine.ErrInterrupted)
		result := <-s.ended
		if result.Status != "interrupted" || len(result.Agents[0].Invalid) != 1 || result.Agents[0].Scorecard.InvalidTrials != 1 {
			t.Errorf("got %+v", result)
		}
	})
}

// TestTrialsThatCannotBeRunAgain are refused with the reason.
func TestTrialsThatCannotBeRunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t, 2, plan.Options{Repetitions: 2, Concurrency: 1})
		s.start(t.Context())
		s.answers("auth")
		if n, err := s.controls.RetryInvalid(); n != 0 || err == nil || !strings.Contains(err.Error(), "key") {
			t.Errorf("an agent that cannot work: %d, %v", n, err)
		}
		s.finish()
		if got := s.steering(t); len(got) > 0 {
			t.Errorf("stated: %v", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newSteered(t, 1, plan.Options{Repetitions: 1, Concurrency: 1})
		s.plan = deciding(t, s.harness, nil)
		s.start(t.Context())
		s.answers("")
		if n, err := s.controls.RetryInvalid(); n != 0 || err == nil || !strings.Contains(err.Error(), "decided") {
			t.Errorf("a run that goes on until it is decided: %d, %v", n, err)
		}
		if err := s.controls.CancelTrial(s.facts[len(s.facts)-1].TrialID); err != nil { // the one that runs
			t.Error(err)
		}
		s.controls.SetConcurrency(4)
		if result := s.finish(); result.Status != "completed" || !result.Over || result.Agents[0].Scorecard.InvalidTrials != 2 {
			t.Errorf("got %+v", result)
		}
	})
}

var errBroken = errors.New("broken")

// TestATrialOfAGroupIsRankedLate: one that is run again is ranked with those that have
// been scored meanwhile.
func TestATrialOfAGroupIsRankedLate(t *testing.T) {
	t.Parallel()
	h := judged(t, ranked, "", kinder, says("Hey a"), says("dear dear a"), says("dear a"))
	h.controls, h.options.Concurrency, h.options.RetryInvalid, h.options.Repetitions = new(engine.Controls), 2, 0, 2
	inner, failed := h.clients[2], false
	gate := make(chan struct{})
	h.clients[2] = modelFunc(func(ctx context.Context, req provider.Request) (provider.Response, error) {
		switch {
		case req.Ref.Repetition == 1 && !failed:
			failed = true
			return provider.Response{}, &provider.Error{Provider: provider.Scripted, Code: provider.MalformedResponse, Err: errBroken, Message: "cut"}
		case req.Ref.Repetition == 2:
			<-gate // the run goes on until the first group is ranked
		}
		return inner.Complete(ctx, req, nil)
	})
	settled := make(chan struct{}, 99)
	h.onFact = func(e event.Event) {
		if e.Type == event.TrialDone && e.Repetition == 1 {
			settled <- struct{}{}
		}
	}
	go func() {
		for range 3 {
			<-settled
		}
		if n, err := h.controls.RetryInvalid(); n != 1 || err != nil {
			t.Errorf("retried %d, %v", n, err)
		}
		close(gate)
	}()
	result := h.run(t)
	for lane, want := range []float64{0, 1, 0.5} {
		card := result.Agents[lane].Scorecard
		if card.InvalidTrials != 0 || card.Trials != 2 {
			t.Errorf("lane %d: %+v", lane, card)
		}
		if d := card.Dimensions[1]; lane == 2 && (d.Score == nil || *d.Score != want) {
			t.Errorf("lane %d: got %v, want %v", lane, *d.Score, want)
		}
	}
}
