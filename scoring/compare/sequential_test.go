package compare_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/sequential"
)

var coinCases = planned("a", "b", "c", "d")

// coin is a side that tried each case so often; outcome says how each trial ended.
func coin(run string, cases []compare.CaseRef, times int, outcome func(key string, repetition int) scoring.Outcome) compare.Snapshot {
	s := spec("correctness")
	var trials []scoring.Trial
	for rep := 1; rep <= times; rep++ {
		for _, c := range cases {
			o := outcome(c.Key, rep)
			trials = append(trials, trial(s, c.Key, rep, o, scores{map[bool]float64{true: 1}[o == scoring.OutcomePassed]}))
		}
	}
	return snapshot(run, s, cases, trials...)
}

func passing(string, int) scoring.Outcome { return scoring.OutcomePassed }

// coinTest is the test of a candidate on the cases.
func coinTest(t *testing.T, p compare.Policy, base compare.Snapshot, cases []compare.CaseRef) *sequential.Test {
	t.Helper()
	test, err := p.SequentialTest(base, identity("cand"), cases, sequential.Spec{Aim: p.Aim(), Seed: 4, MaxEach: 100})
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// stopped is a candidate that ran in the order of its test until it decided, or all of it.
func stopped(t *testing.T, test *sequential.Test, most int, outcome func(key string, repetition int) scoring.Outcome) compare.Snapshot {
	t.Helper()
	s := spec("correctness")
	fold, err := test.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var trials []scoring.Trial
	for i, at := range test.Order() {
		if i == most || fold.State().Decided() {
			break
		}
		o := outcome(at.CaseKey, at.Repetition)
		trials = append(trials, trial(s, at.CaseKey, at.Repetition, o, scores{map[bool]float64{true: 1}[o == scoring.OutcomePassed]}))
		fold.Settle(at.CaseKey, at.Repetition, o)
	}
	card := scoring.Aggregate(s, trials, 1)
	card.SpentUSD = new(0.01 * float64(len(trials)))
	return compare.NewSnapshot(identity("cand"), compare.Record{Spec: s, Cases: coinCases, Trials: trials, Scorecard: &card, Until: test})
}

func TestSequentialGate(t *testing.T) {
	t.Parallel()
	base := coin("base", coinCases, 10, func(key string, rep int) scoring.Outcome {
		if rep == 3 {
			return scoring.OutcomeFailed
		}
		return scoring.OutcomePassed
	})
	test := coinTest(t, compare.DefaultPolicy(), base, coinCases)
	half := func(_ string, rep int) scoring.Outcome {
		if rep%2 == 0 {
			return scoring.OutcomePassed
		}
		return scoring.OutcomeFailed
	}
	once := func(key string, rep int) scoring.Outcome {
		if key == "a" && rep == 1 {
			return scoring.OutcomeFailed
		}
		return scoring.OutcomePassed
	}
	for _, c := range []struct {
		name    string
		cand    compare.Snapshot
		edit    func(*compare.Policy)
		verdict compare.Verdict
		reason  string
	}{
		{"fallen", stopped(t, test, 500, half), nil, compare.Fail, compare.GateSequentialRegressed},
		{"as good, with a failed trial that thresholds would take for a fall", stopped(t, test, 500, once), nil, compare.Pass, compare.GateWithinThresholds},
		{"not enough trials", stopped(t, test, 4, once), nil, compare.InsufficientEvidence, compare.GateSequentialUndecided},
		{"statistics of one look do not apply", stopped(t, test, 500, once), func(p *compare.Policy) {
			p.Statistics = &compare.StatisticalRules{}
		}, compare.Pass, compare.GateWithinThresholds},
		{"as good, and under a limit", stopped(t, test, 500, once), func(p *compare.Policy) { p.MinPassRate = new(0.999) }, compare.Fail, compare.GatePassRate},
		{"as good, and too little of it compared", stopped(t, test, 500, once), func(p *compare.Policy) { p.MinComparedCases = new(5) },
			compare.InsufficientEvidence, compare.GateTooFewCompared},
		{"fallen, with a limit that is not kept either", stopped(t, test, 500, half), func(p *compare.Policy) { p.MinComparedCases = new(5) },
			compare.Fail, compare.GateSequentialRegressed},
	} {
		g := gate(base, c.cand, c.edit)
		if g.Verdict != c.verdict || g.ReasonCode != c.reason {
			t.Errorf("%s: got %s, %s: %s", c.name, g.Verdict, g.ReasonCode, g.Summary)
		}
		if g.Sequential == nil || len(g.EvaluationDetails.StatisticalResults) > 0 {
			t.Errorf("%s: the record has no sequential block, or has tests of one look: %+v", c.name, g)
		}
		if !slices.ContainsFunc(g.EvaluationDetails.Warnings, func(w string) bool { return strings.HasPrefix(w, "the sequential decision stands in for") }) {
			t.Errorf("%s: nothing says what was replaced: %q", c.name, g.EvaluationDetails.Warnings)
		}
	}
	short := gate(base, stopped(t, test, 4, once), nil)
	if f := short.Sequential.Forecast; f == nil || f.Trials < 1 || f.USD == nil || *f.USD < 0.009*f.Trials || *f.USD > 0.011*f.Trials {
		t.Errorf("the forecast is %+v", f)
	}
	if !strings.Contains(short.Summary, "more trials would decide, about $0.") {
		t.Errorf("got %q", short.Summary)
	}
}

// A candidate that was stopped against one baseline is no fixed sample against another.
func TestStoppedAgainstAnother(t *testing.T) {
	t.Parallel()
	base, other := coin("base", coinCases, 10, passing), coin("other", coinCases, 10, passing)
	cand := stopped(t, coinTest(t, compare.DefaultPolicy(), base, coinCases), 500, passing)
	g := gate(other, cand, nil)
	if g.Sequential != nil || g.Verdict != compare.Pass {
		t.Errorf("got %+v", g)
	}
	if w := strings.Join(g.EvaluationDetails.Warnings, "\n"); !strings.Contains(w, "until it was decided against another baseline") {
		t.Errorf("got %q", w)
	}
	if w := strings.Join(compare.Compare(cand, base).EvidenceQuality.Warnings, "\n"); !strings.Contains(w, "how long the baseline ran depended on its own results") {
		t.Errorf("got %q", w)
	}
	doc, err := json.Marshal(cand)
	if err != nil {
		t.Fatal(err)
	}
	var back compare.Snapshot
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cand, back); diff != "" {
		t.Error(diff)
	}
}

