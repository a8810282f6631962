package scoring

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// compiler checks a normalized spec from top to bottom and gathers what a
// Scorer needs. All problems are reported, in the order of the format's
// fields, whatever was wrong before them.
type compiler struct {
	problems
	spec       Spec
	validators []validator
	graders    []Grader
}

// Validate checks the spec as Normalize leaves it and returns everything that
// is wrong with it; nothing means that it can be scored.
func (s Spec) Validate() []Problem {
	_, found := Compile(s)
	return found
}

func (c *compiler) run() {
	c.header()
	c.limits()
	c.compileValidators()
	c.checks()
	c.metrics()
	if c.spec.Behavioral != nil {
		c.add("behavioral", "this version does not have behavioral signals yet")
	}
	c.pricing()
	if len(c.spec.LLMJudges) > 0 {
		c.add("llm_judges", "this version does not have judges yet")
	}
	c.judgeLimits()
	c.dimensions()
	c.scorecard()
}

func (c *compiler) header() {
	s := c.spec
	if s.Name == "" {
		c.add("name", "is required")
	}
	if s.VersionNumber <= 0 {
		c.add("version_number", "must be greater than 0")
	}
	switch s.JudgeMode {
	case Deterministic:
	case "":
		c.add("judge_mode", "is required: write %s", Deterministic)
	case "llm_judge", "hybrid":
		c.add("judge_mode", "%s; write %s", notYet("the judge mode", s.JudgeMode), Deterministic)
	default:
		c.add("judge_mode", "unknown judge mode %s%s", quoted(s.JudgeMode), hint(s.JudgeMode, []string{Deterministic}))
	}
	if len(s.Validators) == 0 {
		c.add("validators", "needs at least one validator")
	}
	if len(s.Scorecard.Dimensions) == 0 {
		c.add("scorecard.dimensions", "needs at least one dimension")
	}
	known := []string{Weighted, Binary, Hybrid}
	if !slices.Contains(known, s.Scorecard.Strategy) {
		c.add("scorecard.strategy", "unknown strategy %s%s", quoted(s.Scorecard.Strategy), hint(s.Scorecard.Strategy, known))
	}
}

// maxIterationsLimit is the most that runtime_limits.max_iterations may be.
const maxIterationsLimit = 1000

func (c *compiler) limits() {
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

// key checks a key that is required and unique among seen.
func (c *compiler) key(at, key string, seen map[string]bool) {
	switch {
	case key == "":
		c.add(at, "is required")
	case seen[key]:
		c.add(at, "must be unique: %s is used before", quoted(key))
	}
	seen[key] = true
}

func (c *compiler) checks() {
	seen := map[string]bool{}
	for i, check := range c.spec.PostExecutionChecks {
		at := fmt.Sprintf("post_execution_checks[%d]", i)
		c.key(at+".key", check.Key, seen)
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

// meant is the hint of a message that lists the known names itself.
func meant(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

func (c *compiler) metrics() {
	seen := map[string]bool{}
	validators := map[string]bool{}
	for _, v := range c.spec.Validators {
		validators[v.Key] = true
	}
	known := collectors()
	for i, m := range c.spec.Metrics {
		at := fmt.Sprintf("metrics[%d]", i)
		c.key(at+".key", m.Key, seen)
		if m.Key != "" && validators[m.Key] {
			c.add(at+".key", "must be unique: %s is the key of a validator", quoted(m.Key))
		}
		if kinds := []string{"numeric", "text", "boolean"}; !slices.Contains(kinds, m.Type) {
			c.add(at+".type", "must be numeric, text or boolean, not %s%s", quoted(m.Type), meant(m.Type, kinds))
		}
		if _, wrong := findCollector(known, m.Collector); wrong != "" {
			c.add(at+".collector", "%s", wrong)
		}
	}
}

func (c *compiler) pricing() {
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

// maxJudgeSamples is the most often that a judge may be asked.
const maxJudgeSamples = 10

func (c *compiler) judgeLimits() {
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

func (c *compiler) scorecard() {
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
}

// share checks a number that must lie between 0 and 1.
func (c *compiler) share(at string, v float64) {
	if math.IsNaN(v) || v < 0 || v > 1 {
		c.add(at, "must be between 0 and 1")
	}
}

// problems gathers everything that is wrong with a spec, in order.
type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Bounds on hints: the names that are compared, and the list of those that
// would do.
const (
	maxHinted = 64
	maxListed = 400
)

// nearest is the known name that somebody who wrote name most likely meant, or
// "" when none is close: about a third of the letters may differ.
func nearest(name string, known []string) string {
	if name == "" || len(name) > maxHinted {
		return ""
	}
	best, least := "", len(name)/3+1
	for _, k := range known {
		if len(k) > maxHinted {
			continue
		}
		if d := levenshtein.ComputeDistance(strings.ToLower(name), k); d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	return best
}

// hint ends a message about an unknown name: with the name that was probably
// meant, else with all that would do.
func hint(name string, known []string) string {
	if best := nearest(name, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) == 0 {
		return ""
	}
	return "; known are " + clipTo(strings.Join(known, ", "), maxListed)
}

// quoted is %q of a name that may be hostile.
func quoted(s string) string { return fmt.Sprintf("%q", clipTo(s, 100)) }
