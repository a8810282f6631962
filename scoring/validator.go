package scoring

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// The outcome classes of a validator: who has to look at it.
const (
	ClassPass           = "pass"
	ClassFail           = "fail"
	ClassUnavailable    = "unavailable"
	ClassInfraError     = "infra_error"
	ClassPackError      = "pack_error"
	ClassEvaluatorError = "evaluator_error" // the agent's text makes no sense
)

// validator is a declared validator, ready to judge.
type validator struct {
	Validator
	target   reference
	expected reference // kind 0: the type needs none
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
	f := t.find(v)
	r := result{cause: f.cause, lack: f.lack, ValidatorResult: ValidatorResult{
		Key: v.Key, Type: v.Type, State: f.state, Reason: f.reason, Target: clipTo(v.target.text, maxReason),
		Actual: f.actual, Expected: f.expected, Source: t.source(v),
	}}
	switch f.state {
	case Available:
		r.Verdict, r.OutcomeClass = VerdictFail, ClassFail
		if f.pass {
			r.Verdict, r.OutcomeClass = VerdictPass, ClassPass
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
	switch c {
	case causeEngine:
		return ClassInfraError
	case causePack:
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
	f.actual, f.expected = new(clip(actual.text)), new(clip(expected.text))
	return f
}

func compareTexts(v *validator, actual, expected string) finding {
	compare, err := v.text(expected)
	if err != nil {
		f := senseless(fmt.Sprintf("%s: %v", v.expected, err))
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

// source is the event that best explains what the validator judged.
func (t *trial) source(v *validator) *Source {
	name := ""
	switch {
	case v.Type == CodeExecution:
		name = "code:" + v.Key
	case v.target.kind == refOutput:
		name = "final_output"
	case v.target.kind == refFile:
		name = "file:" + v.target.key
	}
	s, ok := t.ev.Sources[name]
	if !ok || s.Sequence <= 0 {
		return nil
	}
	return &s
}

// Grader is a command that the engine runs for a code_execution validator
// after the agent has finished.
type Grader struct {
	Key    string // of the validator
	Target string // file:<key of Check>
	Check  PostExecutionCheck
	Config CodeExecutionConfig // defaults filled in
}

// compileValidators checks the validators and makes them ready.
func (c *compiler) compileValidators() {
	rows := registry()
	seen := map[string]bool{}
	for i, decl := range c.spec.Validators {
		at := fmt.Sprintf("validators[%d]", i)
		c.key(at+".key", decl.Key, seen)
		row, wrong := findType(rows, decl.Type)
		if row == nil {
			c.add(at+".type", "%s", wrong)
		}
		v := validator{Validator: decl}
		v.target = c.target(at+".target", decl.Target, row)
		if row == nil || row.NeedsExpected {
			v.expected = c.expected(at+".expected_from", decl.ExpectedFrom, row)
		}
		if row != nil {
			c.configure(&v, row, at+".config")
		}
		c.validators = append(c.validators, v)
	}
}

// target checks where a validator looks.
func (c *compiler) target(at, text string, row *validatorType) reference {
	if row == nil && text == "tool_calls" {
		return reference{} // the type is refused already
	}
	r, err := parseReference(text)
	if err != nil {
		c.add(at, "%v", err)
		return r
	}
	if row != nil && row.FileTarget && r.kind != refFile {
		c.add(at, "%s reads a capture: write file:<key of a post_execution_checks entry>, not %s", row.Name, quoted(text))
		return r
	}
	c.captured(at, r, row != nil && row.Name == CodeExecution)
	return r
}

func (c *compiler) expected(at, text string, row *validatorType) reference {
	if row == nil && text == "" {
		return reference{} // the refused type may need none
	}
	r, err := parseReference(text)
	if err != nil {
		c.add(at, "%v", err)
		return r
	}
	c.captured(at, r, false)
	return r
}

// captured checks that a file: reference names a declared capture. Without any
// check only code_execution insists, as the format always had it.
func (c *compiler) captured(at string, r reference, code bool) {
	checks := c.spec.PostExecutionChecks
	if r.kind != refFile || len(checks) == 0 && !code {
		return
	}
	keys := make([]string, len(checks))
	for i, check := range checks {
		keys[i] = check.Key
		if check.Key == r.key {
			if code && check.Type != FileCapture {
				c.add(at, "post_execution_checks entry %s must be a %s, not a %s", quoted(r.key), FileCapture, quoted(check.Type))
			}
			return
		}
	}
	if strings.Contains(r.key, "/") {
		c.add(at, "%s is a path: name a post_execution_checks entry by its key%s", quoted(r.key), hint(r.key, keys))
		return
	}
	c.add(at, "no post_execution_checks entry is called %s%s", quoted(r.key), hint(r.key, keys))
}

func (c *compiler) configure(v *validator, row *validatorType, at string) {
	before := len(c.problems)
	s := readSettings(v.Config, row.Config, at, &c.problems)
	if row.check != nil {
		row.check(s, &c.problems, at)
	}
	if len(c.problems) > before {
		return
	}
	if row.look != nil {
		v.look = row.look(s)
	} else {
		v.text = row.text(s)
	}
	if row.Name == CodeExecution {
		c.graders = append(c.graders, Grader{Key: v.Key, Target: v.target.text, Check: c.check(v.target.key), Config: codeSettings(s)})
	}
}

func (c *compiler) check(key string) PostExecutionCheck {
	for _, check := range c.spec.PostExecutionChecks {
		if check.Key == key {
			return check
		}
	}
	return PostExecutionCheck{}
}