// Only cases that are the same on both sides and were measured count.
func TestSequentialTestCases(t *testing.T) {
	t.Parallel()
	base := coin("base", coinCases, 10, func(key string, _ int) scoring.Outcome {
		if key == "d" {
			return scoring.OutcomeInvalid
		}
		return scoring.OutcomePassed
	})
	base.MaxInvalid = 10
	cases := append(slices.Clone(coinCases), planned("e")...)
	cases[1].Digest = "another"
	got := coinTest(t, compare.DefaultPolicy(), base, cases)
	want := []sequential.Other{{CaseKey: "b", Why: "its content is not that of the baseline"},
		{CaseKey: "d", Why: "the baseline has no valid trial of it"}, {CaseKey: "e", Why: "the baseline does not have it"}}
	if diff := cmp.Diff(want, got.Others); diff != "" || len(got.Cases) != 2 || got.WholeRound {
		t.Errorf("%s in %+v", diff, got)
	}
	cases[0].Regressions = []scoring.Regression{{Suite: "s", CaseID: "a"}}
	if got := coinTest(t, compare.DefaultPolicy(), base, cases); !got.WholeRound {
		t.Error("cases of regression suites are to be run, whatever is decided before")
	}
	p := compare.DefaultPolicy()
	p.MinCoverage = new(0.9)
	if got := coinTest(t, p, base, coinCases); !got.WholeRound {
		t.Error("a policy that asks for coverage asks for every case")
	}
	for name, edit := range map[string]func(*compare.Snapshot){
		"challenge_pack_version_mismatch": func(s *compare.Snapshot) { s.Pack.Slug = "other" },
		"evaluation_spec_mismatch":        func(s *compare.Snapshot) { s.EvaluationSpecDigest = "other" },
		"missing_scorecard":               func(s *compare.Snapshot) { s.Scorecard = nil },
		"10 invalid trials":               func(s *compare.Snapshot) { s.MaxInvalid = 9 },
		"stopped by its results":          func(s *compare.Snapshot) { s.Sequential = &compare.Sequential{} },
	} {
		bad := base
		edit(&bad)
		_, err := compare.DefaultPolicy().SequentialTest(bad, identity("cand"), coinCases, sequential.Spec{Aim: compare.DefaultPolicy().Aim(), MaxEach: 100})
		if refused := (*sequential.Refused)(nil); !errors.As(err, &refused) || !refused.Evidence || !strings.Contains(refused.Why, name) || refused.Next == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSequentialRules(t *testing.T) {
	t.Parallel()
	p := compare.DefaultPolicy()
	before := p.Fingerprint()
	p.Sequential = &compare.SequentialRules{Drop: new(0.1)}
	if aim := p.Aim(); aim.Drop != 0.1 || aim.Alpha != 0.05 || aim.Power != 0.8 {
		t.Errorf("got %+v", aim)
	}
	full := compare.DefaultPolicy()
	full.Sequential = &compare.SequentialRules{Drop: new(0.1), Alpha: new(0.05), Power: new(0.8)}
	if p.Fingerprint() == before || p.Fingerprint() != full.Fingerprint() {
		t.Error("the fingerprint does not go by what the rules say")
	}
	p.Sequential = &compare.SequentialRules{Drop: new(0.0), Alpha: new(0.5), Power: new(1.0)}
	var fields []string
	for _, what := range p.Problems() {
		fields = append(fields, what.Field)
	}
	if diff := cmp.Diff([]string{"sequential.alpha", "sequential.power", "sequential.drop"}, fields); diff != "" {
		t.Error(diff)
	}
}
