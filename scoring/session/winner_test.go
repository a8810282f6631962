package session

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// built is a session of one run, whose agents passed so many of n trials of each
// case.
func built(n int, passed map[string][]int) *Builder {
	b := NewBuilder(scoring.Spec{})
	labels := []string{}
	for label := range passed {
		labels = append(labels, label)
	}
	slices.Sort(labels)
	for lane, label := range labels {
		var cases []Case
		for i := range passed[label] {
			cases = append(cases, Case{Key: fmt.Sprint("c", i), Digest: "d"})
		}
		j := b.Join(Lane{Label: label, Index: lane, Cases: cases, Planned: n * len(cases), Repetitions: n})
		for i, ok := range passed[label] {
			j.Count(fmt.Sprint("c", i), ok, n-ok, 0)
		}
	}
	return b
}

func TestWinner(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		what                           string
		n                              int
		passed                         map[string][]int
		status, reason, winner, leader string
	}{
		{"nobody to compare with", 3, map[string][]int{"a": {3, 3}}, InsufficientEvidence, "participant_metrics_unavailable", "", ""},
		{"two cases, tried once, all one way", 1, map[string][]int{"a": {1, 1}, "b": {0, 0}}, NoClearWinner, "chance_not_excluded", "", "a"},
		{"one case, tried often", 10, map[string][]int{"a": {10}, "b": {1}}, ClearWinner, "better_than_all", "a", "a"},
		{"equal", 4, map[string][]int{"a": {4, 2}, "b": {2, 4}}, NoClearWinner, "tied", "", ""},
		{"better than one of two", 10, map[string][]int{"a": {10, 10}, "b": {9, 10}, "c": {1, 0}}, NoClearWinner, "chance_not_excluded", "", "a"},
		{"better than both", 10, map[string][]int{"a": {1, 1}, "b": {10, 10}, "c": {1, 0}}, ClearWinner, "better_than_all", "b", "b"},
	} {
		c := built(row.n, row.passed).Compare(Options{})
		if c.Status != row.status || c.Reason != row.reason || c.WinnerLabel != row.winner || c.LeaderLabel != row.leader {
			t.Errorf("%s: got %+v", row.what, c)
		}
		if want := len(row.passed) * (len(row.passed) - 1) / 2; len(c.Pairs) != want {
			t.Errorf("%s: got %d pairs", row.what, len(c.Pairs))
		}
		if strings.HasPrefix(c.Correction, "Holm") != (len(row.passed) > 2) {
			t.Errorf("%s: the correction is %s", row.what, c.Correction)
		}
	}
}

// Participants that share no case cannot be compared.
func TestWinnerNeedsSharedCases(t *testing.T) {
	t.Parallel()
	b := NewBuilder(scoring.Spec{})
	for i, label := range []string{"a", "b"} {
		j := b.Join(Lane{Label: label, Index: i, Cases: []Case{{Key: "c", Digest: label}}, Planned: 9, Repetitions: 9})
		j.Count("c", 9*(1-i), 9*i, 0)
	}
	if c := b.Compare(Options{}); c.Status != InsufficientEvidence || c.Reason != "task_evidence_insufficient" {
		t.Errorf("got %+v", c)
	}
	if w := b.Warnings(); len(w) != 1 || !strings.Contains(w[0], `["c"] changed between runs`) {
		t.Errorf("got %q", w)
	}
}

// TestUnequallyOften: who tried its cases more often than others is ordered by the k
// that all have, however large that is.
func TestUnequallyOften(t *testing.T) {
	t.Parallel()
	b := NewBuilder(scoring.Spec{})
	for i, p := range []struct {
		label     string
		passed, n int
	}{{"few", 6, 12}, {"many", 19, 20}} {
		j := b.Join(Lane{Label: p.label, Index: i, Cases: []Case{{Key: "c", Digest: "d"}}, Planned: p.n, Repetitions: p.n})
		j.Count("c", p.passed, p.n-p.passed, 0)
	}
	r := b.Result(Options{ReliabilityWeight: new(1.0)})
	if r.MetricRouting.EffectiveK != 12 || r.Source != ClearWinnerOnly {
		t.Fatalf("got %+v", r)
	}
	if _, ok := r.PassPowK.At(12); !ok || r.SeriesReport.Rows[0].Label != "many" || r.SeriesReport.Rows[0].Composite == nil {
		t.Errorf("got %+v in %+v", r.PassPowK.ByK, r.SeriesReport)
	}
}

