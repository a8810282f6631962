package scoring

import "fmt"

// Unsupported returns what is valid and cannot be scored by this version: the
// parts of the format whose row in a table has no implementation. It speaks of
// what it knows even when other parts of the spec are not valid.
func (s Spec) Unsupported() []Problem { return inspect(s).unsupported() }

func (c *checker) unsupported() []Problem {
	var p problems
	for i := range c.validators {
		unsupportedValidator(&p, fmt.Sprintf("validators[%d]", i), &c.validators[i])
	}
	for i, row := range c.collectors {
		if row != nil && row.read == nil {
			p.add(fmt.Sprintf("metrics[%d].collector", i), "%s", notYet("the collector", row.name))
		}
	}
	if c.spec.Behavioral != nil {
		for i, s := range c.spec.Behavioral.Signals {
			if row := findSignal(s.Key); row != nil && row.measure == nil {
				p.add(fmt.Sprintf("behavioral.signals[%d].key", i), "%s", notYet("the signal", row.name))
			}
		}
	}
	for _, j := range c.judges {
		for _, e := range j.evidence {
			unsupportedReference(&p, e.at, e.ref)
		}
	}
	for i, d := range c.spec.Scorecard.Dimensions {
		if row := findSource(d.Source); row != nil && row.rate == nil {
			p.add(fmt.Sprintf("scorecard.dimensions[%d].source", i), "%s", notYet("the dimension source", d.Source))
		}
	}
	return p
}

func unsupportedValidator(p *problems, at string, v *validator) {
	if v.row != nil && !v.row.supported() {
		p.add(at+".type", "%s", notYet("the validator type", v.Type))
	}
	unsupportedReference(p, at+".target", v.target)
	unsupportedReference(p, at+".expected_from", v.expected)
}

// unsupportedReference: a reference of kind 0 is none, or refused already, and
// tool calls are read by the validator itself.
func unsupportedReference(p *problems, at string, r reference) {
	if r.kind != 0 && r.kind != refToolCalls && r.kind.resolver() == nil {
		p.add(at, "this version cannot read %s yet", quoted(r.text))
	}
}
