package compare

import (
	"fmt"
	"math"
	"strconv"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/stats"
)

// Statistics says how much of a comparison may be chance. Cases are the units:
// each counts once, by the mean of its valid trials on either side.
type Statistics struct {
	// Alpha is how often, at most, two sides that are alike are told apart.
	Alpha float64    `json:"alpha"`
	Tail  stats.Tail `json:"tail"`
	// Correction names how the p-values of dimensions are adjusted. Pass rate,
	// overall score, cost, latency and tokens are a question each.
	Correction string `json:"correction"`
	// Seed of everything that was drawn. It follows from the results of both
	// sides, so that the same comparison always says the same.
	Seed             uint32 `json:"seed"`
	FlippedToFailing int    `json:"flipped_to_failing"` // cases
	FlippedToPassing int    `json:"flipped_to_passing"`
	// Rows are in the order of the agent deltas and then of declared dimensions.
	Rows []Doubt `json:"rows"`
	// Stability is nil unless a side repeated its cases.
	Stability *Stability `json:"stability,omitempty"`
	Summary   string     `json:"summary"`
}

// Doubt is one number's difference, candidate minus baseline, and what chance
// may have to do with it. What could not be worked out is nil.
type Doubt struct {
	Metric          string `json:"metric"`
	BetterDirection string `json:"better_direction"`
	N               int    `json:"n"` // cases with a value on both sides
	// MeanDifference is over cases; a [Delta] is over trials.
	MeanDifference *float64        `json:"mean_difference"`
	Interval       *stats.Interval `json:"interval"`
	Test           *stats.Test     `json:"test"`
	AdjustedP      *float64        `json:"adjusted_p"`
	Conclusion     string          `json:"conclusion"` // better, worse or ~
	Reason         string          `json:"reason"`     // the method in words
}

// CannotTell is the [Doubt.Conclusion] where the evidence does not tell the
// sides apart.
const CannotTell = "~"

const notOnBoth = "not available on both sides"

const (
	alpha = 0.05
	// smallSample is the fewest cases that a two-sided sign-flip test can tell
	// apart at alpha, 2/2^6, and the fewest that are resampled for an interval.
	smallSample = 6
	// Beyond so many cases, of which none outweighs the rest, the normal
	// distribution stands in for drawing: of permutations, whose distribution
	// is symmetric, and of samples, which need more.
	largePermuted, largeSampled = 60, 200
)

// doubts works out the statistics of the compared cases. The deltas are those
// of the comparison: what has none is not tested.
func doubts(c Comparison, baseline, candidate Snapshot) *Statistics {
	m := matchCases(c.Cases, baseline, candidate)
	s := &Statistics{Alpha: alpha, Tail: stats.TwoSided, Seed: m.seed, Correction: "none",
		FlippedToFailing: len(c.Cases.FlippedToFailing), FlippedToPassing: len(c.Cases.FlippedToPassing),
		Stability: stability(m)}
	for _, d := range c.AgentDeltas {
		if d.Metric == metricPassRate {
			s.Rows = append(s.Rows, m.passRateDoubt(d, stats.TwoSided))
			continue
		}
		s.Rows = append(s.Rows, m.doubt(d, agentValue(d.Metric), stats.TwoSided))
	}
	single := len(s.Rows)
	for _, key := range declaredKeys(baseline, candidate) {
		s.Rows = append(s.Rows, m.doubt(c.keyDelta(key), dimensionValue(key), stats.TwoSided))
	}
	if n := adjust(s.Rows[single:]); n > 1 {
		s.Correction = fmt.Sprintf("Holm over %d dimensions", n)
	}
	for i := range s.Rows {
		s.Rows[i].conclude(i >= single && s.Correction != "none")
	}
	s.Summary = s.summary()
	return s
}

// passRateDoubt tests the pass rate, by the trials that passed.
func (m matched) passRateDoubt(d Delta, tail stats.Tail) Doubt {
	r := Doubt{Metric: d.Metric, BetterDirection: d.BetterDirection, Conclusion: CannotTell, Reason: notOnBoth}
	if d.State == DeltaAvailable {
		m.passing(&r, tail)
	}
	return r
}

// doubt tests a number that cases have. The tail is two-sided or [stats.Less].
func (m matched) doubt(d Delta, value func(*CaseResult) *float64, tail stats.Tail) Doubt {
	r := Doubt{Metric: d.Metric, BetterDirection: d.BetterDirection, Conclusion: CannotTell}
	if d.State != DeltaAvailable {
		r.Reason = notOnBoth
		return r
	}
	m.scores(&r, value, tail)
	return r
}

// adjust sets the adjusted p-values of rows that are tested together, and says
// how many there are.
func adjust(rows []Doubt) int {
	var p []float64
	for _, r := range rows {
		if r.Test != nil {
			p = append(p, r.Test.P)
		}
	}
	adjusted := stats.Holm(p)
	for i := range rows {
		if rows[i].Test != nil {
			rows[i].AdjustedP, adjusted = new(adjusted[0]), adjusted[1:]
		}
	}
	return len(p)
}

// conclude says what follows from the test.
func (r *Doubt) conclude(corrected bool) {
	if r.Test == nil {
		return
	}
	if r.AdjustedP == nil {
		r.AdjustedP = new(r.Test.P)
	}
	p := *r.AdjustedP
	words := fmt.Sprintf("%s, %s, n %d, p %s", r.Test.Method, r.Test.Tail, r.N, probability(p))
	if corrected {
		words += " (Holm)"
	}
	switch better := *r.MeanDifference > 0 == (r.BetterDirection != scoring.Lower); {
	case *r.MeanDifference == 0:
		r.Reason = "no difference on average; " + words
	case p > alpha && r.N < smallSample:
		r.Reason = fmt.Sprintf("cannot tell, as fewer than %d cases rarely can: %s", smallSample, words)
	case p > alpha:
		r.Reason = "cannot tell: " + words
	case better:
		r.Conclusion, r.Reason = OutcomeBetter, words
	default:
		r.Conclusion, r.Reason = OutcomeWorse, words
	}
}

// summary says what was tested and what came of it.
func (s *Statistics) summary() string {
	told := map[string][]string{}
	for _, r := range s.Rows {
		told[r.Conclusion] = append(told[r.Conclusion], r.Metric)
	}
	text := ""
	for _, r := range s.Rows {
		if r.Metric == metricPassRate && r.Test != nil {
			text = "pass rate: " + r.Reason + "; "
		}
	}
	if len(told[OutcomeWorse])+len(told[OutcomeBetter]) == 0 {
		return text + "nothing can be told from chance at " + number(s.Alpha)
	}
	for _, outcome := range []string{OutcomeWorse, OutcomeBetter} {
		if list := told[outcome]; len(list) > 0 {
			text += outcome + ": " + names(list) + "; "
		}
	}
	return text + fmt.Sprintf("the other %d cannot be told from chance at %s", len(told[CannotTell]), number(s.Alpha))
}

// probability renders a p-value: never as 0, which none is.
func probability(p float64) string {
	if p < 0.0001 {
		return "below 0.0001"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// usable drops an interval that overflowed.
func usable(i stats.Interval, err error) *stats.Interval {
	if err != nil || math.IsNaN(i.Low+i.High+i.Estimate) || math.IsInf(i.Low+i.High+i.Estimate, 0) ||
		math.IsInf(i.Low, 0) || math.IsInf(i.High, 0) {
		return nil
	}
	return &i
}
