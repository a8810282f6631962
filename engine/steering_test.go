package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// TestRandomSteering changes a run of many trials at random while it goes on, from
// several goroutines, and holds what came of it against what was stated.
func TestRandomSteering(t *testing.T) {
	t.Parallel()
	total := map[string]int{}
	for seed := range uint64(rounds(4, 40)) {
		random := rand.New(rand.NewPCG(seed, 5))
		h := steeredAtRandom(t, seed, random)
		planned := h.plan(t)
		ctx, over := context.WithCancel(t.Context())
		var hands sync.WaitGroup
		told := make(chan struct{}, 1<<16)
		h.onFact = func(event.Event) {
			select {
			case told <- struct{}{}:
			default:
			}
		}
		for hand := range uint64(3) {
			hands.Go(func() { h.steerAtRandom(ctx, told, rand.New(rand.NewPCG(seed, hand))) })
		}
		result := h.runOnly(t, t.Context(), planned)
		over()
		hands.Wait()
		h.scoreAgain(t, planned)
		adjusted := h.checkSteered(t, planned, result)
		t.Logf("seed %d: %d trials, peers %v: %v", seed, len(planned.Trials), h.options.PeerStandings, adjusted)
		for action, n := range adjusted {
			total[action] += n
		}
	}
	for _, action := range []string{event.ActionPaused, event.ActionResumed, event.ActionConcurrency, event.ActionCancelTrial, event.ActionRetry} {
		if total[action] == 0 {
			t.Errorf("nothing was %s: too little was steered to mean anything: %v", action, total)
		}
	}
}

// steeredAtRandom is a run whose model is often broken.
func steeredAtRandom(t *testing.T, seed uint64, random *rand.Rand) *harness {
	t.Helper()
	h := newHarness(parse(t, nativePack))
	if seed%4 == 3 {
		h = judged(t, ranked, "", kinder)
	}
	h.boxes, h.controls = sandboxtest.Memory(), new(engine.Controls)
	h.options = plan.Options{Repetitions: rounds(40, 100), Concurrency: 1 + random.IntN(20), RetryInvalid: random.IntN(2), MinPassRate: 1, PeerStandings: seed%4 == 1, PeerGap: 1}
	var mu sync.Mutex
	for i := range 3 {
		h.agents = append(h.agents, plan.Deployment{Name: fmt.Sprint("d", i), Provider: provider.Scripted, Model: "agent.yaml"})
		h.clients = append(h.clients, modelFunc(func(ctx context.Context, req provider.Request) (provider.Response, error) {
			mu.Lock()
			luck, steps := random.IntN(10), random.IntN(60)
			mu.Unlock()
			for range steps { // others go on meanwhile
				if ended := provider.FromContext(ctx, provider.Scripted); ended != nil {
					return provider.Response{}, ended
				}
				runtime.Gosched()
			}
			if luck < 2 {
				return provider.Response{}, &provider.Error{Provider: provider.Scripted, Code: provider.MalformedResponse, Message: "cut"}
			}
			if len(req.Tools) == 0 {
				return provider.Response{Text: strings.Repeat("dear ", luck), Finish: provider.FinishStop}, nil
			}
			return provider.Response{Finish: provider.FinishToolCalls, ToolCalls: []provider.ToolCall{{ID: "1", Name: "submit", Arguments: []byte(`{"answer":"done"}`)}}}, nil
		}))
	}
	return h
}

// steerAtRandom does something now and then as the run comes further, and never leaves it
// paused.
func (h *harness) steerAtRandom(ctx context.Context, told <-chan struct{}, random *rand.Rand) {
	for {
		select {
		case <-told: // the run has come further
		case <-ctx.Done():
			return
		}
		switch random.IntN(40) {
		case 0:
			h.controls.Pause(true)
			for range random.IntN(100) {
				runtime.Gosched()
			}
			h.controls.Pause(false)
		case 1:
			h.controls.SetConcurrency(random.IntN(24) - 2)
		case 2:
			_, _ = h.controls.RetryInvalid()
		case 3, 4, 5:
			if id := h.oneThatRuns(random); id != "" {
				_ = h.controls.CancelTrial(id) // unless it has ended meanwhile
			}
		}
	}
}

