package packtest

import (
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// deadWeights reports the parts of the evaluation spec that decide nothing.
func (s *subject) deadWeights(r *Report) {
	dead := func(field, format string, args ...any) {
		r.add(Finding{Severity: Warning, Code: CodeDeadWeight, Field: specField + "." + field, Message: fmt.Sprintf(format, args...)})
	}
	for _, w := range s.warnings() {
		dead(w.Field, "%s", w.Message)
	}
	for i, m := range s.spec.Metrics {
		if !slices.ContainsFunc(s.spec.Scorecard.Dimensions, func(d scoring.Dimension) bool {
			return d.Source == scoring.SourceMetric && d.Metric == m.Key
		}) {
			dead(fmt.Sprintf("metrics[%d]", i), "no dimension reads the metric %s: it is shown and decides nothing", quoted(m.Key))
		}
	}
	s.deadDimensions(dead)
}

func (s *subject) deadDimensions(dead func(field, format string, args ...any)) {
	card := s.spec.Scorecard
	if card.Strategy == scoring.Binary {
		return // every dimension is a gate
	}
	weighs := func(d scoring.Dimension) bool { return !d.Gate && (d.Weight == nil || *d.Weight > 0) }
	none := !slices.ContainsFunc(card.Dimensions, weighs)
	for i, d := range card.Dimensions {
		at := fmt.Sprintf("scorecard.dimensions[%d]", i)
		if d.Gate {
			continue
		}
		if d.PassThreshold != nil {
			dead(at+".pass_threshold", "it is read of a gate only: dimension %s has neither gate: true nor the strategy %s", quoted(d.Key), scoring.Binary)
		}
		if none && d.Weight != nil { // beside others that weigh something, the spec's own check says it
			dead(at+".weight", "every weight is 0, and then all count the same: leave them out")
		}
	}
}

// warnings are what the spec's own check finds in a valid spec.
func (s *subject) warnings() []scoring.Problem {
	return slices.DeleteFunc(s.spec.Validate(), func(p scoring.Problem) bool { return !p.Warning })
}

// unused says which validators no dimension reads, by index: the spec's own
// warnings name them.
func (s *subject) unused() map[int]bool {
	unused := map[int]bool{}
	for _, w := range s.warnings() {
		for i := range s.spec.Validators {
			if w.Field == fmt.Sprintf("validators[%d]", i) {
				unused[i] = true
			}
		}
	}
	return unused
}

// duplicates reports cases that are the same but for their key.
func (s *subject) duplicates(r *Report) {
	type content struct{ set, challenge, document string }
	first := map[content]string{}
	for _, c := range s.cases {
		bare := c.Case
		bare.CaseKey, bare.ItemKey = "", ""
		id := content{c.set, c.ChallengeKey, string(pack.StoredCase(bare))}
		if key, ok := first[id]; ok {
			r.add(Finding{Severity: Warning, Code: CodeDuplicate, InputSet: c.set, Case: c.Key(),
				Message: fmt.Sprintf("the same as case %s but for the key: it adds weight and tests nothing more", quoted(key))})
			continue
		}
		first[id] = c.Key()
	}
}
