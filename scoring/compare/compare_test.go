package compare_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

func TestCompareDocument(t *testing.T) {
	t.Parallel()
	s := standard()
	priced := func(tr scoring.Trial, usd float64, ms, tokens int64) scoring.Trial {
		tr.CostUSD, tr.LatencyMS, tr.Usage.TotalTokens = &usd, &ms, tokens
		return tr
	}
	base := snapshot("base", s, planned("a", "b", "c", "gone"),
		priced(trial(s, "a", 1, scoring.OutcomePassed, scores{1, 1, 0.8, 0.9}), 0.02, 800, 900),
		priced(trial(s, "b", 1, scoring.OutcomeFailed, scores{0.25, 1, 0.8, 0.9}), 0.02, 700, 900),
		priced(trial(s, "c", 1, scoring.OutcomePassed, scores{1, 1, 0.8, 0.9}), 0.02, 800, 900),
		priced(trial(s, "gone", 1, scoring.OutcomePassed, scores{1, 1, 1, 1}), 0.02, 800, 900))
	cand := snapshot("cand", s, append(planned("a", "b", "new"), compare.CaseRef{Key: "c", Digest: "edited"}),
		priced(trial(s, "a", 1, scoring.OutcomeFailed, scores{0.5, 1, 1, -1}), 0.01, 500, 900),
		priced(trial(s, "b", 1, scoring.OutcomePassed, scores{1, 1, 1, -1}), 0.01, 500, 0),
		trial(s, "new", 1, scoring.OutcomePassed, scores{1, 1, 1, -1}),
		trial(s, "c", 1, scoring.OutcomePassed, scores{1, 1, 1, -1}))
	golden(t, "comparison.json", compare.Compare(base, cand))
}

func TestNotComparable(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	tests := []struct {
		name string
		edit func(base, cand *compare.Snapshot)
		want string
	}{
		{"no run agent on the baseline", func(b, _ *compare.Snapshot) { b.RunAgentID = "" }, "baseline_run_agent_unresolved"},
		{"no run agent on the candidate", func(_, c *compare.Snapshot) { c.RunAgentID = "" }, "candidate_run_agent_unresolved"},
		{"another pack", func(_, c *compare.Snapshot) { c.Pack.Slug = "other" }, "challenge_pack_version_mismatch"},
		{"another input set", func(_, c *compare.Snapshot) { c.InputSet = "large" }, "challenge_input_set_mismatch"},
		{"another evaluation spec", func(_, c *compare.Snapshot) { c.EvaluationSpecDigest = "s2" }, "evaluation_spec_mismatch"},
		{"no scorecard on the baseline", func(b, _ *compare.Snapshot) { b.Scorecard = nil }, "missing_scorecard"},
		{"a candidate still running", func(_, c *compare.Snapshot) { c.RunAgentStatus = "running" }, "missing_scorecard"},
		{"an interrupted run", func(_, c *compare.Snapshot) { c.RunAgentStatus, c.RunStatus = "", "interrupted" }, "missing_scorecard"},
		{"a cancelled run agent", func(b, _ *compare.Snapshot) { b.RunAgentStatus = "cancelled" }, "missing_scorecard"},
		{"other cases", func(_, c *compare.Snapshot) { c.Cases[0].CaseKey = "b" }, "challenge_coverage_mismatch"},
		{"cases with other content", func(_, c *compare.Snapshot) { c.Cases[0].Digest = "edited" }, "challenge_coverage_mismatch"},
		{"the pack before everything else", func(_, c *compare.Snapshot) {
			c.Pack.Slug, c.InputSet, c.EvaluationSpecDigest, c.Scorecard = "other", "large", "s2", nil
		}, "challenge_pack_version_mismatch"},
		{"the scorecard before the cases", func(_, c *compare.Snapshot) { c.Scorecard, c.Cases = nil, nil }, "missing_scorecard"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, cand := oneTrial("base", s, 1), oneTrial("cand", s, 1)
			tt.edit(&base, &cand)
			got := compare.Compare(base, cand)
			if got.State != compare.NotComparable || got.Status != compare.NotComparable || got.ReasonCode != tt.want {
				t.Errorf("got state %q status %q reason %q, want not_comparable twice and %q",
					got.State, got.Status, got.ReasonCode, tt.want)
			}
			if len(got.KeyDeltas) != 0 || !strings.HasPrefix(got.Summary, "not comparable: ") {
				t.Errorf("got %d deltas and summary %q, want none and an explanation", len(got.KeyDeltas), got.Summary)
			}
			gate := compare.Gate(compare.DefaultPolicy(), got, base, cand)
			if gate.Verdict != compare.InsufficientEvidence || gate.ReasonCode != "comparison_not_comparable" {
				t.Errorf("gate: got %s / %s, want insufficient_evidence / comparison_not_comparable", gate.Verdict, gate.ReasonCode)
			}
		})
	}
}

