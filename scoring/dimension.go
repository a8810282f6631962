package scoring

import (
	"cmp"
	"fmt"
	"slices"
)

// dimension is a declared dimension, ready to be scored.
type dimension struct {
	Dimension
	weight float64
	rate   func(*dimension, *reading) scored
	scope  []int // validators read, for the sources validators and metric
	metric int   // index, for the source metric
	judge  int   // index, for the source llm_judge
}

// scored is a dimension's result, with what its JSON does not say.
type scored struct {
	DimensionResult
	cause cause
}

func (d *dimension) give(score float64) scored {
	return scored{DimensionResult: DimensionResult{
		Key: d.Key, Source: d.Source, Gate: d.Gate, State: Available, Score: new(min(max(score, 0), 1)),
	}}
}

func (d *dimension) lack(state State, c cause, reason string) scored {
	return scored{cause: c, DimensionResult: DimensionResult{
		Key: d.Key, Source: d.Source, Gate: d.Gate, State: state, Reason: reason, AgentFault: c == causeAgent,
	}}
}

// by names the event that explains the score.
func (s scored) by(at *Source) scored {
	s.Event = at
	return s
}

// reading is all that a dimension's score can rest on.
type reading struct {
	t       *trial
	s       *Scorer
	results []result
	metrics []measured
	signals []observed
	judges  []opinion
}

// dimensionSource is a row of the table of sources; one without rate is one
// that only the format has so far.
type dimensionSource struct {
	name string
	rate func(*dimension, *reading) scored
	// raw: the source is a number that has to be normalized.
	raw bool
}

// sources is the one table of dimension sources.
func sources() []dimensionSource {
	return []dimensionSource{
		{name: SourceValidators, rate: (*dimension).validators},
		{name: SourceMetric, rate: (*dimension).fromMetric, raw: true},
		{name: SourceReliability, rate: (*dimension).reliability},
		{name: SourceLatency, rate: (*dimension).latency, raw: true},
		{name: SourceCost, rate: (*dimension).cost, raw: true},
		{name: SourceBehavioral, rate: (*dimension).behavioral},
		{name: SourceJudge, rate: (*dimension).judged},
		{name: SourceHumanPreference},
	}
}

// findSource is the row of a source, nil when there is none.
func findSource(name string) *dimensionSource {
	rows := sources()
	if i := slices.IndexFunc(rows, func(r dimensionSource) bool { return r.name == name }); i >= 0 {
		return &rows[i]
	}
	return nil
}

// DimensionSources lists the sources a dimension may have, for documents.
func DimensionSources() []string {
	rows := sources()
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.name
	}
	return names
}

// validators is the mean of the scores in scope. The first validator without a
// score decides what the dimension lacks; an agent that did not produce what
// any of them reads is at fault.
func (d *dimension) validators(from *reading) scored {
	if len(d.scope) == 0 {
		return d.lack(Unavailable, causePack, "no validator is in scope")
	}
	sum := 0.0
	var first *result
	agent := false
	for _, i := range d.scope {
		r := &from.results[i]
		if r.State == Available {
			sum += *r.NormalizedScore
			continue
		}
		agent = agent || r.cause == causeAgent
		if first == nil {
			first = r
		}
	}
	if first == nil {
		at := weakest(d.scope, func(i int) *float64 { return from.results[i].NormalizedScore })
		return d.give(sum / float64(len(d.scope))).by(from.results[d.scope[at]].Source)
	}
	out := d.lack(first.State, first.cause, clipTo(fmt.Sprintf("validator %s: %s", quoted(first.Key), first.Reason), maxReason))
	out.AgentFault = agent
	return out.by(first.Source)
}

func (d *dimension) fromMetric(from *reading) scored {
	m := &from.metrics[d.metric]
	switch {
	case m.State != Available:
		return d.lack(m.State, m.cause, clipTo(fmt.Sprintf("metric %s: %s", quoted(m.Key), m.Reason), maxReason)).by(m.Source)
	case m.numeric == nil:
		return d.lack(Unavailable, causePack, fmt.Sprintf("metric %s is not a number", quoted(m.Key)))
	case d.BetterDirection == Higher:
		return d.give(higherIsBetter(*m.numeric, *d.Normalization.Target, *d.Normalization.Max)).by(m.Source)
	}
	return d.give(lowerIsBetter(*m.numeric, *d.Normalization.Target, *d.Normalization.Max)).by(m.Source)
}

