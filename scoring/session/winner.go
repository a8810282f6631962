package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/stats"
)

const alpha = 0.05

// Comparison says whether one participant is better than all others.
type Comparison struct {
	Status string `json:"status"` // insufficient_evidence, no_clear_winner or clear_winner
	Reason string `json:"reason"` // a word
	Text   string `json:"text"`   // the same for people
	// WinnerLabel is "" unless there is a clear winner. LeaderLabel has the highest
	// composite, chance or not; "" when two share it in everything.
	WinnerLabel string `json:"winner_label"`
	LeaderLabel string `json:"leader_label"`
	// Pairs are tested by the pass rate, case by case, two-sided; AdjustedP by
	// Correction over all of them, which holds the chance of any false word at Alpha.
	Metric     string  `json:"metric"`
	Alpha      float64 `json:"alpha"`
	Correction string  `json:"correction"`
	Pairs      []Pair  `json:"pairs"`
}

// Pair is two participants on the cases that both tried.
type Pair struct {
	Label string `json:"label"`
	Other string `json:"other"`
	Cases int    `json:"cases"`
	// Difference is the mean over cases of the label's pass rate less the other's.
	Difference *float64        `json:"difference"`
	Interval   *stats.Interval `json:"interval"`
	Test       *stats.Test     `json:"test"`
	AdjustedP  *float64        `json:"adjusted_p"`
	Better     string          `json:"better"` // a label, or ~ where nobody can tell
}

// The values of [Comparison.Status].
const (
	InsufficientEvidence = "insufficient_evidence"
	NoClearWinner        = "no_clear_winner"
	ClearWinner          = "clear_winner"
)

// contender is a participant with what orders it.
type contender struct {
	*participant
	composite, rate float64
	tallies         []stats.Tally
}

// Compare finds the winner, from counts alone.
func (b *Builder) Compare(o Options) Comparison {
	c := Comparison{Status: InsufficientEvidence, Metric: "pass_rate", Alpha: alpha, Correction: "none", Pairs: []Pair{}}
	list := b.contenders(o)
	if len(list) < 2 {
		c.Reason, c.Text = "participant_metrics_unavailable", "fewer than two participants have a valid trial"
		return c
	}
	if tied := list[0].order(list[1]) == 0; !tied {
		c.LeaderLabel = list[0].label
	}
	b.pairs(&c, list)
	c.conclude(list)
	return c
}

// contenders are those with a valid trial, the best first.
func (b *Builder) contenders(o Options) []contender {
	var list []contender
	routing := route(o.ReliabilityWeight, b.effectiveK())
	for _, p := range b.participants {
		t := b.tallies(p)
		if len(t) == 0 {
			continue
		}
		c := contender{participant: p, tallies: t}
		k, w := routing.EffectiveK, routing.ReliabilityWeight
		c.composite = (1-w)*stats.MeanPassAtK(t, k).Mean + w*stats.MeanPassPowK(t, k).Mean
		c.rate = stats.MeanPassAtK(t, 1).Mean
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b contender) int {
		return cmp.Or(a.order(b), cmp.Compare(a.index, b.index), cmp.Compare(a.label, b.label))
	})
	return list
}

func (c contender) order(other contender) int {
	const same = 1e-12
	for _, d := range []float64{other.composite - c.composite, other.rate - c.rate} {
		if d > same {
			return 1
		}
		if d < -same {
			return -1
		}
	}
	return 0
}

// pairs tests every two of them.
func (b *Builder) pairs(c *Comparison, list []contender) {
	seed := b.seed()
	var p []float64
	for i, a := range list {
		for _, other := range list[i+1:] {
			pair := Pair{Label: a.label, Other: other.label, Better: compare.CannotTell}
			if shared := b.shared(other.participant, a.participant); len(shared) > 0 {
				d := compare.PassRates(shared, seed)
				pair.Cases, pair.Difference, pair.Interval, pair.Test = d.N, d.MeanDifference, d.Interval, d.Test
			}
			if pair.Test != nil {
				p = append(p, pair.Test.P)
			}
			c.Pairs = append(c.Pairs, pair)
		}
	}
	if len(p) > 1 {
		c.Correction = fmt.Sprintf("Holm over %d pairs", len(p))
	}
	adjusted := stats.Holm(p)
	for i := range c.Pairs {
		pair := &c.Pairs[i]
		if pair.Test == nil {
			continue
		}
		pair.AdjustedP, adjusted = new(adjusted[0]), adjusted[1:]
		switch {
		case *pair.AdjustedP > alpha:
		case *pair.Difference > 0:
			pair.Better = pair.Label
		case *pair.Difference < 0:
			pair.Better = pair.Other
		}
	}
}

