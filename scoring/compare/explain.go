package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/scoring"
)

// Bounds of the prose. Keys and labels come from packs; the full lists are in
// the data beside the prose.
const (
	maxNamed      = 5  // names in one sentence
	maxQuoteRunes = 64 // of one name
)

// What a failure divergence is called in prose.
const (
	onlyCandidateFailed = "the candidate's run agent failed, the baseline's did not"
	bothFailed          = "both run agents failed, for different causes"
)

// evidenceQuality lists what is missing or needs a word of caution.
func evidenceQuality(c Comparison, b, k side) EvidenceQuality {
	q := EvidenceQuality{MissingFields: []string{}, Warnings: []string{}}
	for _, key := range declaredKeys(b.snapshot, k.snapshot) {
		if d := c.keyDelta(key); d.State != DeltaAvailable {
			q.MissingFields = append(q.MissingFields, missingDimension(key))
		}
	}
	if c.ScorecardPass.Baseline == nil {
		q.MissingFields = append(q.MissingFields, "scorecard_pass.baseline")
	}
	if c.ScorecardPass.Candidate == nil {
		q.MissingFields = append(q.MissingFields, "scorecard_pass.candidate")
	}
	q.Warnings = append(q.Warnings, packWarnings(b.snapshot, k.snapshot)...)
	q.Warnings = append(q.Warnings, caseWarnings(&c.Cases)...)
	q.Warnings = append(q.Warnings, sideWarnings("baseline", b)...)
	q.Warnings = append(q.Warnings, sideWarnings("candidate", k)...)
	return q
}

// keyDelta finds a dimension's row; without one it is unavailable.
func (c Comparison) keyDelta(key string) Delta {
	for _, d := range c.KeyDeltas {
		if d.Metric == key {
			return d
		}
	}
	return Delta{Metric: key, BetterDirection: scoring.Higher, Outcome: OutcomeUnknown, State: DeltaUnavailable}
}

func missingDimension(key string) string { return "dimension_deltas." + key }

func packWarnings(b, c Snapshot) []string {
	if b.Pack == c.Pack {
		return nil
	}
	return []string{fmt.Sprintf("the pack changed between the runs (version %d and %d); "+
		"cases are compared where their content is the same", b.Pack.Version, c.Pack.Version)}
}

func caseWarnings(cases *CaseComparison) []string {
	if cases.whole() {
		return nil
	}
	var left []string
	for _, l := range []struct {
		keys []string
		what string
	}{
		{cases.OnlyBaseline, "only on the baseline"},
		{cases.OnlyCandidate, "only on the candidate"},
		{cases.DigestDiffers, "with different content"},
		{cases.Unmeasured, "without a valid trial on at least one side"},
	} {
		if len(l.keys) > 0 {
			left = append(left, fmt.Sprintf("%s %s", names(l.keys), l.what))
		}
	}
	return []string{fmt.Sprintf("compared over %s; left out: %s",
		count(cases.Compared, "case"), strings.Join(left, "; "))}
}

// sideWarnings name what the side's own numbers leave out.
func sideWarnings(name string, m side) []string {
	var out []string
	if n := m.snapshot.Scorecard.InvalidTrials; n > 0 {
		out = append(out, fmt.Sprintf("the %s has %s, left out of its scores", name, count(n, "invalid trial")))
	}
	for _, d := range m.snapshot.Dimensions {
		if n := m.dimensions[d.Key].N; n > 0 && n < m.valid {
			out = append(out, fmt.Sprintf("%s of the %s is a mean over %d of %s",
				quote(d.Key), name, n, count(m.valid, "valid trial")))
		}
	}
	return out
}

// regressionReasons says what got worse, the gravest first. A number is there when
// the evidence says so: that it is lower by chance is no reason.
func regressionReasons(c Comparison) []string {
	reasons := []string{}
	switch c.FailureDivergence {
	case CandidateFailedBaselineSucceeded:
		reasons = append(reasons, onlyCandidateFailed)
	case BothFailedDifferently:
		reasons = append(reasons, bothFailed)
	}
	if b, k := c.ScorecardPass.Baseline, c.ScorecardPass.Candidate; b != nil && k != nil && *b && !*k {
		reasons = append(reasons, "the candidate did not pass, the baseline did")
	}
	agents := len(c.AgentDeltas)
	for _, d := range c.KeyDeltas {
		if p := fallen(c.Statistics.Rows[agents:], d); p != "" {
			reasons = append(reasons, fmt.Sprintf("%s fell by %s, from %s to %s (%s)", quote(d.Metric),
				number(-*d.Delta), number(*d.BaselineValue), number(*d.CandidateValue), p))
		}
	}
	for _, d := range c.AgentDeltas {
		if p := fallen(c.Statistics.Rows[:agents], d); d.Metric == metricPassRate && p != "" {
			reasons = append(reasons, fmt.Sprintf("the pass rate fell by %s, from %s to %s (%s); %s no longer passing: %s",
				number(-*d.Delta), number(*d.BaselineValue), number(*d.CandidateValue), p,
				count(len(c.Cases.FlippedToFailing), "case"), names(c.Cases.FlippedToFailing)))
		}
	}
	return reasons
}

// fallen is the p-value, in words, of a number that chance does not explain the
// fall of; "" of any other.
func fallen(rows []Doubt, d Delta) string {
	i := slices.IndexFunc(rows, func(r Doubt) bool { return r.Metric == d.Metric })
	if i < 0 || d.Outcome != OutcomeWorse || rows[i].Conclusion != OutcomeWorse {
		return ""
	}
	return "p " + probability(*rows[i].AdjustedP)
}

func summary(c Comparison, baseline, candidate Snapshot) string {
	outcomes := map[string]int{}
	for _, d := range c.KeyDeltas {
		outcomes[d.Outcome]++
	}
	return fmt.Sprintf("dimensions: %d worse, %d better, %d same, %d unknown; "+
		"%s compared, %d flipped to failing, %d to passing; invalid trials: baseline %d, candidate %d",
		outcomes[OutcomeWorse], outcomes[OutcomeBetter], outcomes[OutcomeSame], outcomes[OutcomeUnknown],
		count(c.Cases.Compared, "case"), len(c.Cases.FlippedToFailing), len(c.Cases.FlippedToPassing),
		baseline.Scorecard.InvalidTrials, candidate.Scorecard.InvalidTrials)
}

// count renders n things, in the plural where English wants it.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// names renders a bounded list of names.
func names(keys []string) string {
	var quoted []string
	for _, key := range keys[:min(len(keys), maxNamed)] {
		quoted = append(quoted, quote(key))
	}
	list := strings.Join(quoted, ", ")
	if more := len(keys) - maxNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// quote makes foreign text safe and short enough for a sentence.
func quote(s string) string {
	if utf8.RuneCountInString(s) > maxQuoteRunes {
		s = string([]rune(s)[:maxQuoteRunes]) + "…"
	}
	return strconv.Quote(s)
}

// number renders a score or a delta for reading, as a plain decimal.
func number(v float64) string {
	decimals := 4
	if v != 0 && math.Abs(v) < 0.0005 {
		decimals = 12 // the precision of deltas
	}
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
}