// reliability is 1 for a trial that reached its end without a failure. No
// metric has to be declared for it.
func (d *dimension) reliability(from *reading) scored {
	ev := &from.t.ev
	if ev.Completed == nil {
		return d.lack(Unavailable, causeNone, "the trial has no end")
	}
	if *ev.Completed && ev.FailureCount == 0 {
		return d.give(1).by(from.t.at(AtEnd))
	}
	return d.give(0).by(cmp.Or(from.t.at(AtFailure), from.t.at(AtEnd)))
}

func (d *dimension) judged(from *reading) scored {
	o := &from.judges[d.judge]
	if o.State != Available {
		return d.lack(o.State, o.cause, clipTo(fmt.Sprintf("judge %s: %s", quoted(o.Key), o.Reason), maxReason)).by(o.Source)
	}
	return d.give(*o.NormalizedScore).by(o.Source)
}

func (d *dimension) latency(from *reading) scored { return d.lower(from.t.latency(from.s, nil)) }

func (d *dimension) cost(from *reading) scored { return d.lower(from.t.modelCost(from.s, nil)) }

func (d *dimension) lower(v value) scored {
	if v.state != Available {
		return d.lack(v.state, v.cause, v.reason)
	}
	return d.give(lowerIsBetter(v.number, *d.Normalization.Target, *d.Normalization.Max)).by(v.at)
}

// lowerIsBetter maps a number onto 0..1: 1 up to target, 0 from worst on.
func lowerIsBetter(v, target, worst float64) float64 {
	switch {
	case v <= target:
		return 1
	case v >= worst:
		return 0
	}
	return 1 - part(v, target, worst)
}

// higherIsBetter maps a number onto 0..1: 1 from target on, 0 up to floor.
func higherIsBetter(v, target, floor float64) float64 {
	switch {
	case v >= target:
		return 1
	case v <= floor:
		return 0
	}
	return part(v, floor, target)
}

// part is how far v is on the way from one end to the other, also where the
// distance between two float64 is none.
func part(v, from, to float64) float64 {
	if !finite(to - from) {
		v, from, to = v/2, from/2, to/2
	}
	return (v - from) / (to - from)
}

// prepareDimensions resolves the keys that dimensions name. The spec is valid.
func (s *Scorer) prepareDimensions() {
	all := make([]int, len(s.validators))
	for i := range all {
		all[i] = i
	}
	metricAt := placesOf(s.metrics, func(m metric) string { return m.Key })
	for _, decl := range s.spec.Scorecard.Dimensions {
		d := dimension{Dimension: decl, weight: 1, rate: findSource(decl.Source).rate}
		if decl.Weight != nil {
			d.weight = *decl.Weight
		}
		switch decl.Source {
		case SourceValidators:
			d.scope = all
			if len(decl.Validators) > 0 {
				d.scope = s.indexes(decl.Validators)
			}
		case SourceMetric:
			d.metric = metricAt[decl.Metric]
			s.metrics[d.metric].used = true
			if s.metrics[d.metric].Collector == CollectorPassRate {
				d.scope = all
			}
		}
		if decl.Source == SourceJudge {
			d.judge = slices.IndexFunc(s.judges, func(j judge) bool { return j.Key == decl.JudgeKey })
			s.judges[d.judge].used = true
			if decl.PassThreshold != nil {
				s.judges[d.judge].mark = *decl.PassThreshold
			}
		}
		for _, i := range d.scope {
			s.used[i] = true
		}
		s.dimensions = append(s.dimensions, d)
	}
}

// indexes are the validators of these keys, in declared order.
func (s *Scorer) indexes(keys []string) []int {
	wanted := make(map[string]bool, len(keys))
	for _, key := range keys {
		wanted[key] = true
	}
	var out []int
	for i, v := range s.validators {
		if wanted[v.Key] {
			out = append(out, i)
		}
	}
	return out
}
