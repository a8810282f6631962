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

// signal is a row of the table of behavioural signals; one without measure is
// one that only the format has so far.
type signal struct {
	name, doc string
	measure   func(*trial) value
}

// signals is the one table of behavioural signals.
func signals() []signal {
	return []signal{
		{"recovery_behavior", "after a failed call the agent does something else", nil},
		{"exploration_efficiency", "the agent does not repeat a call", nil},
		{"error_cascade", "failed calls do not follow one another", nil},
		{"scope_adherence", "the agent keeps to the tools it was given", nil},
	}
}

// refusedSignal is a name that the format keeps and no pack may use.
const refusedSignal = "confidence_calibration"

// SignalType describes a behavioural signal, for documents.
type SignalType struct {
	Name      string `json:"name"`
	Doc       string `json:"doc"`
	Supported bool   `json:"supported"`
}

// SignalTypes lists the signals that a spec may name.
func SignalTypes() []SignalType {
	var out []SignalType
	for _, s := range signals() {
		out = append(out, SignalType{s.name, s.doc, s.measure != nil})
	}
	return out
}

func findSignal(name string) *signal {
	rows := signals()
	if i := slices.IndexFunc(rows, func(s signal) bool { return s.name == name }); i >= 0 {
		return &rows[i]
	}
	return nil
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
