package scoring

import (
	"errors"
	"fmt"
	"strconv"
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
	refTranscript
	refTurns
	refToolCalls // only what tool_call_assertion looks at, never a text
)

// The parts of a transcript.
const (
	transcriptFull     = "full"
	transcriptMismatch = "from_mismatch"
	transcriptLast     = "last_n"
)

// resolver is how references of a kind are read; nil for tool calls, which are
// no text.
func (k refKind) resolver() func(*trial, reference) resolved {
	switch k {
	case refOutput:
		return (*trial).finalOutput
	case refChallenge:
		return (*trial).challengeInput
	case refPayload:
		return (*trial).fromPayload
	case refInput:
		return (*trial).input
	case refExpectation:
		return (*trial).expectation
	case refArtifact:
		return (*trial).asset
	case refFile:
		return (*trial).file
	case refLiteral:
		return (*trial).literal
	case refTranscript:
		return (*trial).transcript
	case refTurns:
		return (*trial).turnExpectations
	}
	return nil
}

// reference is a parsed evidence reference. It is parsed once per spec.
type reference struct {
	kind refKind
	// key is the input, expectation, artifact or check key, the literal, or the
	// part of a transcript.
	key  string
	path []string // steps into a JSON value
	last int      // turns, for the end of a transcript
	text string   // as it was written
}

// referenceForms are the ways to write a reference, for hints and documents.
func referenceForms() []string {
	return []string{"final_output", "run.final_output", "challenge_input", "case.payload", "case.payload.<path>",
		"case.inputs.<key>", "case.expectations.<key>", "artifact.<key>", "file:<check key>", "literal:<text>",
		"transcript.full", "transcript.last_n:<turns>", "transcript.from_mismatch", "turn.expectations"}
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
	case "turn.expectations":
		r.kind = refTurns
		return r, nil
	case toolCalls:
		return r, fmt.Errorf("%s is for validators of the type %s", quoted(text), ToolCallAssertion)
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
	if part, ok := strings.CutPrefix(text, "transcript."); ok {
		return parseTranscript(r, part)
	}
	return parseDotted(r)
}

// toolCalls is the target of tool_call_assertion.
const toolCalls = "tool_calls"

func parseTranscript(r reference, part string) (reference, error) {
	part, turns, counted := strings.Cut(part, ":")
	switch {
	case part == transcriptLast:
		n, err := strconv.Atoi(strings.TrimSpace(turns))
		if err != nil || n <= 0 {
			return r, fmt.Errorf("%s needs a number of turns: write transcript.last_n:3", quoted(r.text))
		}
		r.last = n
	case counted || part != transcriptFull && part != transcriptMismatch:
		known := []string{"transcript.full", "transcript.last_n:<turns>", "transcript.from_mismatch"}
		return r, fmt.Errorf("%s is no evidence reference%s", quoted(r.text), hint(r.text, known))
	}
	r.kind, r.key = refTranscript, part
	return r, nil
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
	fixed := []string{"final_output", "run.final_output", "challenge_input", "case.payload", "case.inputs", "case.expectations", "turn.expectations"}
	if best := nearest(head, fixed); best != "" {
		return fmt.Sprintf("; did you mean %s?", quoted(best+rest))
	}
	return "; known are " + strings.Join(referenceForms(), ", ")
}

func (r reference) String() string { return quoted(r.text) }

// byAgent says that what the reference points at is made by the agent; the
// rest comes with the pack.
func (r reference) byAgent() bool {
	return r.kind == refOutput || r.kind == refFile || r.kind == refTranscript
}
