package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/agentclash/agentclash/scoring/stats"
)

// StatisticalRules let evidence decide what has regressed: a fall that chance
// explains is none. A dimension that is tested reaches no threshold by chance
// either.
type StatisticalRules struct {
	// Alpha is how often, at most, anything of a candidate that is as good as the
	// baseline is called regressed; nil is 0.05. Tests are one-sided, and Holm's
	// correction holds it over all of them.
	Alpha *float64 `json:"alpha,omitempty"`
	// MinEffect is the smallest fall, 0..1, that counts; nil is 0.
	MinEffect *float64 `json:"min_effect,omitempty"`
	// OnRegression is fail or warn; "" is fail.
	OnRegression string `json:"on_regression,omitempty"`
	// Metrics are what is tested: pass_rate, overall_score and keys of dimensions.
	// None means pass_rate and the dimensions that are required.
	Metrics []string `json:"metrics,omitempty"`
}

// StatisticalResult is one number that a policy had tested. What could not be
// worked out is nil.
type StatisticalResult struct {
	Metric         string          `json:"metric"`
	N              int             `json:"n"` // cases
	Method         string          `json:"method"`
	Tail           stats.Tail      `json:"tail"`
	MeanDifference *float64        `json:"mean_difference"`
	Interval       *stats.Interval `json:"interval"`
	P              *float64        `json:"p"`
	AdjustedP      *float64        `json:"adjusted_p"` // by Holm
	Outcome        string          `json:"outcome"`
}

// The values of [StatisticalResult.Outcome].
const (
	TestRegressed    = "regressed"
	TestNotRegressed = "not_regressed"
	TestTooFewCases  = "too_few_cases" // no result could have been a regression
	TestUnavailable  = "unavailable"
)

// The reason codes of statistical rules; that of a regression ends in the metric.
const (
	GateTooFewCases     = "statistics_too_few_cases"
	GateTestUnavailable = "statistics_unavailable"
	gateRegressed       = "regressed_"
	onRegressionFail    = "fail"
	onRegressionWarn    = "warn"
	defaultMinEffect    = 0.0
	whatIsTested        = "pass_rate, overall_score or the key of a dimension"
)

func (r *StatisticalRules) problems() []PolicyProblem {
	if r == nil {
		return nil
	}
	var list []PolicyProblem
	if a := r.Alpha; a != nil && !(*a > 0 && *a < 0.5) {
		list = append(list, PolicyProblem{"statistics.alpha", fmt.Sprintf("must be above 0 and below 0.5, got %v", *a)})
	}
	if e := r.MinEffect; e != nil && !(*e >= 0 && *e <= 1) {
		list = append(list, PolicyProblem{"statistics.min_effect", fmt.Sprintf("must be between 0 and 1, got %v", *e)})
	}
	if !slices.Contains([]string{"", onRegressionFail, onRegressionWarn}, r.OnRegression) {
		list = append(list, PolicyProblem{"statistics.on_regression", fmt.Sprintf("must be fail or warn, got %s", quote(r.OnRegression))})
	}
	for i, key := range r.Metrics {
		if !isKey(key) {
			list = append(list, PolicyProblem{fmt.Sprintf("statistics.metrics[%d]", i), "must be " + whatIsTested})
		}
	}
	return list
}

// normalized has every default filled in; nil stays nil.
func (r *StatisticalRules) normalized() *StatisticalRules {
	if r == nil {
		return nil
	}
	n := StatisticalRules{Alpha: new(alpha), MinEffect: new(defaultMinEffect), OnRegression: onRegressionFail}
	if r.Alpha != nil {
		*n.Alpha = *r.Alpha
	}
	if r.MinEffect != nil {
		*n.MinEffect = *r.MinEffect
	}
	if r.OnRegression != "" {
		n.OnRegression = r.OnRegression
	}
	n.Metrics = slices.Compact(slices.Sorted(slices.Values(r.Metrics)))
	return &n
}

// testRegressions tests what the policy asks for, on normalized rules.
func (g *gating) testRegressions() []StatisticalResult {
	rules := g.policy.Statistics
	if rules == nil || g.comparison.Statistics == nil || rules.Alpha == nil || g.decidedBy() != nil {
		return nil
	}
	metrics := rules.Metrics
	if len(metrics) == 0 {
		metrics = append([]string{metricPassRate}, g.required...)
	}
	m := matchCases(g.comparison.Cases, g.baseline, g.candidate)
	list, least := make([]StatisticalResult, len(metrics)), make([]float64, len(metrics))
	for i, metric := range metrics {
		list[i], least[i] = g.testMetric(m, metric)
	}
	// what the correction puts out of reach of any result is not tested either
	for i, p := range holmOf(list, func(i int) float64 { return least[i] }) {
		if p > *rules.Alpha {
			list[i].Outcome = TestTooFewCases
		}
	}
	for i, p := range holmOf(list, func(i int) float64 { return *list[i].P }) {
		r := &list[i]
		r.AdjustedP = &p
		if fall := round(-*r.MeanDifference); p <= *rules.Alpha && fall > 0 && fall >= round(*rules.MinEffect) {
			r.Outcome = TestRegressed
		}
	}
	return list
}

