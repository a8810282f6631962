package scoring

import (
	"cmp"
	"fmt"
	"slices"
)

// Scorer scores trials by one spec. It is immutable and may be used by several
// goroutines at once.
type Scorer struct {
	spec       Spec
	validators []validator
	used       []bool // validators that a dimension rests on
	metrics    []metric
	dimensions []dimension
	signals    []func(*trial, *Scorer, []result) value // of the spec, in declared order
	graders    []Grader
	judges     []judge
	prices     ListPrices
	watch      *watch // nil without a security block
}

// metric is a declared metric, ready to be read.
type metric struct {
	Metric
	read func(*trial, *Scorer, []result) value
	used bool // a dimension rests on it
}

// Compile normalizes and checks a spec and prepares everything that does not
// depend on a trial. There is a Scorer when the spec is valid and this version
// can score all of it; otherwise there are the errors that Validate finds and
// then what Unsupported does. Warnings are not among them.
func Compile(spec Spec) (*Scorer, []Problem) {
	c := inspect(spec)
	if found := append(c.errors(), c.unsupported()...); len(found) > 0 {
		return nil, found
	}
	s := &Scorer{spec: c.spec, validators: c.validators, used: make([]bool, len(c.validators)), graders: c.graders(), prices: CurrentPrices()}
	known := collectors()
	for _, m := range c.spec.Metrics {
		row, _ := findCollector(known, m.Collector)
		s.metrics = append(s.metrics, metric{Metric: m, read: row.read})
	}
	if c.spec.Behavioral != nil {
		for _, decl := range c.spec.Behavioral.Signals {
			s.signals = append(s.signals, findSignal(decl.Key).measure)
		}
	}
	s.prepareJudges(c.judges)
	s.prepareDimensions()
	return s, nil
}

// Spec is the normalized spec.
func (s *Scorer) Spec() Spec { return s.spec }

// Graders lists the commands to run after the agent has finished, in declared
// order.
func (s *Scorer) Graders() []Grader { return slices.Clone(s.graders) }

// Score is a pure function of the spec and the evidence. It never fails: what
// cannot be worked out is part of the scorecard, and so is a spec that Compile
// refuses. Whoever scores more than one trial compiles the spec once instead.
func Score(spec Spec, ev Evidence) Scorecard {
	s, found := Compile(spec)
	if s == nil {
		why := fmt.Sprintf("evaluation_spec.%s: %s", found[0].Field, found[0].Message)
		return Scorecard{
			Status: StatusPartial, Strategy: spec.Normalize().Scorecard.Strategy, Validity: ValidityInvalid,
			ValidityReason: why, PackError: why,
			Dimensions: []DimensionResult{}, Validators: []ValidatorResult{}, Metrics: []MetricResult{},
		}
	}
	return s.Score(ev)
}

// The statuses of a scorecard.
const (
	StatusComplete = "complete"
	StatusPartial  = "partial"
)

// The validity of a scorecard: how much of what it should rest on is there.
const (
	ValidityValid    = "valid"
	ValidityDegraded = "degraded"
	ValidityInvalid  = "invalid"
)

// trial is evidence as the spec looks at it.
func (s *Scorer) trial(ev Evidence) *trial {
	return &trial{ev: ev, captures: len(s.spec.PostExecutionChecks) > 0}
}

// Score scores one trial. It is a pure function of the spec and the evidence.
func (s *Scorer) Score(ev Evidence) Scorecard {
	t := s.trial(ev)
	results := make([]result, len(s.validators))
	for i := range s.validators {
		results[i] = t.judge(&s.validators[i])
	}
	metrics := make([]measured, len(s.metrics))
	for i := range s.metrics {
		metrics[i] = t.measure(&s.metrics[i], s, results)
	}
	from := &reading{t: t, s: s, results: results, metrics: metrics, signals: t.observe(s, results), judges: t.opinions(s)}
	dims := make([]scored, len(s.dimensions))
	for i := range s.dimensions {
		d := &s.dimensions[i]
		dims[i] = d.rate(d, from)
	}
	return s.card(from, dims)
}

