package scoring

import "slices"

// The validator types.
const (
	ExactMatch         = "exact_match"
	Contains           = "contains"
	RegexMatch         = "regex_match"
	JSONSchema         = "json_schema"
	JSONPathMatch      = "json_path_match"
	BooleanAssert      = "boolean_assert"
	FuzzyMatch         = "fuzzy_match"
	NumericMatch       = "numeric_match"
	NormalizedMatch    = "normalized_match"
	TokenF1            = "token_f1"
	MathEquivalence    = "math_equivalence"
	BLEUScore          = "bleu_score"
	ROUGEScore         = "rouge_score"
	ChrFScore          = "chrf_score"
	FileContentMatch   = "file_content_match"
	FileExists         = "file_exists"
	FileJSONSchema     = "file_json_schema"
	DirectoryStructure = "directory_structure"
	CodeExecution      = "code_execution"
	ToolCallAssertion  = "tool_call_assertion"
	Postcondition      = "postcondition"
)

// ValidatorType describes a type of validator, for documents and schemas.
type ValidatorType struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
	// Supported is false for a type that the format has and this version
	// cannot score yet.
	Supported     bool        `json:"supported"`
	NeedsExpected bool        `json:"needs_expected_from"`
	NoExpected    bool        `json:"no_expected_from,omitempty"` // it must be left out; otherwise it is ignored
	FileTarget    bool        `json:"file_target"`                // target must be file:<check key>
	OnlyTarget    string      `json:"only_target,omitempty"`      // the one target there can be
	NeedsConfig   bool        `json:"needs_config,omitempty"`
	Config        []ConfigKey `json:"config,omitempty"`
}

// validatorType is a row of the registry: all there is to know of a type.
// A row with neither text nor look is of a type that only the format has: its
// validators are checked and cannot be scored.
type validatorType struct {
	ValidatorType
	check func(settings, *problems, string) // rules across config keys, optional
	text  func(settings) matcher            // compares the target's text
	look  func(settings) inspector          // reads the evidence itself

	// capture is the kind of post_execution_checks entry it reads, any when
	// empty; one that insists cannot do without a declared entry of the kind.
	capture string
	insists bool
	// excludes says that this config passes by what is not in the capture.
	excludes func(settings) bool
	// bare says what is wrong with a validator that has no config.
	bare string
	// misnamed maps keys that people write to those that are meant.
	misnamed map[string]string
}

func (t *validatorType) supported() bool { return t.text != nil || t.look != nil }

// registry is the one table of validator types, in the order of documents. A
// new type is a new row.
func registry() []validatorType {
	return slices.Concat(textTypes(), similarTypes(), fileTypes(), traceTypes())
}

// textTypes compare two texts and pass or fail.
func textTypes() []validatorType {
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
		{ValidatorType: ValidatorType{Name: BooleanAssert, NeedsExpected: true,
			Doc: "the text says the same as the expected text: true, 1 or yes against false, 0 or no"}, text: booleanAssert},
		{ValidatorType: ValidatorType{Name: NumericMatch, NeedsExpected: true, Config: numericConfig(),
			Doc: "the number in the text equals the expected number, exactly or within a tolerance"},
			check: checkNumeric, text: numericMatch},
		{ValidatorType: ValidatorType{Name: NormalizedMatch, NeedsExpected: true, Config: normalizedConfig(),
			Doc: "the text equals the expected text after both went through the same steps"},
			check: checkNormalized, text: normalizedMatch},
		{ValidatorType: ValidatorType{Name: MathEquivalence, NeedsExpected: true, Config: mathConfig(),
			Doc: "the text is an expression of the same value as the expected one, LaTeX included"}, text: mathEquivalence},
	}
}

