package packtest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/scoring"
)

// alwaysPasses and alwaysFails are a validator that looks at nothing.
func alwaysPasses(v scoring.Validator) scoring.Validator { return constant(v, "literal:same") }
func alwaysFails(v scoring.Validator) scoring.Validator  { return constant(v, "literal:other") }

func constant(v scoring.Validator, expected string) scoring.Validator {
	return scoring.Validator{Key: v.Key, Type: scoring.ExactMatch, Target: "literal:same", ExpectedFrom: expected}
}

// with is the spec with some of its validators changed; nil when it cannot be
// compiled.
func (s *subject) with(change func(i int, v scoring.Validator) scoring.Validator) *scoring.Scorer {
	spec := s.spec
	spec.Validators = slices.Clone(spec.Validators)
	for i, v := range spec.Validators {
		spec.Validators[i] = change(i, v)
	}
	scorer, _ := scoring.Compile(spec)
	return scorer
}

// span is what a dimension can score at all.
type span struct {
	low, high float64
	scored    bool
	reason    string // why it never was
}

// reach is what trials that end regularly can come to: with every validator
// passing and with every one failing, under any load.
type reach struct {
	dimensions []span
	best       float64 // overall score
	anyPasses  bool    // when every validator passes
	allPass    bool    // even when every validator fails
}

func (s *subject) reach() (reach, bool) {
	best := s.with(func(_ int, v scoring.Validator) scoring.Validator { return alwaysPasses(v) })
	worst := s.with(func(_ int, v scoring.Validator) scoring.Validator { return alwaysFails(v) })
	if best == nil || worst == nil {
		return reach{}, false
	}
	r := reach{allPass: true, dimensions: make([]span, len(s.spec.Scorecard.Dimensions))}
	for i := range r.dimensions {
		r.dimensions[i] = span{low: 1}
	}
	for _, l := range s.loads() {
		ev := s.under(l)
		up, down := best.Score(ev), worst.Score(ev)
		r.anyPasses = r.anyPasses || up.Decide().Outcome == scoring.OutcomePassed
		r.allPass = r.allPass && down.Decide().Outcome == scoring.OutcomePassed
		if up.OverallScore != nil {
			r.best = max(r.best, *up.OverallScore)
		}
		for i := range r.dimensions {
			r.dimensions[i].take(up.Dimensions[i])
			r.dimensions[i].take(down.Dimensions[i])
		}
	}
	return r, true
}

func (s *span) take(d scoring.DimensionResult) {
	if d.Score == nil {
		s.reason = d.Reason
		return
	}
	s.scored, s.low, s.high = true, min(s.low, *d.Score), max(s.high, *d.Score)
}

// thresholds reports those that no trial can reach and those that every trial
// reaches.
func (s *subject) thresholds(r *Report) {
	can, ok := s.reach()
	if !ok {
		return
	}
	card := s.spec.Scorecard
	gates, blocked := 0, false
	for i, d := range card.Dimensions {
		if card.Strategy != scoring.Binary && !d.Gate {
			s.neverScored(r, i, can.dimensions[i])
			continue
		}
		gates++
		blocked = s.gate(r, i, can.dimensions[i]) || blocked
	}
	at := Finding{Severity: Error, Code: CodeUnreachable, Field: specField + ".scorecard.pass_threshold"}
	switch {
	case blocked:
	case !can.anyPasses && (card.PassThreshold == nil || can.best >= *card.PassThreshold):
		at.Message = "no trial can pass: the gates and the threshold cannot be met at once"
		r.add(at)
	case !can.anyPasses:
		at.Message = fmt.Sprintf("no trial can pass: the overall score is %.4g at best", can.best)
		r.add(at)
	case card.PassThreshold != nil && *card.PassThreshold == 0:
		at.Severity, at.Code, at.Message = Warning, CodeIdle, "every trial reaches 0: raise it, or leave it out"
		r.add(at)
	case can.allPass && gates == 0 && card.PassThreshold == nil:
		at.Severity, at.Code, at.Message = Warning, CodeIdle, "there is no threshold and no gate: a trial that fails every validator passes"
		r.add(at)
	case can.allPass && gates == 0:
		at.Severity, at.Code, at.Message = Warning, CodeIdle, "even a trial that fails every validator reaches it"
		r.add(at)
	}
}

// gate looks at the threshold of one gate, and says whether it stops every
// trial.
func (s *subject) gate(r *Report, i int, can span) bool {
	d := s.spec.Scorecard.Dimensions[i]
	f := Finding{Severity: Error, Code: CodeUnreachable, Field: fmt.Sprintf("%s.scorecard.dimensions[%d].pass_threshold", specField, i)}
	switch {
	case !can.scored:
		f.Message = fmt.Sprintf("no trial can pass: dimension %s is a gate and never has a score: %s", quoted(d.Key), clip(can.reason, maxReason))
	case can.high < *d.PassThreshold:
		f.Message = fmt.Sprintf("no trial can pass: dimension %s is a gate and scores %.4g at best", quoted(d.Key), can.high)
	case can.low >= *d.PassThreshold:
		f.Severity, f.Code = Warning, CodeIdle
		f.Message = fmt.Sprintf("every trial that has a score in dimension %s reaches it: the gate stops nothing else", quoted(d.Key))
	default:
		return false
	}
	r.add(f)
	return f.Severity == Error
}

