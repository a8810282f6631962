package scoring

import (
	"fmt"
	"slices"
)

// unread warns, in a spec without errors, of what is declared and decides
// nothing, and of dimensions that can never have a score.
func (c *checker) unread() {
	all, scope := c.scopes()
	all = all || c.spec.JudgeMode == JudgeOnly // the format demands a validator even there
	for i, v := range c.spec.Validators {
		if !all && !scope[v.Key] {
			c.warn(fmt.Sprintf("validators[%d]", i), "no dimension reads the validator %s: it decides nothing", quoted(v.Key))
		}
	}
	dims := c.spec.Scorecard.Dimensions
	behaves := func(d Dimension) bool { return d.Source == SourceBehavioral }
	if c.spec.Behavioral != nil && !slices.ContainsFunc(dims, behaves) {
		c.warn("behavioral", "no dimension has the source %s: the signals decide nothing", SourceBehavioral)
	}
	for i, j := range c.spec.LLMJudges {
		reads := func(d Dimension) bool { return d.JudgeKey == j.Key }
		if !slices.ContainsFunc(dims, reads) {
			c.warn(fmt.Sprintf("llm_judges[%d]", i), "no dimension reads the judge %s: it is not asked", quoted(j.Key))
		}
	}
	for i, d := range dims {
		if row := c.collectorOf(d); row != nil && row.kind == "boolean" {
			c.warn(fmt.Sprintf("scorecard.dimensions[%d].metric", i), "the metric %s is a boolean: a dimension needs a number", quoted(d.Metric))
		}
	}
}

// scopes are the validators that dimensions rest on: all of them, or those of
// these keys.
func (c *checker) scopes() (all bool, keys map[string]bool) {
	keys = map[string]bool{}
	for _, d := range c.spec.Scorecard.Dimensions {
		row := c.collectorOf(d)
		all = all || d.Source == SourceValidators && len(d.Validators) == 0 || row != nil && row.name == CollectorPassRate
		if d.Source != SourceValidators {
			continue
		}
		for _, key := range d.Validators {
			keys[key] = true
		}
	}
	return all, keys
}

// collectorOf is the collector that a dimension's metric has, nil for none.
func (c *checker) collectorOf(d Dimension) *collector {
	if d.Source != SourceMetric {
		return nil
	}
	i, ok := c.metricAt[d.Metric]
	if !ok {
		return nil
	}
	return c.collectors[i]
}
