package scoring

import (
	"fmt"
	"slices"
	"strings"
)

// signal is a row of the table of behavioural signals; one without measure is
// one that only the format has so far.
type signal struct {
	name, doc string
	measure   func(t *trial, s *Scorer, results []result) value
}

// signals is the one table of behavioural signals.
func signals() []signal {
	return []signal{
		{"recovery_behavior", "after a failed call the agent does something else", (*trial).recovery},
		{"exploration_efficiency", "the agent does not repeat a call", (*trial).exploration},
		{"error_cascade", "failed calls do not follow one another", (*trial).cascade},
		{"scope_adherence", "the agent keeps to the tools it was given", (*trial).scope},
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

// share is a score, with what explains one that is not full.
func share(score float64, at *Source, format string, args ...any) value {
	v := number(score)
	if score < 1 {
		v.at, v.reason = at, clipTo(fmt.Sprintf(format, args...), maxReason)
	}
	return v
}

// sameCall says that two calls are of one tool with the same arguments.
func sameCall(a, b ToolCall) bool { return a.Name == b.Name && a.Arguments == b.Arguments }

// recovery is the share of the failed calls that something followed where that
// was another call. In a conversation it is whether mismatched turns were made
// good: every validator is met in the end.
func (t *trial) recovery(_ *Scorer, results []result) value {
	if len(t.ev.Turns) > 0 {
		return t.recoveredTurns(results)
	}
	calls := t.ev.ToolCalls
	attempts, other, first, stuck := 0, 0, -1, -1
	for i, c := range calls {
		if !c.Failed {
			continue
		}
		if first < 0 {
			first = i
		}
		switch {
		case i+1 == len(calls):
		case !sameCall(c, calls[i+1]):
			attempts++
			other++
		default:
			attempts++
			if stuck < 0 {
				stuck = i + 1
			}
		}
	}
	switch {
	case first < 0:
		return number(1)
	case attempts == 0:
		return share(0, t.atCall(first), "nothing was tried after a failed call")
	}
	return share(float64(other)/float64(attempts), t.atCall(stuck), "%d of %d failed calls were made again as they were", attempts-other, attempts)
}

func (t *trial) recoveredTurns(results []result) value {
	at := slices.IndexFunc(t.ev.Turns, func(turn Turn) bool { return turn.Mismatched })
	if at < 0 {
		return number(1)
	}
	for i := range results {
		switch r := &results[i]; {
		case r.State != Available:
			return none(r.cause, "a turn is a mismatch, and the validator "+quoted(r.Key)+" has no score")
		case *r.NormalizedScore < 1:
			return share(0, t.atTurn(reference{kind: refTurns, key: transcriptMismatch, text: "turn.expectations"}),
				"turn %d is a mismatch, and the validator %s is not met in the end", t.ev.Turns[at].Index, quoted(r.Key))
		}
	}
	return number(1)
}

// exploration is the share of the calls that were not made before.
func (t *trial) exploration(*Scorer, []result) value {
	type signature struct{ tool, arguments string }
	seen := make(map[signature]bool, len(t.ev.ToolCalls))
	repeated, first := 0, -1
	for i, c := range t.ev.ToolCalls {
		s := signature{c.Name, c.Arguments}
		if seen[s] {
			repeated++
			if first < 0 {
				first = i
			}
		}
		seen[s] = true
	}
	if repeated == 0 {
		return number(1)
	}
	n := len(t.ev.ToolCalls)
	return share(1-float64(repeated)/float64(n), t.atCall(first), "%d of %d calls were made before", repeated, n)
}

// cascade falls with the longest run of failed calls.
func (t *trial) cascade(*Scorer, []result) value {
	run, longest, end := 0, 0, -1
	for i, c := range t.ev.ToolCalls {
		if !c.Failed {
			run = 0
			continue
		}
		if run++; run > longest {
			longest, end = run, i
		}
	}
	if longest == 0 {
		return number(1)
	}
	return share(1/float64(longest), t.atCall(end), "%d calls failed one after another", longest)
}

// The words of a refusal, where an event does not name its origin.
const (
	refusedHere = "tool is not allowed in this runtime"
	missingHere = "tool is not available in this runtime"
	byPolicy    = "policy"
)

// scope is the share of the calls that the policy did not refuse.
func (t *trial) scope(*Scorer, []result) value {
	outside, first := 0, -1
	for i, c := range t.ev.ToolCalls {
		if !c.Failed || !refused(c) {
			continue
		}
		if outside++; first < 0 {
			first = i
		}
	}
	if outside == 0 {
		return number(1)
	}
	n := len(t.ev.ToolCalls)
	return share(1-float64(outside)/float64(n), t.atCall(first), "%d of %d calls were of tools that are not allowed", outside, n)
}

func refused(c ToolCall) bool {
	said := strings.ToLower(c.Error)
	return strings.EqualFold(c.FailureOrigin, byPolicy) || strings.Contains(said, refusedHere) || strings.Contains(said, missingHere)
}

// observed is a signal's result, with what its JSON does not say.
type observed struct {
	SignalResult
	cause cause
}

// observe measures the signals of a spec that has any.
func (t *trial) observe(s *Scorer, results []result) []observed {
	if s.spec.Behavioral == nil {
		return nil
	}
	out := make([]observed, len(s.signals))
	for i, measure := range s.signals {
		v, decl := measure(t, s, results), s.spec.Behavioral.Signals[i]
		out[i] = observed{cause: v.cause, SignalResult: SignalResult{
			Key: decl.Key, State: v.state, Weight: decl.Weight, Gate: decl.Gate, PassThreshold: decl.PassThreshold,
			Reason: v.reason, Source: v.at,
		}}
		if v.state == Available {
			out[i].Score = new(v.number)
		}
	}
	return out
}

// behavioral is the weighted mean of the signals; it needs all of them, and a
// signal that is a gate and below its threshold leaves nothing of it.
func (d *dimension) behavioral(from *reading) scored {
	var weights, weighted, sum float64
	var failed []string
	for i := range from.signals {
		s := &from.signals[i]
		if s.Score == nil {
			return d.lack(s.State, s.cause, clipTo(fmt.Sprintf("signal %s: %s", quoted(s.Key), s.Reason), maxReason))
		}
		weights += s.Weight
		weighted += float64(s.Weight * *s.Score)
		sum += *s.Score
		if s.Gate && *s.Score < *s.PassThreshold {
			failed = append(failed, fmt.Sprintf("signal %s scored %.4f, below its threshold of %.4f", quoted(s.Key), *s.Score, *s.PassThreshold))
		}
	}
	score := weighted / weights
	if !finite(weights) {
		score = sum / float64(len(from.signals))
	}
	if len(failed) > 0 {
		score = 0
	}
	out := d.give(score)
	out.Reason = clipTo(strings.Join(failed, "; "), maxReason)
	if i := weakest(from.signals, func(s observed) *float64 { return s.Score }); i >= 0 {
		out.Event = from.signals[i].Source
	}
	return out
}