// Cases that never had a valid trial on the same two sides cannot be paired,
// although the keys are shared.
func TestNotComparableWhenNoCaseIsMeasuredOnBothSides(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	base := snapshot("base", s, planned("a", "b"),
		trial(s, "a", 1, scoring.OutcomePassed, scores{1}), trial(s, "b", 1, scoring.OutcomeInvalid, nil))
	cand := snapshot("cand", s, planned("a", "b"),
		trial(s, "a", 1, scoring.OutcomeInvalid, nil), trial(s, "b", 1, scoring.OutcomePassed, scores{1}))
	got := compare.Compare(base, cand)
	if got.ReasonCode != compare.ReasonCoverageMismatch {
		t.Errorf("got reason %q, want %q", got.ReasonCode, compare.ReasonCoverageMismatch)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got.Cases.Unmeasured); diff != "" {
		t.Errorf("unmeasured (-want +got):\n%s", diff)
	}
}

func TestSamePackAnotherVersionIsComparable(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	base, cand := oneTrial("base", s, 1), oneTrial("cand", s, 1)
	cand.Pack = compare.PackRef{Slug: "demo", Version: 2, Digest: "p2"}
	got := compare.Compare(base, cand)
	if got.Status != compare.Comparable || got.State != compare.PartialEvidence {
		t.Errorf("got status %q state %q, want comparable with a warning", got.Status, got.State)
	}
	if len(got.EvidenceQuality.Warnings) != 1 || !strings.Contains(got.EvidenceQuality.Warnings[0], "pack changed") {
		t.Errorf("got warnings %q, want one about the pack", got.EvidenceQuality.Warnings)
	}
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	s := spec("correctness", "latency")
	tests := []struct {
		name            string
		base, candidate float64
		want            float64
		outcome         string
	}{
		{"binary noise above", 0.90, 0.85, -0.05, "worse"},
		{"binary noise below", 0.50, 0.45, -0.05, "worse"},
		{"noise alone is no change", 0.3, 0.1 + 0.2, 0, "same"},
		{"equal", 0.7, 0.7, 0, "same"},
		{"a small change is one", 0.7, 0.700000001, 0.000000001, "better"},
		{"a gap of three tenths", 0.4, 0.7, 0.3, "better"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := compare.Compare(oneTrial("base", s, tt.base, tt.base), oneTrial("cand", s, tt.candidate, tt.candidate))
			for _, metric := range []string{"correctness", "latency"} {
				got := deltaOf(t, c, metric)
				want := compare.Delta{Metric: metric, BaselineValue: &tt.base, CandidateValue: &tt.candidate,
					Delta: &tt.want, BetterDirection: "higher", Outcome: tt.outcome, State: "available"}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", metric, diff)
				}
			}
		})
	}
}

