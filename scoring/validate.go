package scoring

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// checker checks a normalized spec from top to bottom and keeps what it read.
// All problems are reported, in the order of the format's fields, whatever was
// wrong before them.
type checker struct {
	problems
	spec       Spec
	validators []validator
	judges     []judge
	collectors []*collector      // of the metrics; nil: unknown
	owners     map[string]string // what a key belongs to: validator, metric or judge
	// Where a key is declared first.
	validatorAt, metricAt, checkAt map[string]int
}

// Validate checks the spec, as Normalize leaves it, against the format alone:
// without errors it is valid, whether or not this version can score it. The
// problems among them that are warnings leave it valid.
func (s Spec) Validate() []Problem { return inspect(s).problems }

func inspect(s Spec) *checker {
	c := &checker{spec: s.Normalize(), owners: map[string]string{}}
	c.validatorAt = placesOf(c.spec.Validators, func(v Validator) string { return v.Key })
	c.metricAt = placesOf(c.spec.Metrics, func(m Metric) string { return m.Key })
	c.checkAt = placesOf(c.spec.PostExecutionChecks, func(p PostExecutionCheck) string { return p.Key })
	c.header()
	c.limits()
	c.checkValidators()
	c.captures()
	c.checkMetrics()
	c.behavioral()
	c.pricing()
	c.checkJudges()
	c.judgeLimits()
	c.dimensions()
	c.scorecard()
	if len(c.errors()) == 0 {
		c.unread()
	}
	return c
}

// placesOf is where each key stands first in a list.
func placesOf[T any](list []T, key func(T) string) map[string]int {
	at := make(map[string]int, len(list))
	for i, item := range list {
		if _, ok := at[key(item)]; !ok {
			at[key(item)] = i
		}
	}
	return at
}

func judgeModes() []string { return []string{Deterministic, JudgeOnly, JudgeHybrid} }

func (c *checker) header() {
	s := c.spec
	if s.Name == "" {
		c.add("name", "is required")
	}
	if s.VersionNumber <= 0 {
		c.add("version_number", "must be greater than 0")
	}
	c.oneOf("judge_mode", "judge mode", s.JudgeMode, judgeModes())
	if len(s.Validators) == 0 {
		c.add("validators", "needs at least one validator")
	}
	if len(s.Scorecard.Dimensions) == 0 {
		c.add("scorecard.dimensions", "needs at least one dimension")
	}
	c.oneOf("scorecard.strategy", "strategy", s.Scorecard.Strategy, []string{Weighted, Binary, Hybrid})
}

// oneOf checks a name that is required and one of a few.
func (c *checker) oneOf(at, what, name string, known []string) bool {
	switch {
	case slices.Contains(known, name):
		return true
	case name == "":
		c.add(at, "is required: write one of %s", strings.Join(known, ", "))
	default:
		c.add(at, "unknown %s %s%s", what, quoted(name), hint(name, known))
	}
	return false
}

// maxIterationsLimit is the most that runtime_limits.max_iterations may be.
const maxIterationsLimit = 1000

func (c *checker) limits() {
	l := c.spec.RuntimeLimits
	if l.MaxTotalTokens != nil && *l.MaxTotalTokens <= 0 {
		c.add("runtime_limits.max_total_tokens", "must be greater than 0")
	}
	if l.MaxCostUSD != nil && (*l.MaxCostUSD <= 0 || !finite(*l.MaxCostUSD)) {
		c.add("runtime_limits.max_cost_usd", "must be greater than 0")
	}
	if l.MaxDurationMS != nil && *l.MaxDurationMS <= 0 {
		c.add("runtime_limits.max_duration_ms", "must be greater than 0")
	}
	if l.MaxIterations != nil && (*l.MaxIterations < 1 || *l.MaxIterations > maxIterationsLimit) {
		c.add("runtime_limits.max_iterations", "must be between 1 and %d", maxIterationsLimit)
	}
}

