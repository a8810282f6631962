package scoring

import (
	"fmt"
	"slices"
)

// dimensionSources are the sources this version has.
func dimensionSources() []string {
	return []string{SourceValidators, SourceMetric, SourceReliability, SourceLatency, SourceCost}
}

// absentSources are the sources that only the format has so far.
func absentSources() []string { return []string{"behavioral", "llm_judge", "human_preference"} }

// DimensionSources lists the sources a dimension may have, for documents.
func DimensionSources() []string { return dimensionSources() }

func (c *compiler) dimensions() {
	seen := map[string]bool{}
	for i, d := range c.spec.Scorecard.Dimensions {
		at := fmt.Sprintf("scorecard.dimensions[%d]", i)
		switch {
		case d.Key == "":
			c.add(at+".key", "is required")
			continue
		case seen[d.Key]:
			c.add(at, "must be unique: there is a dimension %s before", quoted(d.Key))
			continue
		}
		seen[d.Key] = true
		if c.source(at+".source", d) {
			c.dimension(at, d)
		}
	}
}

func (c *compiler) source(at string, d Dimension) bool {
	switch {
	case slices.Contains(dimensionSources(), d.Source):
		return true
	case slices.Contains(absentSources(), d.Source):
		c.add(at, "%s", notYet("the dimension source", d.Source))
	case d.Source == "":
		short := []string{"correctness", SourceReliability, SourceLatency, SourceCost}
		c.add(at, "is required: %s is no shorthand%s", quoted(d.Key), hint(d.Key, short))
	default:
		c.add(at, "unknown source %s%s", quoted(d.Source), hint(d.Source, append(dimensionSources(), absentSources()...)))
	}
	return false
}

// dimension checks a dimension whose source is known.
func (c *compiler) dimension(at string, d Dimension) {
	switch d.Source {
	case SourceValidators:
		c.scope(at, d)
	case SourceMetric:
		c.metricKey(at+".metric", d.Metric)
	}
	switch d.Source {
	case SourceMetric, SourceLatency, SourceCost:
		c.normalization(at+".normalization", d)
	}
	c.direction(at+".better_direction", d)
	if d.JudgeKey != "" {
		c.add(at+".judge_key", "is for the source llm_judge only")
	}
	if d.Weight != nil && (*d.Weight < 0 || !finite(*d.Weight)) {
		c.add(at+".weight", "must not be negative")
	}
	switch {
	case d.PassThreshold != nil:
		c.share(at+".pass_threshold", *d.PassThreshold)
	case d.Gate:
		c.add(at+".pass_threshold", "is required with gate: true")
	case c.spec.Scorecard.Strategy == Binary:
		c.add(at+".pass_threshold", "is required with the strategy %s", Binary)
	}
}

func (c *compiler) scope(at string, d Dimension) {
	keys := make([]string, len(c.spec.Validators))
	for i, v := range c.spec.Validators {
		keys[i] = v.Key
	}
	for j, key := range d.Validators {
		if !slices.Contains(keys, key) {
			c.add(fmt.Sprintf("%s.validators[%d]", at, j), "no validator is called %s%s", quoted(key), hint(key, keys))
		}
	}
}

func (c *compiler) metricKey(at, key string) {
	keys := make([]string, len(c.spec.Metrics))
	for i, m := range c.spec.Metrics {
		keys[i] = m.Key
	}
	switch {
	case key == "":
		c.add(at, "is required with the source %s%s", SourceMetric, hint("", keys))
	case !slices.Contains(keys, key):
		c.add(at, "no metric is called %s%s", quoted(key), hint(key, keys))
	}
}

// normalization: latency and cost are better when lower, whatever the
// direction says; a wrong direction is a problem of its own.
func (c *compiler) normalization(at string, d Dimension) {
	n := d.Normalization
	if n == nil {
		c.add(at, "is required with the source %s: give target and max", d.Source)
		return
	}
	before := len(c.problems)
	c.bound(at+".target", n.Target)
	c.bound(at+".max", n.Max)
	if len(c.problems) > before {
		return
	}
	lower := d.BetterDirection == Lower || d.Source != SourceMetric
	switch {
	case lower && *n.Max <= *n.Target:
		c.add(at+".max", "must be greater than target when lower is better")
	case d.BetterDirection == Higher && !lower && *n.Max >= *n.Target:
		c.add(at+".max", "must be less than target when higher is better: it is the worst value")
	}
}

func (c *compiler) bound(at string, v *float64) {
	switch {
	case v == nil:
		c.add(at, "is required")
	case !finite(*v):
		c.add(at, "must be a number")
	}
}

func (c *compiler) direction(at string, d Dimension) {
	switch d.Source {
	case SourceMetric:
		if d.BetterDirection != Higher && d.BetterDirection != Lower {
			c.add(at, "must be %s or %s", Higher, Lower)
		}
	case SourceLatency, SourceCost:
		if d.BetterDirection != Lower {
			c.add(at, "must be %s: less %s is always better", Lower, d.Source)
		}
	default:
		if d.BetterDirection != Higher {
			c.add(at, "must be %s or left out", Higher)
		}
	}
}
