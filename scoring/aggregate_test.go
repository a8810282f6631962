package scoring_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

// attempt is a finished attempt with a scorecard of one dimension.
func attempt(kase string, repetition, number int, outcome scoring.Outcome, score float64) scoring.Trial {
	return scoring.Trial{
		CaseKey: kase, Repetition: repetition, Attempt: number, Outcome: outcome,
		CostUSD: new(0.5), LatencyMS: new(int64(100)), Usage: scoring.Usage{InputTokens: 10, OutputTokens: 5, TotalTokens: 15},
		Scorecard: &scoring.Scorecard{
			OverallScore: &score, Validity: scoring.ValidityValid,
			Dimensions: []scoring.DimensionResult{{Key: "correctness", State: scoring.Available, Score: &score}},
		},
	}
}

func lacking(t scoring.Trial, agentFault bool) scoring.Trial {
	t.Scorecard = &scoring.Scorecard{Validity: scoring.ValidityDegraded, Dimensions: []scoring.DimensionResult{
		{Key: "correctness", State: scoring.Unavailable, AgentFault: agentFault},
	}}
	return t
}

// With one case and one repetition every number is the trial's.
func TestAggregateOfOne(t *testing.T) {
	t.Parallel()
	one := attempt("a", 1, 1, scoring.OutcomePassed, 0.7)
	want := scoring.AgentScorecard{
		OverallScore: new(0.7), Passed: true, PassRate: new(1.0), Validity: "valid", Headline: "passed",
		Trials: 1, PassedTrials: 1, Usage: one.Usage, CostUSD: new(0.5), SpentUSD: new(0.5), LatencyMS: new(100.0),
		Dimensions: []scoring.AggregateDimension{{Key: "correctness", Score: new(0.7), State: scoring.Available, N: 1}},
	}
	if diff := cmp.Diff(want, scoring.Aggregate(oneValidator(), []scoring.Trial{one}, 1)); diff != "" {
		t.Errorf("aggregate (-want +got):\n%s", diff)
	}
}

