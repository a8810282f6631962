package compare_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// judged is a trial with one validator, one dimension and one metric.
func judged(outcome scoring.Outcome, score float64, reason string) scoring.Trial {
	return scoring.Trial{TrialID: "t", CaseKey: "c", Repetition: 2, Outcome: outcome, Scorecard: &scoring.Scorecard{
		OverallScore: &score,
		Validators:   []scoring.ValidatorResult{{Key: "v", State: scoring.Available, Verdict: "fail", NormalizedScore: &score, Reason: reason}},
		Dimensions:   []scoring.DimensionResult{{Key: "d", State: scoring.Available, Score: &score}},
		Metrics:      []scoring.MetricResult{{Key: "m", State: scoring.Available, Value: score}},
	}}
}

func TestRescored(t *testing.T) {
	t.Parallel()
	same := judged(scoring.OutcomeFailed, 0.5, "one reason")
	for name, row := range map[string]struct {
		after            scoring.Trial
		changed, flipped bool
		shifts           int
	}{
		"the same":           {judged(scoring.OutcomeFailed, 0.5, "one reason"), false, false, 0},
		"another word":       {judged(scoring.OutcomeFailed, 0.5, "another reason"), false, false, 0},
		"another score":      {judged(scoring.OutcomeFailed, 0.25, "one reason"), true, false, 3},
		"another outcome":    {judged(scoring.OutcomePassed, 0.5, "one reason"), true, true, 0},
		"another code":       {func() scoring.Trial { t := judged(scoring.OutcomeFailed, 0.5, ""); t.Code = "no_output"; return t }(), true, false, 0},
		"nothing was scored": {scoring.Trial{Outcome: scoring.OutcomeFailed}, true, false, 3},
	} {
		c, changed := compare.Rescored(same, row.after)
		if changed != row.changed || c.Flipped != row.flipped || len(c.Validators)+len(c.Dimensions)+len(c.Metrics) != row.shifts {
			t.Errorf("%s: got changed %v and %+v", name, changed, c)
		}
		back, changedBack := compare.Rescored(row.after, same)
		if changedBack != changed || back.Flipped != c.Flipped || len(back.Metrics) != len(c.Metrics) {
			t.Errorf("%s: the way back differs: %+v", name, back)
		}
	}
}

// A validator that only one of the specs has is shown without its other side;
// what is gone comes last.
func TestRescoredPairsByKey(t *testing.T) {
	t.Parallel()
	before, after := judged(scoring.OutcomePassed, 1, ""), judged(scoring.OutcomePassed, 1, "")
	before.Scorecard.Validators = append([]scoring.ValidatorResult{{Key: "gone", State: scoring.Available}}, before.Scorecard.Validators...)
	after.Scorecard.Validators = append(after.Scorecard.Validators, scoring.ValidatorResult{Key: "new", State: scoring.Unavailable, Reason: "never captured"})
	c, changed := compare.Rescored(before, after)
	want := []compare.Shift{
		{Key: "new", After: &compare.Reading{State: scoring.Unavailable, Reason: "never captured"}},
		{Key: "gone", Before: &compare.Reading{State: scoring.Available}},
	}
	if diff := gocmp.Diff(want, c.Validators); diff != "" || !changed {
		t.Errorf("changed %v (-want +got):\n%s", changed, diff)
	}
}
