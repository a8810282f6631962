package scoring

import "fmt"

// Warnings are the things in a valid spec that cannot do what their author
// wants: they leave dimensions without a score or trials without a judgement.
// A spec that is not valid has none.
func (s Spec) Warnings() []Problem {
	scorer, _ := Compile(s)
	if scorer == nil {
		return nil
	}
	var p problems
	for i, v := range scorer.validators {
		at := fmt.Sprintf("validators[%d]", i)
		scorer.warnValidator(&p, at, &v)
		if !scorer.used[i] {
			p.add(at, "no dimension reads the validator %s: it decides nothing", quoted(v.Key))
		}
	}
	for i, d := range scorer.dimensions {
		if d.Source == SourceMetric && collectorType(scorer.metrics[d.metric].Collector) == "boolean" {
			p.add(fmt.Sprintf("scorecard.dimensions[%d].metric", i), "the metric %s is a boolean: a dimension needs a number", quoted(d.Metric))
		}
	}
	return p
}

func (s *Scorer) warnValidator(p *problems, at string, v *validator) {
	if v.text != nil && v.expected.kind == refLiteral {
		if _, err := v.text(v.expected.key); err != nil {
			p.add(at+".expected_from", "%v", err)
		}
	}
	if len(s.spec.PostExecutionChecks) > 0 {
		return // then unknown keys are problems
	}
	for _, side := range []struct {
		field string
		ref   reference
	}{{"target", v.target}, {"expected_from", v.expected}} {
		if side.ref.kind == refFile {
			p.add(at+"."+side.field, "%s is never captured: there are no post_execution_checks", quoted(side.ref.text))
		}
	}
}

func collectorType(name string) string {
	for _, c := range Collectors() {
		if c.Name == name {
			return c.Type
		}
	}
	return ""
}
