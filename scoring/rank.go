package scoring

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Contender is a run agent of a run that may be ranked.
type Contender struct {
	RunAgentID string
	Lane       int
	Scorecard  *AgentScorecard // nil: not scored
}

// Standing is a contender's place. Equal values share a rank and the next
// value takes the next number; without a value there is no rank.
type Standing struct {
	Contender
	Rank         int // 0: none
	Value        *float64
	DeltaFromTop *float64 // how much the best value is above this one
}

// The orders that are no dimension's key.
const (
	SortDefault   = "" // correctness, then reliability
	SortComposite = "composite"
	SortOverall   = "overall_score"
)

// Rank orders the contenders, the best first: by default by correctness, ties
// by reliability; by composite, the mean of what they have of correctness,
// reliability, latency and cost; by their overall score; or by the dimension
// that sortBy names. In all but the last an agent that passed comes before one
// that did not. What is still equal keeps the order of the lanes.
func Rank(contenders []Contender, sortBy string) ([]Standing, error) {
	if err := checkSort(contenders, sortBy); err != nil {
		return nil, err
	}
	out := make([]Standing, len(contenders))
	for i, c := range contenders {
		out[i] = Standing{Contender: c, Value: c.value(sortBy)}
	}
	verdictFirst := sortBy == SortDefault || sortBy == SortComposite || sortBy == SortOverall
	group := func(s Standing) bool { return verdictFirst && s.passed() }
	slices.SortStableFunc(out, func(a, b Standing) int {
		order := cmp.Or(firstTrue(a.Value != nil, b.Value != nil), firstTrue(group(a), group(b)), higherFirst(a.Value, b.Value))
		if order == 0 && sortBy == SortDefault {
			order = higherFirst(a.dimension(SourceReliability), b.dimension(SourceReliability))
		}
		return cmp.Or(order, cmp.Compare(a.Lane, b.Lane), strings.Compare(a.RunAgentID, b.RunAgentID))
	})
	numbered(out, group)
	return out, nil
}

// numbered gives ranks and distances to sorted standings. The top is the best
// value of all, which an agent that did not pass may have.
func numbered(out []Standing, group func(Standing) bool) {
	var top *float64
	for _, s := range out {
		if s.Value != nil && (top == nil || *s.Value > *top) {
			top = s.Value
		}
	}
	rank := 0
	for i := range out {
		s := &out[i]
		if s.Value == nil {
			continue
		}
		if i == 0 || *s.Value != *out[i-1].Value || group(*s) != group(out[i-1]) {
			rank++
		}
		s.Rank, s.DeltaFromTop = rank, new(*top-*s.Value)
	}
}

func checkSort(contenders []Contender, sortBy string) error {
	known := []string{SortComposite, SortOverall, "correctness", SourceReliability, SourceLatency, SourceCost}
	for _, c := range contenders {
		if c.Scorecard == nil {
			continue
		}
		for _, d := range c.Scorecard.Dimensions {
			if !slices.Contains(known, d.Key) {
				known = append(known, d.Key)
			}
		}
	}
	if sortBy == SortDefault || slices.Contains(known, sortBy) {
		return nil
	}
	return fmt.Errorf("rank by %s: no dimension is called that%s", quoted(sortBy), hint(sortBy, known))
}

func (c Contender) passed() bool { return c.Scorecard != nil && c.Scorecard.Passed }

// value is what a contender is ordered by, nil when it has none.
func (c Contender) value(sortBy string) *float64 {
	switch {
	case c.Scorecard == nil:
		return nil
	case sortBy == SortOverall:
		return c.Scorecard.OverallScore
	case sortBy == SortComposite:
		return c.Scorecard.Composite()
	case sortBy == SortDefault:
		return c.dimension("correctness")
	}
	return c.dimension(sortBy)
}

func (c Contender) dimension(key string) *float64 {
	if c.Scorecard == nil {
		return nil
	}
	return c.Scorecard.dimension(key)
}

func (c AgentScorecard) dimension(key string) *float64 {
	for _, d := range c.Dimensions {
		if d.Key == key && d.State == Available {
			return d.Score
		}
	}
	return nil
}

