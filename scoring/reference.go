package scoring

import (
	"errors"
	"fmt"
	"strings"
)

// refKind is what a reference points at.
type refKind int

const (
	refOutput refKind = iota + 1
	refChallenge
	refPayload
	refInput
	refExpectation
	refArtifact
	refFile
	refLiteral
)

// reference is a parsed evidence reference. It is parsed once per spec.
type reference struct {
	kind refKind
	// key is the input, expectation, artifact or check key, or the literal.
	key  string
	path []string // steps into a JSON value
	text string   // as it was written
}

// referenceForms are the ways to write a reference, for hints and documents.
func referenceForms() []string {
	return []string{"final_output", "run.final_output", "challenge_input", "case.payload", "case.payload.<path>",
		"case.inputs.<key>", "case.expectations.<key>", "artifact.<key>", "file:<check key>", "literal:<text>"}
}

// ReferenceForms lists the forms of an evidence reference, for documents.
func ReferenceForms() []string { return referenceForms() }

// parseReference reads a reference; its error says what is wrong with it.
func parseReference(text string) (reference, error) {
	text = strings.TrimSpace(text)
	r := reference{text: text}
	switch text {
	case "":
		return r, errors.New("is required")
	case "final_output", "run.final_output":
		r.kind = refOutput
		return r, nil
	case "challenge_input":
		r.kind = refChallenge
		return r, nil
	}
	if literal, ok := strings.CutPrefix(text, "literal:"); ok {
		r.kind, r.key = refLiteral, literal
		return r, nil
	}
	if key, ok := strings.CutPrefix(text, "file:"); ok {
		r.kind, r.key = refFile, strings.TrimSpace(key)
		if r.key == "" {
			return r, fmt.Errorf("%s names no check: write file:<key of a post_execution_checks entry>", quoted(text))
		}
		return r, nil
	}
	if text == "tool_calls" || text == "turn.expectations" || strings.HasPrefix(text, "transcript.") {
		return r, fmt.Errorf("this version cannot read %s yet", quoted(text))
	}
	return parseDotted(r)
}

// dottedHeads are the beginnings of the dotted references and how many parts,
// a key included, each needs.
var dottedHeads = [...]struct {
	prefix string
	kind   refKind
	keyed  bool
}{
	{"case.payload", refPayload, false},
	{"case.inputs", refInput, true},
	{"case.expectations", refExpectation, true},
	{"artifact", refArtifact, true},
}

func parseDotted(r reference) (reference, error) {
	for _, h := range dottedHeads {
		rest, ok := strings.CutPrefix(r.text, h.prefix)
		if !ok || rest != "" && rest[0] != '.' {
			continue
		}
		r.kind = h.kind
		if rest == "" && !h.keyed {
			return r, nil
		}
		if rest == "" {
			return r, fmt.Errorf("%s needs a key: write %s.<key>", quoted(r.text), h.prefix)
		}
		r.path = strings.Split(rest[1:], ".")
		for _, part := range r.path {
			if strings.TrimSpace(part) == "" {
				return r, fmt.Errorf("%s has an empty part between its dots", quoted(r.text))
			}
		}
		if h.keyed {
			r.key, r.path = r.path[0], r.path[1:]
		}
		return r, nil
	}
	return r, fmt.Errorf("%s is no evidence reference%s", quoted(r.text), hintReference(r.text))
}

// hintReference corrects the part of a reference that is a fixed word.
func hintReference(text string) string {
	head, rest := text, ""
	if parts := strings.SplitN(text, ".", 3); len(parts) == 3 {
		head, rest = parts[0]+"."+parts[1], "."+parts[2]
	}
	fixed := []string{"final_output", "run.final_output", "challenge_input", "case.payload", "case.inputs", "case.expectations"}
	if best := nearest(head, fixed); best != "" {
		return fmt.Sprintf("; did you mean %s?", quoted(best+rest))
	}
	return "; known are " + strings.Join(referenceForms(), ", ")
}

func (r reference) String() string { return quoted(r.text) }

// byAgent says that what the reference points at is made by the agent; the
// rest comes with the pack.
func (r reference) byAgent() bool { return r.kind == refOutput || r.kind == refFile }
