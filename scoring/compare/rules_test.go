package compare_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/scoring/compare"
)

// lenient is a policy without a threshold that counted's dimension could reach,
// which does not ask whether everything passed.
func lenient(edit func(*compare.Policy)) compare.Policy {
	p := compare.DefaultPolicy()
	p.Key, p.RequireScorecardPass = "rules", false
	p.Dimensions = map[string]compare.Thresholds{"correctness": {FailDelta: new(1.0)}}
	edit(&p)
	return p
}

func day() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

func TestLimits(t *testing.T) {
	t.Parallel()
	costing := func(s compare.Snapshot, usd, ms, tokens float64) compare.Snapshot {
		for i := range s.Cases {
			n := s.Cases[i].Valid
			s.Cases[i].CostUSD, s.Cases[i].LatencyMS = compare.Mean{Value: &usd, N: n}, compare.Mean{Value: &ms, N: n}
			s.Cases[i].TotalTokens = compare.Mean{Value: &tokens, N: n}
		}
		return s
	}
	base := func() compare.Snapshot {
		return costing(counted(t, "b", []string{"1/1", "1/1", "1/1", "1/1"}), 0.10, 1000, 500)
	}
	same := func() compare.Snapshot {
		return costing(counted(t, "k", []string{"1/1", "1/1", "0/1", "1/1"}), 0.13, 1000, 600)
	}
	tests := []struct {
		name              string
		policy            func(*compare.Policy)
		sides             func(b, k *compare.Snapshot)
		verdict           compare.Verdict
		reason, said, row string
	}{
		{"pass rate", func(p *compare.Policy) { p.MinPassRate = new(0.8) }, nil, compare.Fail, "pass_rate_below_minimum", "is 0.75", "min_pass_rate"},
		{"pass rate reached", func(p *compare.Policy) { p.MinPassRate = new(0.75) }, nil, compare.Pass, "within_thresholds", "", "min_pass_rate"},
		{"cost", func(p *compare.Policy) { p.MaxCostUSDPerTrial = new(0.12) }, nil, compare.Fail, "cost_above_maximum", "is 0.13", "max_cost_usd_per_trial"},
		{"cost unknown", func(p *compare.Policy) { p.MaxCostUSDPerTrial = new(0.12) },
			func(_, k *compare.Snapshot) { k.Cases[1].CostUSD = compare.Mean{} }, compare.InsufficientEvidence, "cost_unavailable", "not known", "max_cost_usd_per_trial"},
		{"latency", func(p *compare.Policy) { p.MaxLatencyMS = new(999.0) }, nil, compare.Fail, "latency_above_maximum", "is 1000", "max_latency_ms"},
		{"cost increase", func(p *compare.Policy) { p.MaxCostIncrease = new(0.2) }, nil, compare.Fail, "cost_increase_above_maximum", "is 0.3", "max_cost_increase"},
		{"cost increase allowed", func(p *compare.Policy) { p.MaxCostIncrease = new(0.3) }, nil, compare.Pass, "within_thresholds", "", "max_cost_increase"},
		{"cost from nothing", func(p *compare.Policy) { p.MaxCostIncrease = new(100.0) },
			func(b, _ *compare.Snapshot) { *b = costing(*b, 0, 1000, 500) }, compare.Fail, "cost_increase_above_maximum", "", "max_cost_increase"},
		{"latency increase of none", func(p *compare.Policy) { p.MaxLatencyIncrease = new(0.0) }, nil, compare.Pass, "within_thresholds", "", "max_latency_increase"},
		{"tokens increase", func(p *compare.Policy) { p.MaxTokensIncrease = new(0.1) }, nil, compare.Fail, "tokens_increase_above_maximum", "is 0.2", "max_tokens_increase"},
		{"few cases", func(p *compare.Policy) { p.MinComparedCases = new(5) }, nil, compare.InsufficientEvidence, "too_few_compared_cases", "4 of the candidate's 4 cases", "min_compared_cases"},
		{"coverage", func(p *compare.Policy) { p.MinCoverage = new(0.9) },
			func(b, _ *compare.Snapshot) { b.Cases = b.Cases[:3] }, compare.InsufficientEvidence, "coverage_below_minimum", "3 of the candidate's 4", "min_coverage"},
		{"invalid allowed by the policy", func(p *compare.Policy) { p.MaxInvalid = new(1) },
			func(_, k *compare.Snapshot) { k.Scorecard.InvalidTrials = 1 }, compare.Pass, "within_thresholds", "", "max_invalid"},
		{"invalid", func(p *compare.Policy) { p.MaxInvalid = new(1) },
			func(_, k *compare.Snapshot) { k.Scorecard.InvalidTrials, k.MaxInvalid = 2, 9 }, compare.InsufficientEvidence, "candidate_max_invalid_exceeded", "2 invalid trials of 6", "max_invalid"},
		{"invalid share of the baseline", func(p *compare.Policy) { p.MaxInvalidShare = new(0.1) },
			func(b, _ *compare.Snapshot) { b.Scorecard.InvalidTrials = 1 }, compare.InsufficientEvidence, "baseline_max_invalid_exceeded", "1 invalid trial of 5", "max_invalid_share"},
		{"age unknown", func(p *compare.Policy) { p.MaxBaselineAgeDays = new(30.0) }, nil, compare.InsufficientEvidence, "baseline_age_unknown", "not known", "max_baseline_age_days"},
		{"age in the future", func(p *compare.Policy) { p.MaxBaselineAgeDays = new(30.0) },
			func(b, _ *compare.Snapshot) { b.RanAt = day().Add(72 * time.Hour) }, compare.InsufficientEvidence, "baseline_age_unknown", "", "max_baseline_age_days"},
		{"stale", func(p *compare.Policy) { p.MaxBaselineAgeDays = new(30.0) },
			func(b, _ *compare.Snapshot) { b.RanAt = day().AddDate(0, 0, -31) }, compare.InsufficientEvidence, "baseline_stale", "31 days old", "max_baseline_age_days"},
		{"fresh", func(p *compare.Policy) { p.MaxBaselineAgeDays = new(30.0) },
			func(b, _ *compare.Snapshot) { b.RanAt = day().AddDate(0, 0, -30) }, compare.Pass, "within_thresholds", "", "max_baseline_age_days"},
		{"evidence comes first", func(p *compare.Policy) { p.MinPassRate, p.MinComparedCases = new(0.8), new(5) }, nil,
			compare.InsufficientEvidence, "too_few_compared_cases", "", "min_pass_rate"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, k := base(), same()
			if tt.sides != nil {
				tt.sides(&b, &k)
			}
			got := compare.Gate(lenient(tt.policy), compare.Compare(b, k).At(day(), b), b, k)
			if got.Verdict != tt.verdict || got.ReasonCode != tt.reason || !strings.Contains(got.Summary, tt.said) {
				t.Errorf("got %s %s (%s), want %s %s (%s)", got.Verdict, got.ReasonCode, got.Summary, tt.verdict, tt.reason, tt.said)
			}
			if !slices.ContainsFunc(got.EvaluationDetails.RuleResults, func(r compare.RuleResult) bool { return r.Rule == tt.row && r.Summary != "" }) {
				t.Errorf("no row for %s: %+v", tt.row, got.EvaluationDetails.RuleResults)
			}
		})
	}
}