// Composite is the mean of the scores there are of the dimensions correctness,
// reliability, latency and cost; nil without any.
func (c AgentScorecard) Composite() *float64 {
	var m mean
	for _, key := range [...]string{"correctness", SourceReliability, SourceLatency, SourceCost} {
		if v := c.dimension(key); v != nil {
			m.add(*v)
		}
	}
	return m.value()
}

func firstTrue(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// higherFirst orders by value, the highest first and those without one last.
func higherFirst(a, b *float64) int {
	if a == nil || b == nil {
		return firstTrue(a != nil, b != nil)
	}
	return cmp.Compare(*b, *a)
}

// Win is who won a run, and by what.
type Win struct {
	RunAgentID string `json:"run_agent_id,omitempty"` // empty: nobody
	Strategy   string `json:"strategy"`               // overall_score or correctness_then_reliability
	Status     string `json:"status"`                 // winner, tie or inconclusive
	ReasonCode string `json:"reason_code"`
}

// Winner decides a run: by overall score, ties by correctness
// and then reliability, all at full precision. When some scored agent passed,
// those that did not cannot win.
func Winner(contenders []Contender) Win {
	if len(contenders) == 1 {
		return Win{contenders[0].RunAgentID, SortOverall, "winner", "single_agent_trivial_winner"}
	}
	field := filter(contenders, func(c Contender) bool { return c.Scorecard != nil })
	if len(field) == 0 {
		return Win{"", SortOverall, "inconclusive", "no_scored_agents"}
	}
	if passed := filter(field, Contender.passed); len(passed) == 1 && len(field) > 1 {
		return Win{passed[0].RunAgentID, SortOverall, "winner", "only_passed"}
	} else if len(passed) > 0 {
		field = passed
	}
	if slices.ContainsFunc(field, func(c Contender) bool { return c.Scorecard.OverallScore == nil }) {
		return byCorrectness(field)
	}
	return byOverall(field)
}

func byOverall(field []Contender) Win {
	win := Win{Strategy: SortOverall, Status: "winner"}
	for _, step := range []struct{ sortBy, reason string }{
		{SortOverall, "best_overall_score"},
		{"correctness", "overall_score_correctness_tiebreaker"},
		{SourceReliability, "overall_score_reliability_tiebreaker"},
	} {
		if best := leaders(field, step.sortBy); len(best) == 1 {
			win.RunAgentID, win.ReasonCode = best[0].RunAgentID, step.reason
			return win
		} else if len(best) > 1 {
			field = best
		}
	}
	win.Status, win.ReasonCode = "tie", "overall_score_tie"
	return win
}

func byCorrectness(field []Contender) Win {
	win := Win{Strategy: "correctness_then_reliability", Status: "inconclusive"}
	best := leaders(field, "correctness")
	switch len(best) {
	case 0:
		win.ReasonCode = "missing_correctness"
		return win
	case 1:
		return Win{best[0].RunAgentID, win.Strategy, "winner", "best_correctness"}
	}
	best = leaders(best, SourceReliability)
	switch len(best) {
	case 0:
		win.ReasonCode = "missing_reliability_tiebreaker"
		return win
	case 1:
		return Win{best[0].RunAgentID, win.Strategy, "winner", "reliability_tiebreaker"}
	}
	win.Status, win.ReasonCode = "tie", "correctness_reliability_tie"
	return win
}

// leaders are the contenders with the highest value; none when none has one.
func leaders(field []Contender, sortBy string) []Contender {
	var best []Contender
	for _, c := range field {
		v := c.value(sortBy)
		switch {
		case v == nil:
		case len(best) == 0 || *v > *best[0].value(sortBy):
			best = []Contender{c}
		case *v == *best[0].value(sortBy):
			best = append(best, c)
		}
	}
	return best
}

func filter(in []Contender, keep func(Contender) bool) []Contender {
	return slices.DeleteFunc(slices.Clone(in), func(c Contender) bool { return !keep(c) })
}
