package packtest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// Severity says how much a finding weighs.
type Severity string

// The severities.
const (
	Error   Severity = "error"   // the pack's verdicts cannot be relied on
	Warning Severity = "warning" // something in the pack does nothing, or says too much
)

// The codes of findings.
const (
	// CodeReferenceFailed is a case that the reference agent does not pass.
	CodeReferenceFailed = "reference_failed"
	// CodeCheatPassed is a case that a cheating agent passes.
	CodeCheatPassed = "cheat_passed"
	// CodePackError is a case that cannot be judged until the pack is mended.
	CodePackError = "pack_error"
	// CodeInvalidTrial is a trial that infrastructure kept from being judged.
	CodeInvalidTrial = "invalid_trial"
	// CodeUnnoticedMutant is a validator that could be changed without any
	// trial ending in another way.
	CodeUnnoticedMutant = "unnoticed_mutant"
	// CodeDeadWeight is a part of the evaluation spec that decides nothing.
	CodeDeadWeight = "dead_weight"
	// CodeUnreachable is a threshold that no trial can reach.
	CodeUnreachable = "unreachable_threshold"
	// CodeIdle is a threshold that every trial reaches.
	CodeIdle = "idle_threshold"
	// CodeUnpriced is a cost limit that keeps agents from starting whose model
	// has no known price.
	CodeUnpriced = "unpriced_limit"
	// CodeDuplicate is a case that is another one under another key.
	CodeDuplicate = "duplicate_case"
	// CodeReadable is an expectation that an agent is shown.
	CodeReadable = "readable_expectation"
	// CodeIdleRule is a rule of the security block that no agent can break, or
	// whose breach fails no trial.
	CodeIdleRule = "idle_rule"
)

// Report is what an examination found.
type Report struct {
	Agents   []string // in the order of columns
	Trials   []Trial  // by case, in the pack's order, then by agent
	Mutants  Mutants
	Findings []Finding // errors first
	Notes    []string  // what limits the report
}

// Trial is how one agent's trial of one case ended.
type Trial struct {
	Agent    string
	InputSet string
	Case     string
	Outcome  scoring.Outcome
	Code     string
	Reason   string
	// Own says that passing is right: the hard-coded answer is this case's own.
	Own bool
}

// Right says whether the trial ended as it should: the reference agent passes,
// a cheat does not, and whoever gives a case its own answer may do either.
func (t Trial) Right() bool {
	switch t.Outcome {
	case scoring.OutcomePassed:
		return t.Agent == Reference || t.Own
	case scoring.OutcomeFailed:
		return t.Agent != Reference
	}
	return false
}

// Mutants counts the changed validators.
type Mutants struct {
	Judged  int
	Noticed int // some trial ended in another way
}

// Finding is one thing that is wrong.
type Finding struct {
	Severity  Severity
	Code      string
	Field     string // of the pack, such as version.evaluation_spec.validators[0]; "" when it is about a case
	InputSet  string
	Case      string
	Agent     string
	Validator string
	Message   string
}

// Count is how many findings have a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Unjudged returns the code and reason of a trial when not one could be
// judged: then the report says nothing of the pack.
func (r *Report) Unjudged() (code, reason string, all bool) {
	for _, t := range r.Trials {
		if t.Outcome != scoring.OutcomeInvalid || t.Code == scoring.CodePackError {
			return "", "", false
		}
		code, reason = t.Code, t.Reason
	}
	return code, reason, len(r.Trials) > 0
}

func (r *Report) add(f Finding) { r.Findings = append(r.Findings, f) }

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// sort puts errors first, then what is alike together; the pack's order stays.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Code, b.Code))
	})
}

// Bounds on what a message repeats of a pack.
const (
	maxNamed  = 5   // names in a list
	maxQuoted = 100 // bytes of one text
	maxReason = 300
)

// quoted is %q of a text that may be hostile or long.
func quoted(s string) string { return fmt.Sprintf("%q", clip(s, maxQuoted)) }

// clip cuts a text to n bytes, on a rune boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// named lists names, the first few of many.
func named(names []string) string {
	var b strings.Builder
	for i, n := range names {
		if i == maxNamed {
			fmt.Fprintf(&b, " and %d more", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	return b.String()
}