// similarTypes rate how much two texts have in common.
func similarTypes() []validatorType {
	return []validatorType{
		{ValidatorType: ValidatorType{Name: FuzzyMatch, NeedsExpected: true, Config: fuzzyConfig(),
			Doc: "the text is the expected one but for a few edits; the score is their similarity"}, text: fuzzyMatch},
		{ValidatorType: ValidatorType{Name: TokenF1, NeedsExpected: true, Config: tokenConfig(),
			Doc: "the text has the words of the expected one; the score is their F1"}, text: tokenF1},
		{ValidatorType: ValidatorType{Name: BLEUScore, NeedsExpected: true, Config: bleuConfig(),
			Doc: "the text shares its word sequences with one or more reference texts; the score is BLEU"}, text: bleuScore},
		{ValidatorType: ValidatorType{Name: ROUGEScore, NeedsExpected: true, Config: rougeConfig(),
			Doc: "the text covers one or more reference texts; the score is ROUGE"}, text: rougeScore},
		{ValidatorType: ValidatorType{Name: ChrFScore, NeedsExpected: true, Config: chrfConfig(),
			Doc: "the text shares its character sequences with one or more reference texts; the score is chrF"}, text: chrfScore},
	}
}

// fileTypes judge what was captured after the agent had finished.
func fileTypes() []validatorType {
	return []validatorType{
		{ValidatorType: ValidatorType{Name: FileContentMatch, NeedsExpected: true, FileTarget: true, Config: fileContentConfig(),
			Doc: "the captured file's content compares with the expected text as match_mode says"},
			text: fileContentMatch, excludes: excludesContent, misnamed: map[string]string{"mode": "match_mode"}},
		{ValidatorType: ValidatorType{Name: FileExists, FileTarget: true, Config: fileExistsConfig(),
			Doc: "the captured file or directory exists, or must not"}, look: fileExists},
		{ValidatorType: ValidatorType{Name: FileJSONSchema, FileTarget: true, Config: fileSchemaConfig(),
			Doc: "the captured file is a JSON document that the JSON Schema in its config accepts"},
			check: checkFileSchema, text: fileSchemaMatch, bare: "there is no schema to hold the file against: give config.schema"},
		{ValidatorType: ValidatorType{Name: DirectoryStructure, FileTarget: true, Config: directoryConfig(),
			Doc: "the captured directory has the files and directories it must have, and none it must not"},
			look: directoryStructure, capture: DirectoryListing, bare: "nothing is required and nothing forbidden: give required_files, forbidden_files or required_directories"},
		{ValidatorType: ValidatorType{Name: CodeExecution, FileTarget: true, Config: codeConfig(),
			Doc: "a test command, run in the agent's sandbox after it finished, passes; the score is the share of its tests"},
			check: checkCode, look: codeExecution, capture: FileCapture, insists: true,
			bare: "there is no command to run, so that no trial can be judged: give config.test_command"},
		{ValidatorType: ValidatorType{Name: Postcondition, NoExpected: true, FileTarget: true, NeedsConfig: true, Config: conditionConfig(),
			Doc: "the captured file meets a condition: it exists, holds a text, matches a pattern, has a value at a path"},
			check: checkCondition, look: postcondition, excludes: excludesCondition, insists: true, bare: "say in condition what must be true of the file"},
	}
}

// traceTypes judge what the agent did on its way.
func traceTypes() []validatorType {
	return []validatorType{
		{ValidatorType: ValidatorType{Name: ToolCallAssertion, NoExpected: true, OnlyTarget: toolCalls, NeedsConfig: true, Config: callsConfig(),
			Doc: "the successful tool calls are those that the config asks for: which, how many, with what, in what order"},
			check: checkCalls, look: callAssertion, bare: nothingAsserted},
	}
}

// ValidatorTypes lists the types of the format, for documents and schemas.
func ValidatorTypes() []ValidatorType {
	rows := registry()
	out := make([]ValidatorType, len(rows))
	for i, r := range rows {
		out[i] = r.ValidatorType
		out[i].Supported = r.supported()
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
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.Name
	}
	return nil, "unknown validator type " + quoted(name) + hint(name, names)
}

// meansNothingBare says that a validator of this type without a config is not
// the same as one with an empty config.
func meansNothingBare(typ string) bool {
	row, _ := findType(registry(), typ)
	return row != nil && row.bare != ""
}