// own checks a key that is required and belongs to one validator, metric or
// judge alone.
func (c *checker) own(at, key, owner string) bool {
	other, taken := c.owners[key]
	switch {
	case key == "":
		c.add(at, "is required")
		return false
	case !taken:
		c.owners[key] = owner
		return true
	case other == owner:
		c.add(at, "must be unique: %s is used before", quoted(key))
	default:
		c.add(at, "must be unique: %s is the key of a %s", quoted(key), other)
	}
	return false
}

func (c *checker) captures() {
	seen := map[string]bool{}
	for i, check := range c.spec.PostExecutionChecks {
		at := fmt.Sprintf("post_execution_checks[%d]", i)
		switch {
		case check.Key == "":
			c.add(at+".key", "is required")
		case seen[check.Key]:
			c.add(at+".key", "must be unique: %s is used before", quoted(check.Key))
		}
		seen[check.Key] = true
		if kinds := []string{FileCapture, DirectoryListing}; !slices.Contains(kinds, check.Type) {
			c.add(at+".type", "must be %s, not %s%s", strings.Join(kinds, " or "), quoted(check.Type), meant(check.Type, kinds))
		}
		if check.Path == "" {
			c.add(at+".path", "is required")
		}
		if check.MaxSizeBytes < 0 {
			c.add(at+".max_size_bytes", "must not be negative")
		}
	}
}

func (c *checker) pricing() {
	seen := map[[2]string]bool{}
	for i, p := range c.spec.Pricing.Models {
		at := fmt.Sprintf("pricing.models[%d]", i)
		if p.ProviderKey == "" {
			c.add(at+".provider_key", "is required")
		}
		if p.ProviderModelID == "" {
			c.add(at+".provider_model_id", "is required")
		}
		if p.InputCostPerMillionTokens < 0 || !finite(p.InputCostPerMillionTokens) {
			c.add(at+".input_cost_per_million_tokens", "must not be negative")
		}
		if p.OutputCostPerMillionTokens < 0 || !finite(p.OutputCostPerMillionTokens) {
			c.add(at+".output_cost_per_million_tokens", "must not be negative")
		}
		pair := [2]string{p.ProviderKey, p.ProviderModelID}
		if seen[pair] {
			c.add(at, "must be unique: %s is priced before", quoted(pair[0]+"/"+pair[1]))
		}
		seen[pair] = true
	}
}

func (c *checker) judgeLimits() {
	l := c.spec.Scorecard.JudgeLimits
	if l == nil {
		return
	}
	if l.MaxSamplesPerJudge < 0 || l.MaxSamplesPerJudge > maxJudgeSamples {
		c.add("scorecard.judge_limits.max_samples_per_judge", "must be between 0 and %d", maxJudgeSamples)
	}
	if l.MaxCallsUSD < 0 || !finite(l.MaxCallsUSD) {
		c.add("scorecard.judge_limits.max_calls_usd", "must not be negative")
	}
	if l.MaxTokens < 0 {
		c.add("scorecard.judge_limits.max_tokens", "must not be negative")
	}
}

func (c *checker) scorecard() {
	card := c.spec.Scorecard
	if card.PassThreshold != nil {
		if card.Strategy == Binary {
			c.add("scorecard.pass_threshold", "must be left out with the strategy %s: each dimension has its own", Binary)
		} else {
			c.share("scorecard.pass_threshold", *card.PassThreshold)
		}
	}
	gated := func(d Dimension) bool { return d.Gate }
	if card.Strategy == Hybrid && !slices.ContainsFunc(card.Dimensions, gated) {
		c.add("scorecard.strategy", "%s needs at least one dimension with gate: true", Hybrid)
	}
	judges := len(c.spec.LLMJudges)
	switch mode := c.spec.JudgeMode; {
	case mode == Deterministic && judges > 0:
		c.add("llm_judges", "must be left out with the judge mode %s: write judge_mode %s", mode, JudgeHybrid)
	case (mode == JudgeOnly || mode == JudgeHybrid) && judges == 0:
		c.add("llm_judges", "needs at least one judge with the judge mode %s", mode)
	}
}

// share checks a number that must lie between 0 and 1.
func (c *checker) share(at string, v float64) {
	if math.IsNaN(v) || v < 0 || v > 1 {
		c.add(at, "must be between 0 and 1")
	}
}