func TestStatisticalRules(t *testing.T) {
	t.Parallel()
	ones, zeros := slices.Repeat([]string{"1/1"}, 10), slices.Repeat([]string{"0/1"}, 10)
	mixed := func(failing int) []string { return append(slices.Clone(zeros[:failing]), ones[failing:]...) }
	tests := []struct {
		name              string
		policy            func(*compare.Policy)
		before, after     []string
		verdict           compare.Verdict
		reason, said, row string
	}{
		// of 10 that passed, 3 flipped: one-sided p is 1/2^3
		{"a fall that may be chance", func(*compare.Policy) {}, ones, mixed(3), compare.Pass, "within_thresholds", "", "not_regressed"},
		// 6 flipped: 1/2^6 = 0.0156, twice that by Holm over pass rate and correctness
		{"a fall that is none", func(*compare.Policy) {}, ones, mixed(6), compare.Fail, "regressed_correctness", "p 0.031 after Holm", "regressed"},
		{"a smaller error rate", func(p *compare.Policy) { p.Statistics.Alpha = new(0.03) }, ones, mixed(6), compare.Pass, "within_thresholds", "", "not_regressed"},
		{"one test needs no correction", func(p *compare.Policy) {
			p.Statistics.Alpha, p.Statistics.Metrics = new(0.03), []string{"pass_rate"}
		}, ones, mixed(6), compare.Fail, "regressed_pass_rate", "p 0.016", "regressed"},
		{"a warning", func(p *compare.Policy) { p.Statistics.OnRegression = "warn" }, ones, mixed(6), compare.Warn, "regressed_correctness", "", "regressed"},
		{"an effect too small", func(p *compare.Policy) { p.Statistics.MinEffect = new(0.7) }, ones, mixed(6), compare.Pass, "within_thresholds", "", "not_regressed"},
		{"better", func(*compare.Policy) {}, zeros, ones, compare.Pass, "within_thresholds", "", "not_regressed"},
		{"too few cases", func(*compare.Policy) {}, ones[:4], zeros[:4], compare.InsufficientEvidence, "statistics_too_few_cases", "add cases or repetitions", "too_few_cases"},
		// five cases of one trial: 1/2^5 is below 0.05, and twice that by Holm never is
		{"too few cases for the correction", func(p *compare.Policy) { p.Dimensions["correctness"] = compare.Thresholds{FailDelta: new(0.05)} },
			ones[:5], zeros[:5], compare.InsufficientEvidence, "statistics_too_few_cases", "5 cases", "too_few_cases"},
		{"enough cases for one test", func(p *compare.Policy) { p.Statistics.Metrics = []string{"pass_rate"} },
			ones[:5], zeros[:5], compare.Fail, "regressed_pass_rate", "p 0.031", "regressed"},
		{"a dimension that the correction leaves out keeps its threshold", func(p *compare.Policy) {
			p.Dimensions["correctness"] = compare.Thresholds{FailDelta: new(0.05)}
		}, slices.Repeat([]string{"6/6"}, 4), append(slices.Repeat([]string{"6/6"}, 3), "3/6"), compare.Fail, "threshold_fail_correctness", "fell by", "too_few_cases"},
		{"few cases, repeated", func(*compare.Policy) {}, []string{"6/6", "6/6"}, []string{"0/6", "0/6"}, compare.Fail, "regressed_pass_rate", "", "regressed"},
		{"what nobody declares", func(p *compare.Policy) { p.Statistics.Metrics = []string{"tone"} }, ones, ones, compare.InsufficientEvidence, "statistics_unavailable", "tone", "unavailable"},
		{"a threshold reached by chance", func(p *compare.Policy) { p.Dimensions["correctness"] = compare.Thresholds{FailDelta: new(0.05)} },
			ones, mixed(3), compare.Pass, "within_thresholds", "", "not_regressed"},
		{"a threshold without a test keeps", func(p *compare.Policy) {
			p.Dimensions["correctness"], p.Statistics.Metrics = compare.Thresholds{FailDelta: new(0.05)}, []string{"pass_rate"}
		}, ones, mixed(3), compare.Fail, "threshold_fail_correctness", "", "not_regressed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, k := counted(t, "b", tt.before), counted(t, "k", tt.after)
			p := lenient(func(p *compare.Policy) { p.Statistics = &compare.StatisticalRules{}; tt.policy(p) })
			got := compare.Gate(p, compare.Compare(b, k), b, k)
			if got.Verdict != tt.verdict || got.ReasonCode != tt.reason || !strings.Contains(got.Summary, tt.said) {
				t.Errorf("got %s %s (%s), want %s %s (%s)", got.Verdict, got.ReasonCode, got.Summary, tt.verdict, tt.reason, tt.said)
			}
			rows := got.EvaluationDetails.StatisticalResults
			if !slices.ContainsFunc(rows, func(r compare.StatisticalResult) bool { return r.Outcome == tt.row }) {
				t.Errorf("no row %s: %+v", tt.row, rows)
			}
			if strings.Contains(tt.name, "by chance") && (got.EvaluationDetails.DimensionResults["correctness"].Outcome != "cannot_tell" ||
				!strings.Contains(strings.Join(got.EvaluationDetails.Warnings, ""), "may be chance")) {
				t.Errorf("the threshold is not said to be reached: %+v", got.EvaluationDetails)
			}
		})
	}
}