// shared are the cases that both have tried.
func (b *Builder) shared(baseline, candidate *participant) []stats.Pair {
	var pairs []stats.Pair
	for at := range b.cases {
		p := stats.Pair{Baseline: baseline.counts[at].tally(), Candidate: candidate.counts[at].tally()}
		if p.Baseline.Trials > 0 && p.Candidate.Trials > 0 {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

func (c *Comparison) conclude(list []contender) {
	beaten, tested := 0, 0
	for _, p := range c.Pairs {
		if p.Test != nil {
			tested++
		}
		if p.Better == list[0].label && p.Label == list[0].label {
			beaten++
		}
	}
	switch {
	case tested < len(c.Pairs):
		c.Reason, c.Text = "task_evidence_insufficient", "not every two participants have tried the same case"
	case beaten == len(list)-1:
		c.Status, c.Reason, c.WinnerLabel = ClearWinner, "better_than_all", list[0].label
		c.Text = fmt.Sprintf("%s passes more often than every other participant, at %v", list[0].label, alpha)
	case c.LeaderLabel == "":
		c.Status, c.Reason, c.Text = NoClearWinner, "tied", "the first two are equal"
	default:
		c.Status, c.Reason = NoClearWinner, "chance_not_excluded"
		c.Text = fmt.Sprintf("%s leads, which may be chance at %v", c.LeaderLabel, alpha)
	}
}

// seed of what is drawn by chance follows from the counts, so that the same session
// always says the same.
func (b *Builder) seed() uint32 {
	keys := make([]int, len(b.cases))
	for i := range keys {
		keys[i] = i
	}
	slices.SortFunc(keys, func(i, j int) int {
		return cmp.Or(cmp.Compare(b.cases[i].Key, b.cases[j].Key), cmp.Compare(b.cases[i].Digest, b.cases[j].Digest))
	})
	var seed uint32
	for _, p := range b.participants {
		h := sha256.New()
		for _, at := range keys {
			t := p.counts[at].tally()
			line := fmt.Appendf(nil, "%q %s %d/%d\n", b.cases[at].Key, b.cases[at].Digest, t.Passed, t.Trials)
			_, _ = h.Write(line) // a hash takes everything
		}
		seed ^= binary.BigEndian.Uint32(h.Sum(nil))
	}
	return seed
}

// series ranks participants by their composites, then the cheaper first.
func series(list []Participant) SeriesReport {
	r := SeriesReport{RankMetric: "overall_score", Rows: []SeriesRow{}}
	for _, p := range list {
		if p.MetricRouting.CompositeAgentScore != nil {
			r.RankMetric = "composite_agent_score"
		}
		row := SeriesRow{Label: p.Label, ObservedRuns: p.ObservedRuns, Overall: p.Overall.Mean, SuccessRate: p.TaskSuccess.Rate,
			Composite: p.MetricRouting.CompositeAgentScore, MeanCostUSD: p.CostUSD.Mean, TotalCostUSD: p.CostUSD.Total}
		if d, ok := p.Dimensions["correctness"]; ok {
			row.Correctness = d.Mean
		}
		r.Rows = append(r.Rows, row)
	}
	by := func(row SeriesRow) *float64 {
		if r.RankMetric == "overall_score" {
			return row.Overall
		}
		return row.Composite
	}
	slices.SortStableFunc(r.Rows, func(a, b SeriesRow) int {
		return cmp.Or(-order(by(a), by(b), -1), order(a.MeanCostUSD, b.MeanCostUSD, 0))
	})
	for i := range r.Rows {
		r.Rows[i].Rank = i + 1
	}
	return r
}

// order compares two numbers; missing is how one that is not there stands to one
// that is.
func order(a, b *float64, missing int) int {
	const same = 1e-12
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return missing
	case b == nil:
		return -missing
	case *a-*b > same:
		return 1
	case *b-*a > same:
		return -1
	}
	return 0
}
