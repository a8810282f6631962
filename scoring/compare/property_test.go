package compare_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

const rounds = 100

// randomTrials is a run agent's trials over the cases: scores anywhere in
// 0..1, some missing for either reason, some trials without a scorecard, some
// invalid, but every case measured.
func randomTrials(r *rand.Rand, s scoring.Spec, cases []compare.CaseRef) []scoring.Trial {
	var trials []scoring.Trial
	for _, c := range cases {
		for rep := 1; rep <= 1+r.IntN(3); rep++ {
			outcome := scoring.OutcomePassed
			switch n := r.IntN(10); {
			case n < 3:
				outcome = scoring.OutcomeFailed
			case n == 3 && rep > 1:
				outcome = scoring.OutcomeInvalid
			}
			values := scores{}
			for i := range s.Scorecard.Dimensions {
				if i > 0 && r.IntN(8) == 0 {
					values = append(values, -1)
					continue
				}
				values = append(values, r.Float64())
			}
			tr := trial(s, c.Key, rep, outcome, values)
			switch r.IntN(12) {
			case 0:
				tr.Scorecard = nil // ended before there was anything to score
			case 1:
				if tr.Scorecard != nil {
					tr.Scorecard.OverallScore, tr.Scorecard.Dimensions[0] = nil,
						scoring.DimensionResult{Key: tr.Scorecard.Dimensions[0].Key, State: scoring.Unavailable, AgentFault: true}
				}
			}
			tr.CostUSD, tr.LatencyMS, tr.Usage.TotalTokens = new(r.Float64()), new(r.Int64N(5000)), 1+r.Int64N(900)
			trials = append(trials, tr)
		}
	}
	return trials
}

func randomSide(r *rand.Rand, run string, cases []compare.CaseRef) compare.Snapshot {
	return snapshot(run, standard(), cases, randomTrials(r, standard(), cases)...)
}