func TestAggregateOfNothing(t *testing.T) {
	t.Parallel()
	want := scoring.AgentScorecard{
		Validity: "invalid", Headline: "degraded", SpentUSD: new(0.0),
		Dimensions: []scoring.AggregateDimension{{Key: "correctness", State: scoring.Unavailable}},
	}
	if diff := cmp.Diff(want, scoring.Aggregate(oneValidator(), nil, 1)); diff != "" {
		t.Errorf("aggregate (-want +got):\n%s", diff)
	}
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	passed, failed, invalid := scoring.OutcomePassed, scoring.OutcomeFailed, scoring.OutcomeInvalid
	first, second := attempt("a", 1, 1, invalid, 0), attempt("a", 1, 2, passed, 1)
	unpriced := attempt("b", 1, 1, passed, 1)
	unpriced.CostUSD = nil
	early := attempt("b", 1, 1, failed, 0)
	early.Scorecard = nil
	running := attempt("b", 1, 1, "", 0)
	degraded := attempt("b", 1, 1, passed, 1)
	degraded.Scorecard.Validity = scoring.ValidityDegraded
	for _, c := range []struct {
		name        string
		trials      []scoring.Trial
		minPassRate float64
		want        string
	}{
		{"both pass", []scoring.Trial{attempt("a", 1, 1, passed, 1), attempt("b", 1, 1, passed, 0.5)}, 1,
			"2 trials 2/0/0, overall 0.75, rate 1, passed valid passed, n 2, cost 1, spent 1, 30 tokens"},
		{"one fails", []scoring.Trial{attempt("a", 1, 1, passed, 1), attempt("b", 1, 1, failed, 0)}, 1,
			"2 trials 1/1/0, overall 0.5, rate 0.5, failed valid failed, n 2, cost 1, spent 1, 30 tokens"},
		{"one fails, half is enough", []scoring.Trial{attempt("a", 1, 1, passed, 1), attempt("b", 1, 1, failed, 0)}, 0.5,
			"2 trials 1/1/0, overall 0.5, rate 0.5, passed valid passed, n 2, cost 1, spent 1, 30 tokens"},
		{"repetitions are trials", []scoring.Trial{attempt("a", 1, 1, passed, 1), attempt("a", 2, 1, failed, 0)}, 1,
			"2 trials 1/1/0, overall 0.5, rate 0.5, failed valid failed, n 2, cost 1, spent 1, 30 tokens"},
		{"the last attempt decides, both are spent", []scoring.Trial{first, second}, 1,
			"1 trials 1/0/0, overall 1, rate 1, passed valid passed, n 1, cost 0.5, spent 1, 15 tokens"},
		{"whichever comes first", []scoring.Trial{second, first}, 1,
			"1 trials 1/0/0, overall 1, rate 1, passed valid passed, n 1, cost 0.5, spent 1, 15 tokens"},
		{"an invalid one is left out and shows", []scoring.Trial{attempt("a", 1, 1, passed, 1), attempt("b", 1, 1, invalid, 0)}, 1,
			"2 trials 1/0/1, overall 1, rate 1, passed degraded degraded, n 1, cost 0.5, spent 1, 15 tokens"},
		{"nothing but invalid ones", []scoring.Trial{attempt("a", 1, 1, invalid, 0)}, 0,
			"1 trials 0/0/1, overall none, rate none, failed invalid degraded, n 0, cost none, spent 0.5, 0 tokens"},
		{"what the agent did not produce counts 0", []scoring.Trial{attempt("a", 1, 1, passed, 1), lacking(attempt("b", 1, 1, failed, 0), true)}, 1,
			"2 trials 1/1/0, overall 0.5, rate 0.5, failed degraded degraded, n 2, cost 1, spent 1, 30 tokens"},
		{"what is unknown for another reason does not count", []scoring.Trial{attempt("a", 1, 1, passed, 1), lacking(attempt("b", 1, 1, failed, 0), false)}, 1,
			"2 trials 1/1/0, overall 1, rate 0.5, failed degraded degraded, n 1, cost 1, spent 1, 30 tokens"},
		{"an agent that failed before there was a scorecard", []scoring.Trial{attempt("a", 1, 1, passed, 1), early}, 1,
			"2 trials 1/1/0, overall 0.5, rate 0.5, failed degraded degraded, n 2, cost 1, spent 1, 30 tokens"},
		{"a degraded scorecard degrades", []scoring.Trial{attempt("a", 1, 1, passed, 1), degraded}, 1,
			"2 trials 2/0/0, overall 1, rate 1, passed degraded degraded, n 2, cost 1, spent 1, 30 tokens"},
		{"a sum with an unknown part is unknown", []scoring.Trial{attempt("a", 1, 1, passed, 1), unpriced}, 1,
			"2 trials 2/0/0, overall 1, rate 1, passed valid passed, n 2, cost none, spent none, 30 tokens"},
		{"an unfinished one is only spent", []scoring.Trial{attempt("a", 1, 1, passed, 1), running}, 1,
			"1 trials 1/0/0, overall 1, rate 1, passed valid passed, n 1, cost 0.5, spent 1, 15 tokens"},
	} {
		got := summary(scoring.Aggregate(oneValidator(), c.trials, c.minPassRate))
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func summary(c scoring.AgentScorecard) string {
	verdict := "failed"
	if c.Passed {
		verdict = "passed"
	}
	return fmt.Sprintf("%d trials %d/%d/%d, overall %s, rate %s, %s %s %s, n %d, cost %s, spent %s, %d tokens",
		c.Trials, c.PassedTrials, c.FailedTrials, c.InvalidTrials, show(c.OverallScore), show(c.PassRate), verdict,
		c.Validity, c.Headline, c.Dimensions[0].N, show(c.CostUSD), show(c.SpentUSD), c.Usage.TotalTokens)
}

// Trials end in any order; the aggregate is the same to the last bit.
func TestAggregateDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var trials []scoring.Trial
	for i := range 200 {
		for n := range 1 + r.IntN(3) {
			tr := attempt(fmt.Sprint("case", i%70), i/70, n+1, []scoring.Outcome{"passed", "failed", "invalid"}[r.IntN(3)], r.Float64())
			tr.CostUSD = new(r.Float64())
			trials = append(trials, tr)
		}
	}
	want := scoring.Aggregate(oneValidator(), trials, 0.5)
	for range 20 {
		r.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
		if diff := cmp.Diff(want, scoring.Aggregate(oneValidator(), trials, 0.5)); diff != "" {
			t.Fatalf("another order (-first +now):\n%s", diff)
		}
	}
}

// A trial may have been scored by another spec: dimensions meet by their key.
func TestAggregateMatchesDimensionsByKey(t *testing.T) {
	t.Parallel()
	spec := oneValidator()
	spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "reliability"}, {Key: "correctness"}}
	got := scoring.Aggregate(spec, []scoring.Trial{attempt("a", 1, 1, scoring.OutcomePassed, 1)}, 1).Dimensions
	want := []scoring.AggregateDimension{{Key: "reliability", State: scoring.Unavailable}, {Key: "correctness", Score: new(1.0), State: scoring.Available, N: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dimensions (-want +got):\n%s", diff)
	}
}
