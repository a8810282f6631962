package scoring

import "slices"

// warnings are what a reader of the scorecard should know, sorted.
func warnings(t *trial, dims []scored) []string {
	var out []string
	if t.ev.FinalOutput == nil {
		out = append(out, "there is no final output")
	}
	if t.ev.Completed == nil {
		out = append(out, "the trial has no end")
	}
	for _, key := range sortedKeys(t.ev.Files) {
		if f := t.ev.Files[key]; f.Truncated {
			out = append(out, "capture "+quoted(key)+": "+cut(f))
		}
	}
	for _, key := range sortedKeys(t.ev.Directories) {
		if t.ev.Directories[key].Truncated {
			out = append(out, "capture "+quoted(key)+": the listing is cut")
		}
	}
	for _, d := range dims {
		if d.State == Available {
			continue
		}
		switch d.Source {
		case SourceLatency, SourceCost, SourceMetric, SourceBehavioral:
			out = append(out, "dimension "+quoted(d.Key)+": "+d.Reason)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// costPerCorrect is what each met validator cost. It needs no declared metric.
func (from *reading) costPerCorrect() SideMetric {
	out := SideMetric{State: Unavailable, Unit: "usd"}
	b, unknown := from.t.cost(from.s)
	if unknown != "" {
		out.Reason = unknown
		return out
	}
	out.Numerator, out.Denominator = &b.USD, new(0)
	available := false
	for i := range from.results {
		r := &from.results[i]
		available = available || r.State == Available
		if r.Verdict == VerdictPass {
			*out.Denominator++
		}
	}
	switch {
	case !available:
		out.Reason = "no validator has a score"
	case *out.Denominator == 0:
		out.Reason = "no validator is met"
	default:
		out.State, out.Value = Available, new(b.USD/float64(*out.Denominator))
	}
	return out
}