// holmOf adjusts a probability of each row that is tested, by the row's index.
func holmOf(list []StatisticalResult, of func(int) float64) map[int]float64 {
	var rows []int
	var p []float64
	for i := range list {
		if list[i].Outcome == TestNotRegressed {
			rows, p = append(rows, i), append(p, of(i))
		}
	}
	adjusted := make(map[int]float64, len(rows))
	for n, v := range stats.Holm(p) {
		adjusted[rows[n]] = v
	}
	return adjusted
}

// testMetric tests one number. Least is the smallest p that any result could have
// had: it depends on the sizes alone.
func (g *gating) testMetric(m matched, metric string) (r StatisticalResult, least float64) {
	tested := m.doubt(g.comparison.keyDelta(metric), dimensionValue(metric), stats.Less)
	for _, d := range g.comparison.AgentDeltas {
		switch {
		case d.Metric != metric:
		case metric == metricPassRate:
			tested = m.passRateDoubt(d, stats.Less)
		case metric == metricOverall:
			tested = m.doubt(d, agentValue(metric), stats.Less)
		}
	}
	r = StatisticalResult{Metric: metric, N: tested.N, Tail: stats.Less, MeanDifference: tested.MeanDifference,
		Interval: tested.Interval, Outcome: TestUnavailable}
	if tested.Test == nil {
		return r, 1
	}
	r.Method, r.P, r.Outcome = tested.Test.Method, new(tested.Test.P), TestNotRegressed
	if least = math.Pow(2, -float64(tested.N)); metric == metricPassRate {
		least = m.leastP()
	}
	return r, max(least, tested.Test.Least)
}

// leastP is the smallest one-sided p that the numbers of trials allow for the
// pass rate: every trial passed on one side and none on the other.
func (m matched) leastP() float64 {
	log := 0.0
	for _, c := range m.cases {
		b, k := float64(c.baseline.Valid), float64(c.candidate.Valid)
		all, _ := math.Lgamma(b + k + 1)
		left, _ := math.Lgamma(b + 1)
		right, _ := math.Lgamma(k + 1)
		log -= all - left - right
	}
	return math.Exp(log)
}

// untested is the answer where nothing, or not what the policy names, could be
// tested.
func (g *gating) untested() (decision, bool) {
	if g.policy.Statistics == nil || g.decidedBy() != nil {
		return undecided()
	}
	var missing, few []string
	for _, r := range g.tested {
		switch r.Outcome {
		case TestUnavailable:
			missing = append(missing, r.Metric)
		case TestTooFewCases:
			few = append(few, r.Metric)
		}
	}
	if len(missing) > 0 && (len(g.policy.Statistics.Metrics) > 0 || len(missing) == len(g.tested)) {
		return decided(InsufficientEvidence, GateTestUnavailable, "to be tested and not available on both sides: "+names(missing))
	}
	if len(missing)+len(few) == len(g.tested) {
		return decided(InsufficientEvidence, GateTooFewCases, fmt.Sprintf(
			"%s compared, so few that no result could show a regression at %s; add cases or repetitions",
			count(g.comparison.Cases.Compared, "case"), number(*g.policy.Statistics.Alpha)))
	}
	return undecided()
}

// regressed finds what the evidence says has regressed.
func (g *gating) regressed(outcome string) []finding {
	var found []finding
	for _, r := range g.tested {
		if r.Outcome == TestRegressed && g.policy.Statistics.OnRegression == outcome {
			found = append(found, finding{gateRegressed + r.Metric, fmt.Sprintf("%s regressed by %s (%s, n %d, p %s after Holm)",
				quote(r.Metric), number(-*r.MeanDifference), r.Method, r.N, probability(*r.AdjustedP))})
		}
	}
	return found
}

// weighThresholds takes back what reached a threshold without evidence, and says so.
func (g *gating) weighThresholds() (notes []string) {
	for _, t := range g.tested {
		r, ok := g.results[t.Metric]
		switch {
		case t.Outcome == TestTooFewCases:
			notes = append(notes, fmt.Sprintf("%s was not tested: no result of %s could show a regression", quote(t.Metric), count(t.N, "case")))
		case ok && t.Outcome == TestNotRegressed && (r.Outcome == DimensionFail || r.Outcome == DimensionWarn):
			notes = append(notes, fmt.Sprintf("%s fell by %s, which reaches the %s threshold and may be chance (p %s after Holm)",
				quote(t.Metric), number(*r.WorseningDelta), r.Outcome, probability(*t.AdjustedP)))
			r.Outcome = DimensionCannotTell
			g.results[t.Metric] = r
		}
	}
	return notes
}