func TestRulesOfAPolicyAreChecked(t *testing.T) {
	t.Parallel()
	p := compare.DefaultPolicy()
	p.MinPassRate, p.MaxInvalid, p.MaxInvalidShare, p.MaxCostUSDPerTrial = new(1.2), new(-1), new(-0.1), new(math.Inf(1))
	p.MinComparedCases, p.MaxBaselineAgeDays = new(0), new(math.NaN())
	p.Statistics = &compare.StatisticalRules{Alpha: new(0.5), MinEffect: new(2.0), OnRegression: "stop", Metrics: []string{" "}}
	var fields []string
	for _, what := range p.Problems() {
		fields = append(fields, what.Field)
	}
	want := []string{"statistics.alpha", "statistics.min_effect", "statistics.on_regression", "statistics.metrics[0]", "min_pass_rate",
		"max_invalid_share", "max_cost_usd_per_trial", "max_baseline_age_days", "max_invalid", "min_compared_cases"}
	if !slices.Equal(fields, want) {
		t.Errorf("got %q, want %q", fields, want)
	}
}

func TestDefaultsOfStatisticsShareAFingerprint(t *testing.T) {
	t.Parallel()
	a, b := compare.DefaultPolicy(), compare.DefaultPolicy()
	a.Statistics = &compare.StatisticalRules{}
	b.Statistics = &compare.StatisticalRules{Alpha: new(0.05), MinEffect: new(0.0), OnRegression: "fail"}
	if a.Fingerprint() != b.Fingerprint() || a.Fingerprint() == compare.DefaultPolicy().Fingerprint() {
		t.Error("spelled-out defaults are another policy, or statistics none")
	}
}