// oneThatRuns is the trial of a fact among the last ones.
func (h *harness) oneThatRuns(random *rand.Rand) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for back := range min(len(h.facts), 20) {
		if e := h.facts[len(h.facts)-1-back]; e.TrialID != "" && e.Type != event.TrialDone && random.IntN(4) == 0 {
			return e.TrialID
		}
	}
	return ""
}

// checkSteered returns how often each thing was done.
func (h *harness) checkSteered(t *testing.T, planned *plan.Plan, result engine.Result) map[string]int {
	t.Helper()
	adjusted, again, cancelled := map[string]int{}, 0, 0
	last := map[string]event.TrialEnd{}
	facts, more := int64(0), 0
	for _, e := range h.facts {
		if e.TrialID == "" {
			if facts++; e.Sequence != facts {
				t.Fatalf("the run's fact %d has the number %d", facts, e.Sequence)
			}
		}
		switch e.Type {
		case event.RunAdjusted:
			a, err := event.Decode[event.Adjustment](e)
			if err != nil || a.Concurrency < 1 || a.Concurrency > plan.MaxConcurrency {
				t.Errorf("%s: %v", e.Payload, err)
			}
			adjusted[a.Action]++
			again += a.Trials
		case event.TrialDone:
			end, err := event.Decode[event.TrialEnd](e)
			if err != nil {
				t.Fatal(err)
			}
			before, ended := last[end.TrialID]
			if end.Attempt != before.Attempt+1 || before.Outcome != "" && before.Outcome != scoring.OutcomeInvalid {
				t.Errorf("trial %s: attempt %d comes after attempt %d, which is %s", end.TrialID, end.Attempt, before.Attempt, before.Outcome)
			}
			if ended && !before.WillRetry {
				more++
			}
			if end.Code == "cancelled" {
				cancelled++
			}
			if end.Code == "cancelled" && end.WillRetry {
				t.Errorf("trial %s is tried again though it was cancelled", end.TrialID)
			}
			last[end.TrialID] = end
		}
	}
	if more != again || cancelled != adjusted[event.ActionCancelTrial] {
		t.Errorf("%d trials were run again, and %d are said to be; %d were cancelled, and %d are said to be", more, again, cancelled, adjusted[event.ActionCancelTrial])
	}
	outcomes := map[scoring.Outcome]int{}
	for id, end := range last {
		outcomes[end.Outcome]++
		if end.WillRetry {
			t.Errorf("trial %s is owed an attempt", id)
		}
	}
	got, listed := map[scoring.Outcome]int{}, 0
	for _, agent := range result.Agents {
		got[scoring.OutcomePassed] += agent.Scorecard.PassedTrials
		got[scoring.OutcomeFailed] += agent.Scorecard.FailedTrials
		got[scoring.OutcomeInvalid] += agent.Scorecard.InvalidTrials
		listed += len(agent.Invalid)
	}
	for _, o := range []scoring.Outcome{scoring.OutcomePassed, scoring.OutcomeFailed, scoring.OutcomeInvalid} {
		if got[o] != outcomes[o] {
			t.Errorf("%d trials are %s, and %d are counted", outcomes[o], o, got[o])
		}
	}
	if len(last) != len(planned.Trials) || listed != outcomes[scoring.OutcomeInvalid] || result.Status != "completed" {
		t.Errorf("%d of %d trials have ended, %d invalid ones are listed of %d, the run is %s", len(last), len(planned.Trials), listed, outcomes[scoring.OutcomeInvalid], result.Status)
	}
	return adjusted
}
