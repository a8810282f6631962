package scoring

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// The outcome classes of a validator: who has to look at it.
const (
	ClassPass           = "pass"
	ClassFail           = "fail"
	ClassUnavailable    = "unavailable"
	ClassPackError      = "pack_error"
	ClassEvaluatorError = "evaluator_error" // what the agent made cannot be judged
)

// validator is a declared validator, ready to judge.
type validator struct {
	Validator
	row      *validatorType
	target   reference
	expected reference // kind 0: the type needs none
	settings settings
	text     matcher
	look     inspector
}

// result is what came out of a validator, with what its JSON does not say.
type result struct {
	ValidatorResult
	cause cause
	// lack names what the agent never produced although the validator reads it.
	lack string
}

func (t *trial) judge(v *validator) result {
	f := t.rule(v, t.find(v))
	r := result{cause: f.cause, lack: f.lack, ValidatorResult: ValidatorResult{
		Key: v.Key, Type: v.Type, State: f.state, Reason: f.reason, Target: clipTo(v.target.text, maxReason),
		Actual: f.actual, Expected: f.expected, Source: cmp.Or(f.at, t.source(v)),
	}}
	switch f.state {
	case Available:
		r.Verdict, r.OutcomeClass = VerdictFail, ClassFail
		if f.pass {
			r.Verdict, r.OutcomeClass = VerdictPass, ClassPass
		} else {
			r.lack = cmp.Or(f.lack, f.absent)
		}
		r.NormalizedScore = new(f.score)
	case Unavailable:
		r.OutcomeClass = ClassUnavailable
	default:
		r.Verdict, r.OutcomeClass = VerdictError, classOf(f.cause)
	}
	if f.cause == causeAgent {
		r.lack = cmp.Or(r.lack, f.reason)
	}
	if f.detail != nil {
		if b, err := json.Marshal(f.detail); err == nil {
			r.Evidence = b
		}
	}
	return r
}

func classOf(c cause) string {
	if c == causePack {
		return ClassPackError
	}
	return ClassEvaluatorError
}

// find runs a validator. A text that makes no sense is the fault of whoever
// made it: the agent for its output and its files, the pack for the rest.
func (t *trial) find(v *validator) finding {
	if v.look != nil {
		return v.look(t, v)
	}
	actual, expected := t.resolve(v.target), found("")
	if v.expected.kind != 0 {
		expected = t.resolve(v.expected)
	}
	for _, r := range []resolved{actual, expected} {
		if r.state == Errored {
			return gone(r)
		}
	}
	for _, r := range []resolved{actual, expected} {
		if r.state != Available {
			return gone(r)
		}
	}
	f := compareTexts(v, actual.text, expected.text)
	f.actual = new(clip(actual.text))
	if v.expected.kind != 0 {
		f.expected = new(clip(expected.text))
	}
	return f
}

// cut says how much of a file was captured.
func cut(f CapturedFile) string {
	return fmt.Sprintf("only %d of the %d bytes of %s were captured", len(f.Content), f.Size, quoted(f.Path))
}

func compareTexts(v *validator, actual, expected string) finding {
	compare, err := v.text(expected)
	if err != nil {
		reason := err.Error()
		if v.expected.kind != 0 {
			reason = fmt.Sprintf("%s: %v", v.expected, err)
		}
		f := senseless(reason)
		f.cause = faultOf(v.expected)
		return f
	}
	f := compare(actual)
	if f.state == Errored && f.cause == causeAgent {
		f.cause = faultOf(v.target)
	}
	return f
}

func faultOf(r reference) cause {
	if r.byAgent() {
		return causeAgent
	}
	return causePack
}

func gone(r resolved) finding {
	return finding{state: r.state, cause: r.cause, reason: r.reason}
}

// Grader is a command that the engine runs for a code_execution validator
// after the agent has finished.
type Grader struct {
	Key    string // of the validator
	Target string // file:<key of Check>
	Check  PostExecutionCheck
	Config CodeExecutionConfig // defaults filled in
}
