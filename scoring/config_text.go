package scoring

import "github.com/agentclash/agentclash/scoring/textnorm"

func normalizedConfig() []ConfigKey {
	steps := textnorm.Steps()
	return []ConfigKey{
		{Name: "pipeline", Type: KeyStrings, Enum: steps, Default: textnorm.Usual(),
			Doc: "the steps that both texts go through, in this order"},
		{Name: "normalizations", Type: KeyStrings, Enum: steps, Doc: "another name for pipeline"},
	}
}

// maxPipeline is how long a pipeline may be: each step reads the whole text.
const maxPipeline = 100

func checkNormalized(s settings, p *problems, field string) {
	if s.has("pipeline") && len(s.list("pipeline")) > 0 && len(s.list("normalizations")) > 0 {
		p.add(field, "pipeline and normalizations are two names for the same: use one of them")
	}
	for _, key := range []string{"pipeline", "normalizations"} {
		if n := len(s.list(key)); n > maxPipeline {
			p.add(field+"."+key, "has %d steps; at most %d are run", n, maxPipeline)
		}
	}
}

// usualDelimiter is what an answer stands behind in worked solutions.
const usualDelimiter = "####"

func mathConfig() []ConfigKey {
	return []ConfigKey{
		{Name: "comparison_mode", Type: KeyString, Enum: []string{mathSymbolic, mathNumeric}, Default: mathSymbolic,
			Doc: "compare the expressions in their canonical form, or only what they evaluate to"},
		{Name: "tolerance", Type: KeyNumber, Min: new(0.0), Default: 1e-6, Doc: "two numbers may differ by this much"},
		flagKey("extract_answer", "use what follows the last answer_delimiter in each text"),
		{Name: "answer_delimiter", Type: KeyString, Default: usualDelimiter, Doc: "what the answer stands behind, with extract_answer"},
		{Name: "numeric_fallback", Type: KeyBoolean, Default: true, Doc: "compare as numbers what is not the same symbolically"},
	}
}

func fuzzyConfig() []ConfigKey {
	return []ConfigKey{
		thresholdKey(0.8),
		flagKey("case_insensitive", "ignore the case of letters"),
		flagKey("normalize", "every run of white space counts as one space, and none at either end"),
	}
}

func tokenConfig() []ConfigKey {
	return []ConfigKey{
		thresholdKey(0.5),
		flagKey("normalize", "lower case, white space as one space"),
		flagKey("remove_articles", "leave out a, an and the"),
		flagKey("remove_punctuation", "leave out punctuation and symbols"),
	}
}

func bleuConfig() []ConfigKey {
	return similarConfig(
		ConfigKey{Name: "max_ngram", Type: KeyInteger, Above: new(0.0), Default: int64(4), Doc: "the longest sequence of words that is compared"},
		ConfigKey{Name: "smoothing", Type: KeyString, Enum: []string{"none", smoothSome}, Default: "none",
			Doc: "what a sequence length without a match is worth: nothing, or a little"},
	)
}

func rougeConfig() []ConfigKey {
	return similarConfig(
		ConfigKey{Name: "variant", Type: KeyString, Enum: []string{rougeWords, rougePairs, rougeSequence}, Default: rougeSequence,
			Doc: "compare words, pairs of words, or the longest common subsequence"},
		betaKey(1),
	)
}

func chrfConfig() []ConfigKey {
	return similarConfig(
		ConfigKey{Name: "char_order", Type: KeyInteger, Above: new(0.0), Default: int64(6), Doc: "the longest sequence of characters that is compared"},
		betaKey(2),
	)
}

// similarConfig is what the scores against reference texts have in common,
// around their own keys.
func similarConfig(own ...ConfigKey) []ConfigKey {
	keys := append([]ConfigKey{thresholdKey(0.3)}, own...)
	return append(keys,
		flagKey("case_insensitive", "ignore the case of letters"),
		flagKey("normalize", "every run of white space counts as one space, and none at either end"))
}

// thresholdKey is the score from which on a validator passes.
func thresholdKey(usual float64) ConfigKey {
	return ConfigKey{Name: "threshold", Type: KeyNumber, Min: new(0.0), Max: new(1.0), Default: usual,
		Doc: "the verdict is pass from this score on"}
}

// betaKey weighs recall against precision.
func betaKey(usual float64) ConfigKey {
	return ConfigKey{Name: "beta", Type: KeyNumber, Above: new(0.0), Default: usual,
		Doc: "how much more recall counts than precision"}
}

func flagKey(name, doc string) ConfigKey {
	return ConfigKey{Name: name, Type: KeyBoolean, Default: false, Doc: doc}
}
