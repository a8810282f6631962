package review

import (
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// class is the first of the classes, in the order of the questions, that the
// findings speak for.
func (f findings) class() string {
	for _, ask := range []func(findings) string{
		findings.blind, findings.invalidity, findings.limits, findings.forbidden, findings.malformed, findings.judged, findings.named, findings.typed,
	} {
		if class := ask(f); class != "" {
			return class
		}
	}
	return Other
}

// blind: a program of which only the start and the end were seen, and which no
// check has judged.
func (f findings) blind() string {
	if f.tier == TierHostedBlackBox && len(f.checks) == 0 && len(f.judges) == 0 && !f.invalid() {
		return Insufficient
	}
	return ""
}

// invalidity: what made a trial invalid was not the agent. The box and what is
// around it is one thing, a provider, a judge or the pack another.
func (f findings) invalidity() string {
	if !f.invalid() {
		return ""
	}
	r := f.result
	box := strings.HasPrefix(r.Code, "sandbox_") || r.Code == scoring.CodeInfraError ||
		slices.Contains([]string{"sandbox", "staging", scoring.PhaseVerification}, r.Phase)
	if box && r.Code != scoring.CodeCancelled {
		return SandboxFailure
	}
	return Insufficient
}

// limits: the agent's own limits, those of its box included.
func (f findings) limits() string {
	code := strings.ToLower(f.result.Code)
	limited := strings.HasSuffix(code, "_limit") || strings.Contains(code, "timeout") || strings.Contains(code, "budget") ||
		code == "max_tokens" || code == "context_length"
	if limited {
		return TimeoutOrBudget
	}
	return ""
}

// forbidden: what the pack's security block or the box itself forbids.
func (f findings) forbidden() string {
	if f.result.Code == scoring.CodeSecurity || f.result.Code == "tampered" {
		return PolicyViolation
	}
	return ""
}

// malformed: the form of the output is wrong, which a check of a form says, or
// any check that could not read what it was given.
func (f findings) malformed() string {
	for _, c := range f.checks {
		switch c.Type {
		case scoring.JSONSchema, scoring.JSONPathMatch, scoring.FileJSONSchema:
			return MalformedOutput
		}
		if mentions(c.Reason, "json parsing", "parse json", "invalid json", "not json", "is not valid json", "json schema", "jsonpath", "schema") {
			return MalformedOutput
		}
	}
	return ""
}

func (f findings) judged() string {
	if len(f.judges) > 0 {
		return IncorrectOutput
	}
	return ""
}

// named: authors say in a check's key what it is about.
func (f findings) named() string {
	for _, c := range f.checks {
		if class := classOfName(strings.ToLower(c.Key)); class != "" {
			return class
		}
	}
	return ""
}

func classOfName(name string) string {
	switch {
	case strings.HasPrefix(name, "policy."), mentions(name, "policy", "forbidden", "disallowed"):
		return PolicyViolation
	case mentions(name, "tool_argument", "tool-argument", "argument", "schema"):
		return ToolArgument
	case mentions(name, "tool_selection", "tool-selection", "wrong tool", "tool choice", "tool selection"):
		return ToolSelection
	case dependencyName(name):
		return Dependency
	case mentions(name, "retrieval", "grounding"):
		return RetrievalGrounding
	case mentions(name, "flaky", "non-deterministic", "nondeterministic"):
		return Flaky
	}
	return ""
}

func dependencyName(name string) bool {
	for _, prefix := range []string{"dependency.", "dependencies.", "import.resolution.", "import.dependency."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if mentions(name, "no matching distribution", "not found in registry") {
		return true
	}
	words := strings.NewReplacer("_", " ", "-", " ").Replace(name)
	return mentions(words, "unresolved", "missing", "not found", "hallucinated") && mentions(words, "dependenc", "package")
}

// typed: a check of the trace of tool calls says something about tools, whatever
// it is called.
func (f findings) typed() string {
	for _, c := range f.checks {
		if c.Type != scoring.ToolCallAssertion {
			continue
		}
		if mentions(c.Reason, "argument") {
			return ToolArgument
		}
		return ToolSelection
	}
	return ""
}

// mentions says whether a text holds one of the words, whatever their capitals.
func mentions(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
