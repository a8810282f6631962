package scoring

import (
	"fmt"
	"slices"
)

func (c *checker) dimensions() {
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
		if row := c.source(at+".source", d); row != nil {
			c.dimension(at, d, row)
		}
	}
	behaves := func(d Dimension) bool { return d.Source == SourceBehavioral }
	if c.spec.Behavioral == nil && slices.ContainsFunc(c.spec.Scorecard.Dimensions, behaves) {
		c.add("behavioral", "is required: a dimension has the source %s", SourceBehavioral)
	}
}

func (c *checker) source(at string, d Dimension) *dimensionSource {
	row := findSource(d.Source)
	switch {
	case row != nil:
	case d.Source == "":
		short := []string{"correctness", SourceReliability, SourceLatency, SourceCost, SourceBehavioral}
		c.add(at, "is required: %s is no shorthand%s", quoted(d.Key), hint(d.Key, short))
	default:
		c.add(at, "unknown source %s%s", quoted(d.Source), hint(d.Source, DimensionSources()))
	}
	return row
}

// dimension checks a dimension whose source is known.
func (c *checker) dimension(at string, d Dimension, row *dimensionSource) {
	switch d.Source {
	case SourceValidators:
		c.scope(at, d)
	case SourceMetric:
		c.metricKey(at+".metric", d.Metric)
	}
	if row.raw {
		c.normalization(at+".normalization", d)
	}
	c.direction(at+".better_direction", d)
	c.judgeKey(at+".judge_key", d)
	c.ignored(at, d, row)
	c.weight(at+".weight", d)
	switch {
	case d.PassThreshold != nil:
		c.share(at+".pass_threshold", *d.PassThreshold)
	case d.Gate:
		c.add(at+".pass_threshold", "is required with gate: true")
	case c.spec.Scorecard.Strategy == Binary:
		c.add(at+".pass_threshold", "is required with the strategy %s", Binary)
	}
}

// ignored warns of fields that mean nothing to the dimension's source.
func (c *checker) ignored(at string, d Dimension, row *dimensionSource) {
	for _, f := range []struct {
		name string
		idle bool
	}{
		{"validators", len(d.Validators) > 0 && d.Source != SourceValidators},
		{"metric", d.Metric != "" && d.Source != SourceMetric},
		{"normalization", d.Normalization != nil && !row.raw},
	} {
		if f.idle {
			c.warn(at+"."+f.name, "is not read with the source %s", d.Source)
		}
	}
}

// weight checks a weight. A dimension that weighs nothing beside others that do
// is scored and decides nothing, unless it is a gate.
func (c *checker) weight(at string, d Dimension) {
	switch card := c.spec.Scorecard; {
	case d.Weight == nil:
	case *d.Weight < 0 || !finite(*d.Weight):
		c.add(at, "must not be negative")
	case *d.Weight > 0 || d.Gate || card.Strategy == Binary:
	case slices.ContainsFunc(card.Dimensions, weighs):
		c.warn(at, "is 0: the dimension %s decides nothing", quoted(d.Key))
	}
}

// weighs says that a dimension counts in a weighted mean.
func weighs(d Dimension) bool { return d.Weight == nil || *d.Weight > 0 }

func (c *checker) judgeKey(at string, d Dimension) {
	keys := make([]string, len(c.spec.LLMJudges))
	for i, j := range c.spec.LLMJudges {
		keys[i] = j.Key
	}
	switch {
	case d.Source != SourceJudge && d.JudgeKey != "":
		c.add(at, "is for the source %s only", SourceJudge)
	case d.Source != SourceJudge:
	case d.JudgeKey == "":
		c.add(at, "is required with the source %s%s", SourceJudge, hint("", keys))
	case !slices.Contains(keys, d.JudgeKey):
		c.add(at, "no judge is called %s%s", quoted(d.JudgeKey), c.hint(d.JudgeKey, keys))
	}
}

func (c *checker) scope(at string, d Dimension) {
	for j, key := range d.Validators {
		if _, ok := c.validatorAt[key]; !ok {
			keys := keysOf(c.spec.Validators, func(v Validator) string { return v.Key })
			c.add(fmt.Sprintf("%s.validators[%d]", at, j), "no validator is called %s%s", quoted(key), c.hint(key, keys))
		}
	}
}

func keysOf[T any](list []T, key func(T) string) []string {
	keys := make([]string, len(list))
	for i, item := range list {
		keys[i] = key(item)
	}
	return keys
}

func (c *checker) metricKey(at, key string) {
	if _, ok := c.metricAt[key]; ok && key != "" {
		return
	}
	keys := keysOf(c.spec.Metrics, func(m Metric) string { return m.Key })
	if key == "" {
		c.add(at, "is required with the source %s%s", SourceMetric, hint("", keys))
		return
	}
	c.add(at, "no metric is called %s%s", quoted(key), c.hint(key, keys))
}

// normalization: latency and cost are better when lower, whatever the
// direction says; a wrong direction is a problem of its own.
func (c *checker) normalization(at string, d Dimension) {
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

func (c *checker) bound(at string, v *float64) {
	switch {
	case v == nil:
		c.add(at, "is required")
	case !finite(*v):
		c.add(at, "must be a number")
	}
}

func (c *checker) direction(at string, d Dimension) {
	switch d.Source {
	case SourceMetric:
		if d.BetterDirection != Higher && d.BetterDirection != Lower {
			c.add(at, "must be %s or %s", Higher, Lower)
		}
	case SourceLatency, SourceCost:
		if d.BetterDirection != Lower {
			c.add(at, "must be %s: less %s is always better", Lower, d.Source)
		}
	case SourceHumanPreference: // the format says nothing of its direction
	default:
		if d.BetterDirection != Higher {
			c.add(at, "must be %s or left out", Higher)
		}
	}
}
