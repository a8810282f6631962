package plan_test

import (
	"slices"
	"testing"

	"github.com/agentclash/agentclash/engine/plan"
)

// TestObstacles is what can be done with which run.
func TestObstacles(t *testing.T) {
	t.Parallel()
	uses := map[string]plan.Use{
		"tape": plan.Tape, "cache": plan.Cached, "borrow": plan.Borrow, "lend": plan.Lend, "resume": plan.Resume, "retry": plan.Retry,
	}
	program := plan.RunAgent{Label: "a", Deployment: plan.Deployment{Kind: plan.KindCommand}}
	for name, c := range map[string]struct {
		plan   plan.Plan
		cannot []string // sorted
	}{
		"a run":      {plan.Plan{}, nil},
		"a recorded": {plan.Plan{Recording: &plan.Recording{Mode: plan.Recorded}}, []string{"borrow"}},
		"a replay":   {plan.Plan{Recording: &plan.Recording{Mode: plan.Replayed}}, []string{"borrow", "lend", "resume", "retry"}},
		"a cached":   {plan.Plan{Cache: true}, []string{"lend"}},
		"standings":  {plan.Plan{Options: plan.Options{PeerStandings: true}}, []string{"borrow", "lend", "tape"}},
		"a program":  {plan.Plan{Agents: []plan.RunAgent{program}}, []string{"cache"}},
	} {
		var cannot []string
		for use, u := range uses {
			if o := c.plan.Obstacle(u); o != nil {
				cannot = append(cannot, use)
				if o.Why == "" || u != plan.Lend && o.Instead == "" {
					t.Errorf("%s, %s: nothing is said of why, or of what to do: %+v", name, use, o)
				}
			}
		}
		slices.Sort(cannot)
		if !slices.Equal(cannot, c.cannot) {
			t.Errorf("%s: cannot %v, want %v", name, cannot, c.cannot)
		}
	}
}