// forRounds runs a property with a generator of its own for each round; the
// round's number is its seed.
func forRounds(t *testing.T, property func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	t.Parallel()
	for seed := range uint64(rounds) {
		property(t, rand.New(rand.NewPCG(seed, 1)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func randomCases(r *rand.Rand) []compare.CaseRef {
	var keys []string
	for i := range 1 + r.IntN(6) {
		keys = append(keys, fmt.Sprintf("case-%d", i))
	}
	return planned(keys...)
}

func TestPropertyOneSideTwiceIsTheSame(t *testing.T) {
	forRounds(t, func(t *testing.T, r *rand.Rand) {
		side := randomSide(r, "same", randomCases(r))
		c := compare.Compare(side, side)
		for _, d := range append(slices.Clone(c.KeyDeltas), c.AgentDeltas...) {
			if d.State == compare.DeltaAvailable && (*d.Delta != 0 || math.Signbit(*d.Delta) || d.Outcome != compare.OutcomeSame) {
				t.Errorf("got %+v, want a delta of 0 and the outcome same", d)
			}
		}
		flipped := len(c.Cases.FlippedToFailing) + len(c.Cases.FlippedToPassing)
		if len(c.RegressionReasons) != 0 || flipped != 0 || c.Status != compare.Comparable {
			t.Errorf("reasons %q, %d flipped, status %s; want none, 0, comparable", c.RegressionReasons, flipped, c.Status)
		}
	})
}

func TestPropertySwappingSidesTurnsDeltasRound(t *testing.T) {
	opposite := map[string]string{"better": "worse", "worse": "better", "same": "same", "unknown": "unknown"}
	forRounds(t, func(t *testing.T, r *rand.Rand) {
		cases := randomCases(r)
		a, b := randomSide(r, "a", cases), randomSide(r, "b", cases[:1+r.IntN(len(cases))])
		there, back := compare.Compare(a, b), compare.Compare(b, a)
		for _, d := range append(slices.Clone(there.KeyDeltas), there.AgentDeltas...) {
			got := deltaOf(t, back, d.Metric)
			if got.State != d.State || got.Outcome != opposite[d.Outcome] {
				t.Errorf("%s: %s/%s turned round is %s/%s", d.Metric, d.State, d.Outcome, got.State, got.Outcome)
			}
			if d.Delta != nil && *got.Delta != -*d.Delta {
				t.Errorf("%s: delta %v turned round is %v", d.Metric, *d.Delta, *got.Delta)
			}
		}
		if diff := cmp.Diff(there.Cases.FlippedToFailing, back.Cases.FlippedToPassing); diff != "" {
			t.Errorf("flips differ:\n%s", diff)
		}
		if diff := cmp.Diff(there.Cases.OnlyBaseline, back.Cases.OnlyCandidate); diff != "" {
			t.Errorf("cases of one side differ:\n%s", diff)
		}
	})
}

func TestPropertyGateOfOneSideTwicePassesWhenItPassed(t *testing.T) {
	seen := map[compare.Verdict]int{}
	forRounds(t, func(t *testing.T, r *rand.Rand) {
		side := randomSide(r, "same", randomCases(r))
		side.MaxInvalid = 100
		side.MinPassRate = 0.6
		side.Scorecard.Passed = *side.Scorecard.PassRate >= side.MinPassRate
		c := compare.Compare(side, side)
		want := compare.Pass
		switch {
		case slices.ContainsFunc(c.KeyDeltas, func(d compare.Delta) bool { return d.State != compare.DeltaAvailable }):
			want = compare.InsufficientEvidence
		case !side.Scorecard.Passed:
			want = compare.Fail
		}
		seen[want]++
		if got := compare.Gate(compare.DefaultPolicy(), c, side, side); got.Verdict != want {
			t.Errorf("got %s (%s), want %s", got.Verdict, got.Summary, want)
		}
	})
	if seen[compare.Pass] == 0 || seen[compare.Fail] == 0 {
		t.Errorf("the generator never made one of the verdicts: %v", seen)
	}
}

// Cases that only one side has, or whose content changed, move no delta: the
// comparison equals the one of runs that never had them.
func TestPropertyForeignCasesMoveNothing(t *testing.T) {
	near := cmpopts.EquateApprox(0, 1e-9)
	forRounds(t, func(t *testing.T, r *rand.Rand) {
		shared, own := randomCases(r), planned("mine", "edited")
		theirs := []compare.CaseRef{{Key: "theirs", Digest: "t"}, {Key: "edited", Digest: "another"}}
		side := func(run string, extra []compare.CaseRef) (narrow, wide compare.Snapshot) {
			trials, more := randomTrials(r, standard(), shared), randomTrials(r, standard(), extra)
			return snapshot(run, standard(), shared, trials...),
				snapshot(run, standard(), slices.Concat(shared, extra), slices.Concat(trials, more)...)
		}
		b, wideB := side("b", own)
		k, wideK := side("k", theirs)
		want, got := compare.Compare(b, k), compare.Compare(wideB, wideK)
		byMetric := cmpopts.SortSlices(func(x, y compare.Delta) bool { return x.Metric < y.Metric })
		if diff := cmp.Diff(want.KeyDeltas, got.KeyDeltas, near, byMetric); diff != "" {
			t.Errorf("dimensions moved (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want.AgentDeltas, got.AgentDeltas, near); diff != "" {
			t.Errorf("agent numbers moved (-want +got):\n%s", diff)
		}
		if got.Cases.Compared != len(shared) || got.State != compare.PartialEvidence {
			t.Errorf("got %d compared and state %s, want %d and partial_evidence", got.Cases.Compared, got.State, len(shared))
		}
	})
}

func TestPropertyOrderOfTrialsIsNothing(t *testing.T) {
	forRounds(t, func(t *testing.T, r *rand.Rand) {
		cases := randomCases(r)
		trials := randomTrials(r, standard(), cases)
		rec := compare.Record{Spec: standard(), Cases: cases, Trials: trials}
		want := compare.NewSnapshot(identity("r"), rec)
		rec.Trials = slices.Clone(trials)
		r.Shuffle(len(rec.Trials), func(i, j int) { rec.Trials[i], rec.Trials[j] = rec.Trials[j], rec.Trials[i] })
		if diff := cmp.Diff(want, compare.NewSnapshot(identity("r"), rec)); diff != "" {
			t.Errorf("shuffled trials give another snapshot:\n%s", diff)
		}
	})
}

// Comparing what was stored as JSON gives the bytes that comparing live gives.
func TestPropertyComparingLaterIsComparingNow(t *testing.T) {
	forRounds(t, func(t *testing.T, r *rand.Rand) {
		cases := randomCases(r)
		a, b := randomSide(r, "a", cases), randomSide(r, "b", cases)
		later := func(s compare.Snapshot) (out compare.Snapshot) {
			doc, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(doc, &out); err != nil {
				t.Fatal(err)
			}
			return out
		}
		if diff := cmp.Diff(compare.Compare(a, b), compare.Compare(later(a), later(b))); diff != "" {
			t.Errorf("stored snapshots compare differently:\n%s", diff)
		}
	})
}
