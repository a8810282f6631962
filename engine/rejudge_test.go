package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// asking is a finished run that is scored by another pack.
type asking struct {
	*harness
	plan   *plan.Plan
	pack   *pack.Pack
	judges map[string]provider.Client
}

func (a asking) rescoring(t *testing.T) *engine.Rescoring {
	t.Helper()
	r, err := engine.NewRescoring(*a.plan, a.harness.pack, a.pack)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (a asking) stored(t *testing.T) []engine.StoredTrial {
	t.Helper()
	var list []engine.StoredTrial
	for i, trial := range a.trials(t) {
		s := engine.StoredTrial{Lane: i, Ended: trial}
		for _, e := range a.facts {
			if e.TrialID == trial.TrialID && e.Type != event.TrialDone {
				s.Events = append(s.Events, e)
			}
		}
		list = append(list, s)
	}
	return list
}

// ask asks what is open, and keeps the answers as later facts.
func (a asking) ask(t *testing.T) (open scoring.Judging, asked engine.Asked) {
	t.Helper()
	j, err := a.rescoring(t).Judging(nil)
	if err != nil {
		t.Fatal(err)
	}
	stored := a.stored(t)
	if open, err = j.Open(stored); err != nil {
		t.Fatal(err)
	}
	deps := engine.Deps{Judges: a.judges, Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	asked, err = j.Ask(t.Context(), stored, deps, func(facts []event.Event) error {
		for _, e := range facts {
			e.Sequence = 1000 + int64(len(a.facts))
			a.facts = append(a.facts, e)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return open, asked
}

// scores are what the run's trials come to now.
func (a asking) scores(t *testing.T) string {
	t.Helper()
	var list []string
	for _, s := range a.stored(t) {
		trial, scored, err := a.rescoring(t).Trial(s.Ended, s.Events)
		if err != nil || !scored {
			t.Fatal(scored, err)
		}
		word := string(trial.Outcome) + " none"
		if v := trial.Scorecard.Judges[0].NormalizedScore; v != nil {
			word = fmt.Sprintf("%s %g", trial.Outcome, *v)
		}
		list = append(list, word)
	}
	return strings.Join(list, ", ")
}

// What judges are asked later becomes evidence when it is answered, and leaves
// nothing behind when it is not.
func TestRejudging(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, judge, changed   string
		answer, later          func(openaitest.Request) openaitest.Reply
		before, unasked, after string
		questions              int
	}{
		{"a rubric", fmt.Sprintf(rubricJudge, 3), strings.Replace(fmt.Sprintf(rubricJudge, 3), "kind", "short", 1),
			replying(`{"score": 5}`), replying(`{"score": 1}`), "passed 1, passed 1", "invalid none, invalid none", "failed 0, failed 0", 6},
		{"a ranking", ranked, strings.Replace(ranked, "kinder", "shorter", 1),
			kinder, replying(`{"ranking": ["A", "B"]}`), "passed 1, failed 0", "invalid none, invalid none", "passed 0.5, passed 0.5", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := judged(t, c.judge, "", c.answer, says("dear a"), says("a"))
			planned := h.plan(t)
			h.runPlan(t, t.Context(), planned)
			same := asking{harness: h, plan: planned, pack: h.pack, judges: h.judges}
			if open, _ := same.ask(t); open.Calls != 0 || same.scores(t) != c.before {
				t.Fatalf("%d questions are open, and the trials are %s, want %s", open.Calls, same.scores(t), c.before)
			}
			down := asking{harness: h, plan: planned,
				pack:   judged(t, c.changed, "", c.later, says("a")).pack,
				judges: judged(t, c.changed, "", func(openaitest.Request) openaitest.Reply { return openaitest.Error(503, "server_error", "", "no") }, says("a")).judges,
			}
			facts := len(h.facts)
			if open, asked := down.ask(t); open.Calls != c.questions || asked.Unanswered == 0 || asked.Why == "" || len(h.facts) != facts {
				t.Errorf("%d questions, %+v, %d new facts", open.Calls, asked, len(h.facts)-facts)
			}
			if got := down.scores(t); got != c.unasked {
				t.Errorf("unanswered: got %s, want %s", got, c.unasked)
			}
			up := down
			up.judges = judged(t, c.changed, "", c.later, says("a")).judges
			if _, asked := up.ask(t); asked.Unanswered != 0 || asked.Used == nil || asked.Used.Calls != c.questions {
				t.Errorf("got %+v", asked)
			}
			if got := up.scores(t); got != c.after {
				t.Errorf("answered: got %s, want %s", got, c.after)
			}
			if open, _ := up.ask(t); open.Calls != 0 {
				t.Errorf("%d questions are open after all were answered", open.Calls)
			}
			if got := same.scores(t); got != c.before {
				t.Errorf("by its own pack the run is %s now, it was %s", got, c.before)
			}
		})
	}
}
