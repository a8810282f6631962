package scoring

import "slices"

// The validator types.
const (
	ExactMatch       = "exact_match"
	Contains         = "contains"
	RegexMatch       = "regex_match"
	JSONSchema       = "json_schema"
	JSONPathMatch    = "json_path_match"
	NumericMatch     = "numeric_match"
	FileExists       = "file_exists"
	FileContentMatch = "file_content_match"
	CodeExecution    = "code_execution"
)

// ValidatorType describes a type of validator, for documents and schemas.
type ValidatorType struct {
	Name          string      `json:"name"`
	Doc           string      `json:"doc"`
	NeedsExpected bool        `json:"needs_expected_from"`
	FileTarget    bool        `json:"file_target"` // target must be file:<check key>
	Config        []ConfigKey `json:"config,omitempty"`
}

// validatorType is a row of the registry: all there is to know of a type.
// Exactly one of text and look is set.
type validatorType struct {
	ValidatorType
	check func(settings, *problems, string) // rules across config keys, optional
	text  func(settings) matcher            // compares the target's text
	look  func(settings) inspector          // reads the evidence itself
}

// registry is the one table of validator types, in the order of documents. A
// new type is a new row.
func registry() []validatorType {
	return []validatorType{
		{ValidatorType: ValidatorType{Name: ExactMatch, NeedsExpected: true,
			Doc: "the text equals the expected text, byte for byte"}, text: exactMatch},
		{ValidatorType: ValidatorType{Name: Contains, NeedsExpected: true,
			Doc: "the text contains the expected text"}, text: contains},
		{ValidatorType: ValidatorType{Name: RegexMatch, NeedsExpected: true,
			Doc: "the expected text, an RE2 pattern, matches somewhere in the text"}, text: regexMatch},
		{ValidatorType: ValidatorType{Name: JSONSchema, NeedsExpected: true,
			Doc: "the text is a JSON document that the expected JSON Schema accepts"}, text: schemaMatch},
		{ValidatorType: ValidatorType{Name: JSONPathMatch, NeedsExpected: true,
			Doc: "a value inside the JSON text exists or compares as expected: $.path or {path, comparator, value}"}, text: pathMatch},
		{ValidatorType: ValidatorType{Name: NumericMatch, NeedsExpected: true, Config: numericConfig(),
			Doc: "the number in the text equals the expected number, exactly or within a tolerance"},
			check: checkNumeric, text: numericMatch},
		{ValidatorType: ValidatorType{Name: FileContentMatch, NeedsExpected: true, FileTarget: true, Config: fileContentConfig(),
			Doc: "the captured file's content compares with the expected text as match_mode says"}, text: fileContentMatch},
		{ValidatorType: ValidatorType{Name: FileExists, FileTarget: true, Config: fileExistsConfig(),
			Doc: "the captured file or directory exists, or must not"}, look: fileExists},
		{ValidatorType: ValidatorType{Name: CodeExecution, FileTarget: true, Config: codeConfig(),
			Doc: "a test command, run in the agent's sandbox after it finished, passes; the score is the share of its tests"},
			check: checkCode, look: codeExecution},
	}
}

// absentTypes are the types that the format knows and this version does not
// have. A spec that uses one is refused, never scored without it.
func absentTypes() []string {
	return []string{"boolean_assert", "fuzzy_match", "normalized_match", "token_f1", "math_equivalence",
		"bleu_score", "rouge_score", "chrf_score", "file_json_schema", "directory_structure", "tool_call_assertion", "postcondition"}
}

// ValidatorTypes lists the types that a spec may use.
func ValidatorTypes() []ValidatorType {
	rows := registry()
	out := make([]ValidatorType, len(rows))
	for i, r := range rows {
		out[i] = r.ValidatorType
	}
	return out
}

// findType is the row of a type, or why there is none.
func findType(rows []validatorType, name string) (*validatorType, string) {
	if i := slices.IndexFunc(rows, func(r validatorType) bool { return r.Name == name }); i >= 0 {
		return &rows[i], ""
	}
	if name == "" {
		return nil, "is required"
	}
	if slices.Contains(absentTypes(), name) {
		return nil, notYet("the validator type", name)
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return nil, "unknown validator type " + quoted(name) + hint(name, append(names, absentTypes()...))
}

// notYet is the message about a part of the format that is not built.
func notYet(what, name string) string {
	return "this version does not have " + what + " " + quoted(name) + " yet"
}

// finding is what a validator found out.
type finding struct {
	state    State
	pass     bool
	score    float64
	reason   string
	cause    cause
	detail   any // evidence, a small struct
	lack     string
	expected *string
	actual   *string
}

// matcher prepares the comparison with an expected text; its error says why
// the expected text makes no sense. It may be used by several trials at once.
type matcher func(expected string) (comparison, error)

// comparison judges the agent's text.
type comparison func(actual string) finding

// inspector judges evidence that is not a text.
type inspector func(t *trial, v *validator) finding

// judged is a comparison's verdict; the reason is given for a failure only.
func judged(pass bool, reason string) finding {
	if pass {
		return finding{state: Available, pass: true, score: 1}
	}
	return finding{state: Available, reason: clipTo(reason, maxReason)}
}

// senseless is a text that the validator cannot read. Who made the text is at
// fault, and by default that is the agent.
func senseless(reason string) finding {
	return finding{state: Errored, cause: causeAgent, reason: clipTo(reason, maxReason)}
}

// authors is a finding that the pack's author must mend, whoever made the text.
func authors(f finding) finding {
	f.cause = causePack
	return f
}

func (f finding) with(detail any) finding {
	f.detail = detail
	return f
}