func (s *Scorer) card(from *reading, dims []scored) Scorecard {
	results, metrics := from.results, from.metrics
	o := s.conclude(dims)
	c := Scorecard{
		Status: statusOf(dims), Strategy: s.spec.Scorecard.Strategy,
		OverallScore: o.score, Passed: o.passed, OverallReason: o.reason,
		Warnings:    warnings(from.t, dims),
		Dimensions:  make([]DimensionResult, len(dims)),
		Validators:  make([]ValidatorResult, len(results)),
		Metrics:     make([]MetricResult, len(metrics)),
		SideMetrics: SideMetrics{CostPerCorrectUSD: from.costPerCorrect()},
	}
	c.Validity, c.ValidityReason = s.validity(results, metrics, dims)
	for i, d := range dims {
		c.Dimensions[i] = d.DimensionResult
	}
	for i, r := range results {
		c.Validators[i] = r.ValidatorResult
	}
	for i, m := range metrics {
		c.Metrics[i] = m.MetricResult
	}
	for _, signal := range from.signals {
		c.Signals = append(c.Signals, signal.SignalResult)
	}
	for _, o := range from.judges {
		c.Judges = append(c.Judges, o.JudgeResult)
	}
	if s.watch != nil {
		c.Security = s.watch.judge(from.t.ev)
	}
	s.blame(&c, from, dims, o)
	return c
}

func statusOf(dims []scored) string {
	if len(dims) == 0 || slices.ContainsFunc(dims, func(d scored) bool { return d.State != Available }) {
		return StatusPartial
	}
	return StatusComplete
}

// validity looks at the dimensions and at what they rest on, nothing else: an
// unused metric that is unknown takes nothing away.
func (s *Scorer) validity(results []result, metrics []measured, dims []scored) (word, reason string) {
	validator := func(state State) string {
		for i, r := range results {
			if s.used[i] && r.State == state {
				return "validator " + quoted(r.Key) + ": " + r.Reason
			}
		}
		return ""
	}
	metric := func(state State) string {
		for i, m := range metrics {
			if s.metrics[i].used && m.State == state {
				return "metric " + quoted(m.Key) + ": " + m.Reason
			}
		}
		return ""
	}
	dimension := func(state State) string {
		for _, d := range dims {
			if d.State == state {
				return "dimension " + quoted(d.Key) + ": " + d.Reason
			}
		}
		return ""
	}
	for _, look := range []func(State) string{validator, metric, dimension} {
		if why := look(Errored); why != "" {
			return ValidityInvalid, clipTo(why, maxReason)
		}
	}
	for _, look := range []func(State) string{dimension, validator, metric} {
		if why := look(Unavailable); why != "" {
			return ValidityDegraded, clipTo(why, maxReason)
		}
	}
	return ValidityValid, ""
}

// blame says whose doing it is when the scorecard cannot simply be believed.
//
// What the agent never produced is its failure, and so is a grader that could
// not be started. A broken pack is not: it makes the trial invalid when a
// dimension rests on it, and so does evidence that the pack does not hold, or
// that was not collected, when without it there is no verdict.
//
// A judge that could not be reached makes the trial invalid as well, so that
// every trial is scored by the same judges; replies that say nothing, where
// they leave the verdict open.
func (s *Scorer) blame(c *Scorecard, from *reading, dims []scored, o overall) {
	for i, r := range from.results {
		if s.used[i] && r.OutcomeClass == ClassPackError {
			setOnce(&c.PackError, "validator", r.Key, r.Reason)
		}
		if r.lack != "" {
			setOnce(&c.NoOutput, "validator", r.Key, r.lack)
		}
	}
	for i, j := range from.judges {
		switch {
		case !s.judges[i].used:
		case j.cause == causeAgent:
			setOnce(&c.NoOutput, "judge", j.Key, j.Reason)
		case j.unreached:
			setOnce(&c.JudgeError, "judge", j.Key, j.Reason)
			c.JudgeErrorCode = cmp.Or(c.JudgeErrorCode, j.code)
		}
	}
	for _, i := range o.open {
		switch dims[i].cause {
		case causeJudge:
			setOnce(&c.JudgeError, "dimension", dims[i].Key, dims[i].Reason)
		case causeEngine:
			setOnce(&c.InfraError, "dimension", dims[i].Key, dims[i].Reason)
		case causePack:
			setOnce(&c.PackError, "dimension", dims[i].Key, dims[i].Reason)
		}
	}
}

func setOnce(field *string, what, key, reason string) {
	if *field == "" {
		*field = clipTo(fmt.Sprintf("%s %s: %s", what, quoted(key), reason), maxReason)
	}
}