func TestDeltaStates(t *testing.T) {
	t.Parallel()
	s := spec("correctness", "cost")
	tests := []struct {
		name string
		edit func(base, cand *compare.Snapshot)
		want string
	}{
		{"no value", func(_, c *compare.Snapshot) {
			c.Scorecard.Dimensions[1] = scoring.AggregateDimension{Key: "cost", State: scoring.Unavailable}
		}, "unavailable"},
		{"not in the scorecard", func(b, _ *compare.Snapshot) {
			b.Scorecard.Dimensions = b.Scorecard.Dimensions[:1]
		}, "unavailable"},
		{"an error", func(b, _ *compare.Snapshot) {
			b.Scorecard.Dimensions[1] = scoring.AggregateDimension{Key: "cost", State: scoring.Errored}
		}, "error"},
		{"not declared by the baseline", func(b, _ *compare.Snapshot) { b.Dimensions = b.Dimensions[:1] }, "missing_baseline"},
		{"not declared by the candidate", func(_, c *compare.Snapshot) { c.Dimensions = c.Dimensions[:1] }, "missing_candidate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, cand := oneTrial("base", s, 1, 0.5), oneTrial("cand", s, 1, 0.5)
			tt.edit(&base, &cand)
			c := compare.Compare(base, cand)
			got := deltaOf(t, c, "cost")
			if got.State != tt.want || got.Delta != nil || got.Outcome != "unknown" {
				t.Errorf("got %+v, want state %q, no delta, outcome unknown", got, tt.want)
			}
			if c.State != compare.PartialEvidence || c.Status != compare.Comparable {
				t.Errorf("got state %q status %q, want partial_evidence, comparable", c.State, c.Status)
			}
			if diff := cmp.Diff([]string{"dimension_deltas.cost"}, c.EvidenceQuality.MissingFields); diff != "" {
				t.Errorf("missing fields (-want +got):\n%s", diff)
			}
			if last := c.KeyDeltas[len(c.KeyDeltas)-1].Metric; last != "cost" {
				t.Errorf("got %q last, want what is unavailable there", last)
			}
		})
	}
}

