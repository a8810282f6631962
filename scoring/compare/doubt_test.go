package compare_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// doubtOf finds a metric's row of the statistics.
func doubtOf(t *testing.T, c compare.Comparison, metric string) compare.Doubt {
	t.Helper()
	if c.Statistics == nil {
		t.Fatalf("no statistics: %s", c.Summary)
	}
	for _, r := range c.Statistics.Rows {
		if r.Metric == metric {
			return r
		}
	}
	t.Fatalf("no row for %s", metric)
	return compare.Doubt{}
}

// counted is a side whose cases passed "3/4" of their trials, the failed ones
// with a score of 0.
func counted(t *testing.T, run string, cases []string) compare.Snapshot {
	t.Helper()
	s, trials, keys := spec("correctness"), []scoring.Trial{}, []string{}
	for i, c := range cases {
		var passed, valid int
		if _, err := fmt.Sscanf(c, "%d/%d", &passed, &valid); err != nil {
			t.Fatalf("%q: %v", c, err)
		}
		key := fmt.Sprintf("case-%03d", i)
		keys = append(keys, key)
		for n := range valid {
			outcome, score := scoring.OutcomeFailed, 0.0
			if n < passed {
				outcome, score = scoring.OutcomePassed, 1
			}
			trials = append(trials, trial(s, key, n+1, outcome, scores{score}))
		}
		if valid == 0 {
			trials = append(trials, trial(s, key, 1, scoring.OutcomeInvalid, nil))
		}
	}
	return snapshot(run, s, planned(keys...), trials...)
}

func TestStatisticsVectors(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/statistics.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name                string
		Baseline, Candidate []string
		Metric, Method      string
		P                   *float64
		Conclusion, Reason  string
		Interval            []float64
	}
	d := yaml.NewDecoder(strings.NewReader(string(raw)))
	d.KnownFields(true)
	if err := d.Decode(&rows); err != nil || len(rows) < 8 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			t.Parallel()
			got := doubtOf(t, compare.Compare(counted(t, "b", row.Baseline), counted(t, "k", row.Candidate)), row.Metric)
			if got.Conclusion != row.Conclusion || !strings.Contains(got.Reason, row.Reason) {
				t.Errorf("got %s (%s), want %s (%s)", got.Conclusion, got.Reason, row.Conclusion, row.Reason)
			}
			switch {
			case row.P == nil && got.Test != nil:
				t.Errorf("got a test, want none: %+v", got.Test)
			case row.P != nil && (got.Test == nil || got.Test.Method != row.Method || math.Abs(got.Test.P-*row.P) > 5e-7):
				t.Errorf("got %+v, want %s p %v", got.Test, row.Method, *row.P)
			}
			if len(row.Interval) == 2 && (got.Interval == nil || math.Abs(got.Interval.Low-row.Interval[0]) > 5e-4 || math.Abs(got.Interval.High-row.Interval[1]) > 5e-4) {
				t.Errorf("got %+v, want %v", got.Interval, row.Interval)
			}
		})
	}
}

func TestHolmOverDimensions(t *testing.T) {
	t.Parallel()
	s, keys := spec("one", "two", "three"), []string{}
	var before, after []scoring.Trial
	for i := range 7 {
		key := fmt.Sprint(i)
		keys = append(keys, key)
		before = append(before, trial(s, key, 1, scoring.OutcomePassed, scores{1, 1, 0.5}))
		after = append(after, trial(s, key, 1, scoring.OutcomePassed, scores{0, 1, 0.5}))
	}
	c := compare.Compare(snapshot("b", s, planned(keys...), before...), snapshot("k", s, planned(keys...), after...))
	got := doubtOf(t, c, "one") // 7 of 7 fell: 2/2^7 = 0.015625, times 3
	if c.Statistics.Correction != "Holm over 3 dimensions" || got.Test.P != 0.015625 || *got.AdjustedP != 0.046875 || got.Conclusion != "worse" {
		t.Errorf("got %s, %+v of %+v", c.Statistics.Correction, got, got.Test)
	}
	if got := doubtOf(t, c, "two"); got.Conclusion != "~" || *got.AdjustedP != 1 || !strings.HasPrefix(got.Reason, "no difference") {
		t.Errorf("got %+v", got)
	}
}

