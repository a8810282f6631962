package scoring

import (
	"fmt"
	"slices"
)

func (c *checker) checkMetrics() {
	known := collectors()
	for i, m := range c.spec.Metrics {
		at := fmt.Sprintf("metrics[%d]", i)
		c.own(at+".key", m.Key, "metric")
		kinds := []string{"numeric", "text", "boolean"}
		typed := slices.Contains(kinds, m.Type)
		if !typed {
			c.add(at+".type", "must be numeric, text or boolean, not %s%s", quoted(m.Type), meant(m.Type, kinds))
		}
		row, wrong := findCollector(known, m.Collector)
		c.collectors = append(c.collectors, row)
		switch {
		case row == nil:
			c.add(at+".collector", "%s", wrong)
		case typed && m.Type != row.kind:
			c.warn(at+".type", "is not what the collector gives: %s is %s", row.name, row.kind)
		}
	}
}

func (c *checker) behavioral() {
	if c.spec.Behavioral == nil {
		return
	}
	if len(c.spec.Behavioral.Signals) == 0 {
		c.add("behavioral.signals", "needs at least one signal")
	}
	seen := map[string]bool{}
	for i, s := range c.spec.Behavioral.Signals {
		at := fmt.Sprintf("behavioral.signals[%d]", i)
		c.signalKey(at+".key", s.Key, seen)
		if s.Weight <= 0 || !finite(s.Weight) {
			c.add(at+".weight", "must be greater than 0")
		}
		switch {
		case s.PassThreshold != nil:
			c.share(at+".pass_threshold", *s.PassThreshold)
		case s.Gate:
			c.add(at+".pass_threshold", "is required with gate: true")
		}
	}
}

func (c *checker) signalKey(at, key string, seen map[string]bool) {
	names := make([]string, 0, len(signals()))
	for _, s := range signals() {
		names = append(names, s.name)
	}
	switch {
	case key == refusedSignal:
		c.add(at, "the format does not allow the signal %s: nothing measures it", refusedSignal)
	case !c.oneOf(at, "signal", key, names):
	case seen[key]:
		c.add(at, "must be unique: %s is used before", quoted(key))
	}
	seen[key] = true
}