func TestKeyDeltasLargestFirstThenDeclaredOrder(t *testing.T) {
	t.Parallel()
	s := spec("zeta", "small", "big", "alpha")
	c := compare.Compare(oneTrial("base", s, 1, 0.5, 0.5, 1), oneTrial("cand", s, 1, 0.6, 0.1, 1))
	var got []string
	for _, d := range c.KeyDeltas {
		got = append(got, d.Metric)
	}
	if diff := cmp.Diff([]string{"big", "small", "zeta", "alpha"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestFlippedCasesUseTheCandidatesPassRate(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	var base, cand []scoring.Trial
	for rep := 1; rep <= 4; rep++ {
		base = append(base, trial(s, "a", rep, scoring.OutcomePassed, scores{1}))
		outcome, score := scoring.OutcomePassed, 1.0
		if rep == 1 {
			outcome, score = scoring.OutcomeFailed, 0
		}
		cand = append(cand, trial(s, "a", rep, outcome, scores{score}))
	}
	for _, tt := range []struct {
		minPassRate float64
		flipped     int
	}{{1, 1}, {0.75, 0}, {0.76, 1}} {
		b, k := snapshot("base", s, planned("a"), base...), snapshot("cand", s, planned("a"), cand...)
		b.MinPassRate, k.MinPassRate = 0.1, tt.minPassRate
		if got := len(compare.Compare(b, k).Cases.FlippedToFailing); got != tt.flipped {
			t.Errorf("min pass rate %v: got %d flipped, want %d", tt.minPassRate, got, tt.flipped)
		}
	}
}

// A case that is invalid on one side must not make that side look better by
// being the hard one.
func TestUnmeasuredCaseCountsOnNeitherSide(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	base := snapshot("base", s, planned("easy", "hard"),
		trial(s, "easy", 1, scoring.OutcomePassed, scores{1}), trial(s, "hard", 1, scoring.OutcomeFailed, scores{0}))
	cand := snapshot("cand", s, planned("easy", "hard"),
		trial(s, "easy", 1, scoring.OutcomePassed, scores{1}), trial(s, "hard", 1, scoring.OutcomeInvalid, nil))
	c := compare.Compare(base, cand)
	if d := deltaOf(t, c, "correctness"); d.Outcome != "same" || *d.BaselineValue != 1 {
		t.Errorf("got %+v, want the easy case alone, unchanged", d)
	}
	warnings := strings.Join(c.EvidenceQuality.Warnings, "\n")
	for _, want := range []string{`"hard" without a valid trial`, "candidate has 1 invalid trial"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("warnings %q do not say %q", warnings, want)
		}
	}
}

// With nothing to compare with, the side that measured is shown as it is.
func TestSideWithoutValidTrialLeavesTheOtherAsItIs(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	base := snapshot("base", s, planned("a", "b"),
		trial(s, "a", 1, scoring.OutcomePassed, scores{1}), trial(s, "b", 1, scoring.OutcomePassed, scores{0.5}))
	cand := snapshot("cand", s, planned("a", "b"),
		trial(s, "a", 1, scoring.OutcomeInvalid, nil), trial(s, "b", 1, scoring.OutcomeInvalid, nil))
	c := compare.Compare(base, cand)
	want := compare.Delta{Metric: "correctness", BaselineValue: new(0.75), BetterDirection: "higher", Outcome: "unknown", State: "unavailable"}
	if diff := cmp.Diff(want, deltaOf(t, c, "correctness")); diff != "" {
		t.Errorf("correctness (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"dimension_deltas.correctness", "scorecard_pass.candidate"}, c.EvidenceQuality.MissingFields); diff != "" {
		t.Errorf("missing fields (-want +got):\n%s", diff)
	}
}

func TestLargeNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	side := func(run string, tokens int64) compare.Snapshot {
		tr := trial(s, "a", 1, scoring.OutcomePassed, scores{1})
		tr.Usage.TotalTokens = tokens
		return snapshot(run, s, planned("a"), tr)
	}
	c := compare.Compare(side("base", 1), side("cand", 123_456_789_012))
	if got := *deltaOf(t, c, "total_tokens_per_trial").Delta; got != 123_456_789_011 {
		t.Errorf("got %v, want 123456789011", got)
	}
}

func TestAgentDeltasArePerTrialAndAllOrNothing(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	side := func(run string, reps int, usd float64) compare.Snapshot {
		var trials []scoring.Trial
		for rep := 1; rep <= reps; rep++ {
			tr := trial(s, "a", rep, scoring.OutcomePassed, scores{1})
			tr.CostUSD, tr.LatencyMS, tr.Usage.TotalTokens = &usd, new(int64(200)), 50
			trials = append(trials, tr)
		}
		trials[0].Usage.TotalTokens = 0 // not reported
		return snapshot(run, s, planned("a"), trials...)
	}
	c := compare.Compare(side("base", 1, 0.5), side("cand", 4, 0.25))
	if d := deltaOf(t, c, "cost_usd_per_trial"); d.Outcome != "better" || *d.Delta != -0.25 || d.BetterDirection != "lower" {
		t.Errorf("cost: got %+v, want better by 0.25 whatever the repetitions", d)
	}
	if d := deltaOf(t, c, "latency_ms"); d.Outcome != "same" {
		t.Errorf("latency: got %+v, want same", d)
	}
	if d := deltaOf(t, c, "total_tokens_per_trial"); d.State != "unavailable" || d.BaselineValue != nil || d.CandidateValue != nil {
		t.Errorf("tokens: got %+v, want unavailable because a trial reported none", d)
	}
}

func TestPartlyAvailableDimensionIsWarnedOf(t *testing.T) {
	t.Parallel()
	s := spec("correctness", "cost")
	base := snapshot("base", s, planned("a", "b"),
		trial(s, "a", 1, scoring.OutcomePassed, scores{1, 1}), trial(s, "b", 1, scoring.OutcomePassed, scores{1, 1}))
	cand := snapshot("cand", s, planned("a", "b"),
		trial(s, "a", 1, scoring.OutcomePassed, scores{1, 1}), trial(s, "b", 1, scoring.OutcomePassed, scores{1, -1}))
	want := []string{`"cost" of the candidate is a mean over 1 of 2 valid trials`}
	if diff := cmp.Diff(want, compare.Compare(base, cand).EvidenceQuality.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestFailureDivergence(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	rate := []compare.InvalidCause{{Code: "rate_limit", Phase: "model", Trials: 1}}
	lost := []compare.InvalidCause{{Code: "sandbox_lost", Phase: "sandbox", Trials: 1}}
	tests := []struct {
		name                  string
		baseFailed, candFail  bool
		baseCauses, candCause []compare.InvalidCause
		want                  string
	}{
		{"neither", false, false, nil, nil, ""},
		{"candidate", false, true, nil, rate, "candidate_failed_baseline_succeeded"},
		{"baseline", true, false, rate, nil, "candidate_succeeded_baseline_failed"},
		{"both alike", true, true, rate, rate, ""},
		{"both differently", true, true, rate, lost, "both_failed_differently"},
		{"both, one for more causes", true, true, rate, append(rate, lost...), "both_failed_differently"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base, cand := oneTrial("base", s, 1), oneTrial("cand", s, 1)
			base.InvalidCauses, cand.InvalidCauses = tt.baseCauses, tt.candCause
			if tt.baseFailed {
				base.RunAgentStatus = "failed"
			}
			if tt.candFail {
				cand.RunAgentStatus = "failed"
			}
			if got := compare.Compare(base, cand).FailureDivergence; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRegressionReasons(t *testing.T) {
	t.Parallel()
	s := spec("correctness", "style", "tone")
	keys := strings.Split("abcdefgh", "")
	var before, after []scoring.Trial
	for i, key := range keys {
		tone := 0.5
		if i == 0 {
			tone = 0.1 // one case of eight: that is chance
		}
		before = append(before, trial(s, key, 1, scoring.OutcomePassed, scores{1, 0.5, 0.5}))
		after = append(after, trial(s, key, 1, scoring.OutcomeFailed, scores{0.75, 0.49999, tone}))
	}
	base, cand := snapshot("base", s, planned(keys...), before...), snapshot("cand", s, planned(keys...), after...)
	cand.RunAgentStatus = "failed"
	want := []string{
		"the candidate's run agent failed, the baseline's did not",
		"the candidate did not pass, the baseline did",
		`"correctness" fell by 0.25, from 1 to 0.75 (p 0.023)`,
		`"style" fell by 0.00001, from 0.5 to 0.5 (p 0.023)`,
		`the pass rate fell by 1, from 1 to 0 (p 0.0078); 8 cases no longer passing: "a", "b", "c", "d", "e" and 3 more`,
	}
	if diff := cmp.Diff(want, compare.Compare(base, cand).RegressionReasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	if got := compare.Compare(cand, base).RegressionReasons; len(got) != 0 {
		t.Errorf("an improvement has regression reasons: %q", got)
	}
}

func TestProseBoundsForeignText(t *testing.T) {
	t.Parallel()
	s := spec("correctness")
	var keys []string
	var base, cand []scoring.Trial
	for _, name := range strings.Split("abcdefgh", "") {
		key := name + "\x1b[31m\n" + strings.Repeat("x", 500)
		keys = append(keys, key)
		base = append(base, trial(s, key, 1, scoring.OutcomePassed, scores{1}))
		cand = append(cand, trial(s, key, 1, scoring.OutcomeFailed, scores{0}))
	}
	c := compare.Compare(snapshot("base", s, planned(keys...), base...), snapshot("cand", s, planned(keys...), cand...))
	if len(c.Cases.FlippedToFailing) != len(keys) {
		t.Errorf("got %d flipped in the data, want all %d", len(c.Cases.FlippedToFailing), len(keys))
	}
	for _, reason := range c.RegressionReasons {
		if len(reason) > 700 || strings.ContainsAny(reason, "\x1b\n") {
			t.Errorf("unsafe or endless text: %q", reason)
		}
	}
	if last := c.RegressionReasons[len(c.RegressionReasons)-1]; !strings.HasSuffix(last, " and 3 more") {
		t.Errorf("got %q, want five names and 3 more", last)
	}
}