func TestPropertyStatisticsMirror(t *testing.T) {
	opposite := map[string]string{"better": "worse", "worse": "better", "~": "~"}
	told := 0
	forRounds(t, func(t *testing.T, r *rand.Rand) {
		var keys []string
		for i := range 1 + r.IntN(60) {
			keys = append(keys, fmt.Sprintf("case-%d", i))
		}
		cases := planned(keys...)
		a, b := randomSide(r, "a", cases), randomSide(r, "b", cases)
		slices.Reverse(b.Cases)
		there, back := compare.Compare(a, b), compare.Compare(b, a)
		if there.Statistics.Seed != back.Statistics.Seed {
			t.Error("the seed depends on which side is which")
		}
		for i, d := range there.Statistics.Rows {
			got := back.Statistics.Rows[slices.IndexFunc(back.Statistics.Rows, func(x compare.Doubt) bool { return x.Metric == d.Metric })]
			if got.Conclusion != opposite[d.Conclusion] {
				t.Errorf("%s: %s turned round is %s", d.Metric, d.Conclusion, got.Conclusion)
			}
			if d.Conclusion != "~" {
				told++
			}
			if d.Test != nil && (d.Test.P != got.Test.P || *d.MeanDifference != -*got.MeanDifference) {
				t.Errorf("%d %s: %+v turned round is %+v", i, d.Metric, d.Test, got.Test)
			}
			if d.Interval != nil && (math.Abs(d.Interval.Low+got.Interval.High) > 1e-9 || math.Abs(d.Interval.High+got.Interval.Low) > 1e-9) {
				t.Errorf("%s: %+v turned round is %+v", d.Metric, d.Interval, got.Interval)
			}
		}
	})
	if told == 0 {
		t.Error("nothing was ever told apart")
	}
}

func TestPropertyIdenticalSidesAreNotToldApart(t *testing.T) {
	forRounds(t, func(t *testing.T, r *rand.Rand) {
		side := randomSide(r, "same", randomCases(r))
		for _, d := range compare.Compare(side, side).Statistics.Rows {
			if d.Conclusion != "~" || d.Reason == "" || d.Test != nil && (d.Test.P != 1 || *d.AdjustedP != 1) {
				t.Errorf("got %+v", d)
			}
		}
	})
}

// A cost that a file states as absurdly large is no number in the document.
func TestStatisticsOfHugeNumbers(t *testing.T) {
	t.Parallel()
	a, b := counted(t, "a", slices.Repeat([]string{"1/1"}, 8)), counted(t, "b", slices.Repeat([]string{"1/1"}, 8))
	for i := range a.Cases {
		a.Cases[i].CostUSD = compare.Mean{Value: new(-math.MaxFloat64), N: 1}
		b.Cases[i].CostUSD = compare.Mean{Value: new(math.MaxFloat64), N: 1}
		a.Cases[i].LatencyMS = compare.Mean{Value: new(1e308 * float64(i%2)), N: 1}
		b.Cases[i].LatencyMS = compare.Mean{Value: new(1.0), N: 1}
	}
	if _, err := json.Marshal(compare.Compare(a, b)); err != nil {
		t.Error(err)
	}
}

func TestStabilityOfRepeatedCases(t *testing.T) {
	t.Parallel()
	c := compare.Compare(counted(t, "b", []string{"4/4", "2/4", "0/4"}), counted(t, "k", []string{"4/4", "3/3", "1/4"}))
	want := &compare.Stability{
		Baseline:  compare.SideStability{Always: 1, Sometimes: 1, Never: 1},
		Candidate: compare.SideStability{Always: 2, Sometimes: 1},
		Repeated: []compare.PassK{ // by hand: 1-C(n-c,k)/C(n,k) and C(c,k)/C(n,k)
			{K: 1, BaselinePassAtK: 1.5 / 3, CandidatePassAtK: 2.25 / 3, BaselinePassPowK: 1.5 / 3, CandidatePassPowK: 2.25 / 3},
			{K: 2, BaselinePassAtK: (1 + 5.0/6) / 3, CandidatePassAtK: 2.5 / 3, BaselinePassPowK: (1 + 1.0/6) / 3, CandidatePassPowK: 2.0 / 3},
			{K: 3, BaselinePassAtK: 2.0 / 3, CandidatePassAtK: 2.75 / 3, BaselinePassPowK: 1.0 / 3, CandidatePassPowK: 2.0 / 3},
		},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if diff := cmp.Diff(want, c.Statistics.Stability, near); diff != "" {
		t.Errorf("stability (-want +got):\n%s", diff)
	}
	if once := compare.Compare(counted(t, "b", []string{"1/1"}), counted(t, "k", []string{"0/1"})); once.Statistics.Stability != nil {
		t.Errorf("cases tried once have a stability: %+v", once.Statistics.Stability)
	}
}

func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{60, 200, 1000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var keys []string
			for i := range n {
				keys = append(keys, fmt.Sprint(i))
			}
			x, y := randomSide(r, "x", planned(keys...)), randomSide(r, "y", planned(keys...))
			for b.Loop() {
				compare.Compare(x, y)
			}
		})
	}
}