// neverScored reports a dimension that counts and never has a score.
func (s *subject) neverScored(r *Report, i int, can span) {
	d := s.spec.Scorecard.Dimensions[i]
	at := fmt.Sprintf("%s.scorecard.dimensions[%d]", specField, i)
	said := slices.ContainsFunc(r.Findings, func(f Finding) bool { return strings.HasPrefix(f.Field, at+".") })
	if can.scored || said {
		return
	}
	r.add(Finding{Severity: Warning, Code: CodeDeadWeight, Field: at,
		Message: fmt.Sprintf("dimension %s never has a score: %s", quoted(d.Key), clip(can.reason, maxReason))})
}

// load is what a trial may take, apart from what its validators say.
type load struct{ latency, ttft, input, output, calls, failures int64 }

// axis is one of load's fields and the values to try.
type axis struct {
	set    func(*load, int64)
	values []int64
}

// endless is more of anything than a trial can take.
const endless = 1_000_000_000_000

// maxLoads bounds the combinations that are tried.
const maxLoads = 20_000

// loads are the combinations of little, much and the turning points in between
// that the dimensions tell apart.
func (s *subject) loads() []load {
	fields := [...]func(*load, int64){
		func(l *load, v int64) { l.latency = v }, func(l *load, v int64) { l.ttft = v },
		func(l *load, v int64) { l.input = v }, func(l *load, v int64) { l.output = v },
		func(l *load, v int64) { l.calls = v }, func(l *load, v int64) { l.failures = v },
	}
	values := [len(fields)][]int64{}
	for _, d := range s.spec.Scorecard.Dimensions {
		for _, at := range s.axesOf(d) {
			values[at] = append(append(values[at], 0, endless), turningPoints(d)...)
		}
	}
	var axes []axis
	total := 1
	for i, v := range values {
		slices.Sort(v)
		if v = slices.Compact(v); len(v) > 0 {
			axes, total = append(axes, axis{fields[i], v}), total*len(v)
		}
	}
	if total > maxLoads {
		for i := range axes {
			axes[i].values = []int64{0, endless}
		}
	}
	loads := []load{{}}
	for _, a := range axes {
		var more []load
		for _, l := range loads {
			for _, v := range a.values {
				a.set(&l, v)
				more = append(more, l)
			}
		}
		loads = more
	}
	return loads
}

// axesOf are the fields of load that a dimension rests on, by number. A single
// question has no tool calls, and a failure ends it.
func (s *subject) axesOf(d scoring.Dimension) []int {
	const latency, ttft, input, output, calls, failures = 0, 1, 2, 3, 4, 5
	source := d.Source
	if i := slices.IndexFunc(s.spec.Metrics, func(m scoring.Metric) bool { return m.Key == d.Metric }); source == scoring.SourceMetric && i >= 0 {
		source = s.spec.Metrics[i].Collector
	}
	tools := !s.pack.Asks()
	switch source {
	case scoring.SourceLatency, "run_total_latency_ms":
		return []int{latency}
	case "run_ttft_ms":
		return []int{ttft}
	case "run_input_tokens":
		return []int{input}
	case "run_output_tokens":
		return []int{output}
	case "run_total_tokens", "run_agent_tokens", scoring.SourceCost, scoring.CollectorCost:
		return []int{input, output}
	case "run_tool_call_count":
		if tools {
			return []int{calls}
		}
	case "run_failure_count", scoring.SourceReliability, scoring.SourceBehavioral, "behavioral_recovery_score",
		"behavioral_exploration_efficiency_score", "behavioral_error_cascade_score", "behavioral_scope_adherence_score":
		if tools {
			return []int{failures}
		}
	}
	return nil
}

// turningPoints are where a dimension's score stops to rise or fall.
func turningPoints(d scoring.Dimension) []int64 {
	if d.Normalization == nil {
		return nil
	}
	var points []int64
	for _, v := range []*float64{d.Normalization.Target, d.Normalization.Max} {
		if v != nil && *v > 0 && *v < endless {
			points = append(points, int64(math.Floor(*v)), int64(math.Ceil(*v)))
		}
	}
	return points
}

// under is the evidence of a trial that ended regularly under a load.
func (s *subject) under(l load) scoring.Evidence {
	price := s.spec.Pricing.Models[0] // at least the agents of the examination are priced
	start := time.Unix(0, 0)
	first := start.Add(time.Duration(l.ttft) * time.Millisecond)
	end := start.Add(time.Duration(l.latency) * time.Millisecond)
	total, calls := l.input+l.output, int(l.calls)
	return scoring.Evidence{
		FinalOutput: new(nothing), Completed: new(true), StartedAt: start, FirstOutputAt: first, EndedAt: end,
		InputTokens: &l.input, OutputTokens: &l.output, TotalTokens: &total,
		Models: []scoring.ModelUsage{{ProviderKey: price.ProviderKey, ProviderModelID: price.ProviderModelID,
			InputTokens: l.input, OutputTokens: l.output, TotalTokens: total, Known: true}},
		ToolCallCount: &calls, FailureCount: int(l.failures), ToolCalls: trace(l.failures),
	}
}

// maxTrace is how many failed calls stand for any number of them.
const maxTrace = 100

// trace is of calls that failed, if any did, in the worst way for every
// behavioural signal: the same again and again, of a tool that is not allowed.
func trace(failures int64) []scoring.ToolCall {
	calls := make([]scoring.ToolCall, min(failures, maxTrace))
	for i := range calls {
		calls[i] = scoring.ToolCall{Name: "tool", Arguments: "{}", Failed: true, FailureOrigin: tool.OriginPolicy}
	}
	return calls
}