// Alike participants are told apart in at most 5 % of sessions, and one that is
// better is found.
func TestWinnerHoldsItsErrorRate(t *testing.T) {
	t.Parallel()
	const sessions, cases, n = 400, 12, 3
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(rate float64) []int {
		list := make([]int, cases)
		for i := range list {
			for range n {
				if random.Float64() < rate {
					list[i]++
				}
			}
		}
		return list
	}
	alarms, found := 0, 0
	for range sessions {
		if built(n, map[string][]int{"a": draw(0.7), "b": draw(0.7), "c": draw(0.7)}).Compare(Options{}).Status == ClearWinner {
			alarms++
		}
		if built(n, map[string][]int{"a": draw(0.9), "b": draw(0.3), "c": draw(0.3)}).Compare(Options{}).WinnerLabel == "a" {
			found++
		}
	}
	if alarms > sessions/20 || found < sessions*8/10 {
		t.Errorf("of %d sessions %d had a false winner, and in %d the better one was found", sessions, alarms, found)
	}
}

// Labels of one spelling are one participant, trials that have not ended count as
// nothing, and warnings say what is missing.
func TestBuilderCountsWhatHasEnded(t *testing.T) {
	t.Parallel()
	spec := scoring.Spec{Scorecard: scoring.ScorecardSpec{Dimensions: []scoring.Dimension{{Key: "correctness", Source: "validators"}}}}
	b := NewBuilder(spec)
	for run, label := range []string{"Agent", "agent"} {
		j := b.Join(Lane{Label: label, Deployment: label, Cases: []Case{{"c", "d"}, {"e", "d"}}, Planned: 4, Repetitions: 2})
		for rep := 1; rep <= 2; rep++ {
			j.Add(scoring.Trial{CaseKey: "c", Repetition: rep, Outcome: scoring.OutcomePassed, CostUSD: new(0.5),
				Scorecard: &scoring.Scorecard{OverallScore: new(1.0), Dimensions: []scoring.DimensionResult{{Key: "correctness", State: scoring.Available, Score: new(0.5)}}}})
		}
		j.Add(scoring.Trial{CaseKey: "e", Repetition: 1, Outcome: scoring.OutcomeInvalid})
		if run == 0 {
			j.Add(scoring.Trial{CaseKey: "e", Repetition: 2, Outcome: scoring.OutcomeFailed}) // before there was anything to score: 0
		}
		j.Add(scoring.Trial{CaseKey: "e", Repetition: 2})
	}
	r := b.Result(Options{Runs: 2, Scored: 2})
	p := r.Participants[0]
	if len(r.Participants) != 1 || r.Source != SoleParticipant || p.PassedTrials != 4 || p.FailedTrials != 1 || p.InvalidTrials != 2 || p.ObservedRuns != 2 || p.ObservedRepetitions != 4 {
		t.Errorf("got %+v", r)
	}
	near(t, "overall", p.Overall.Mean, 0.875) // 1, 0.5, 1, 1
	near(t, "correctness", p.Dimensions["correctness"].Mean, (0.5+0.25+0.5+0.5)/4)
	near(t, "cost", p.CostUSD.Total, 1.5) // one repetition has a trial without a price
	want := []string{"Agent: 2 deployments have this label: its runs were not of one agent", "Agent: 1 of 8 planned trials have not ended",
		"Agent: 2 invalid trials are in no number", "Agent: pass@k ends at k 1, as 1 of 2 cases have no more valid trials; others have up to 4",
		"Agent: its repetitions have 1 to 2 valid trials: the mean over repetitions is not that over trials"}
	if w := b.Warnings(); !slices.Equal(w, want) {
		t.Errorf("got %q", w)
	}
}
