package scoring

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// The sources of a dimension.
const (
	SourceValidators      = "validators"
	SourceMetric          = "metric"
	SourceReliability     = "reliability"
	SourceLatency         = "latency"
	SourceCost            = "cost"
	SourceBehavioral      = "behavioral"
	SourceJudge           = "llm_judge"
	SourceHumanPreference = "human_preference"
)

// The strategies of a scorecard.
const (
	Weighted = "weighted"
	Binary   = "binary"
	Hybrid   = "hybrid"
)

// The directions of a dimension: which raw values are the good ones.
const (
	Higher = "higher"
	Lower  = "lower"
)

// The judge modes of a spec: validators alone, or with judges beside them.
const (
	Deterministic = "deterministic"
	JudgeOnly     = "llm_judge"
	JudgeHybrid   = "hybrid"
)

// defaultSamples is how often a judge is asked when its spec does not say.
const defaultSamples = 3

// Normalize returns the spec with its texts trimmed, its defaults written out
// and its shorthand dimensions expanded. Doing it twice changes nothing more.
// The receiver is left as it is.
func (s Spec) Normalize() Spec {
	s.Name = strings.TrimSpace(s.Name)
	s.Validators = edited(s.Validators, func(v *Validator) {
		trim(&v.Key, &v.Target, &v.ExpectedFrom)
		if isNull(v.Config) || isEmptyObject(v.Config) && !meansNothingBare(v.Type) {
			v.Config = nil
		}
	})
	s.Metrics = edited(s.Metrics, func(m *Metric) { trim(&m.Key, &m.Collector, &m.Unit) })
	s.PostExecutionChecks = edited(s.PostExecutionChecks, func(c *PostExecutionCheck) { trim(&c.Key, &c.Path) })
	s.Pricing.Models = edited(s.Pricing.Models, func(p *Price) { trim(&p.ProviderKey, &p.ProviderModelID) })
	s.LLMJudges = edited(s.LLMJudges, normalizeJudge)
	if s.Behavioral != nil {
		s.Behavioral = &Behavioral{Signals: edited(s.Behavioral.Signals, func(x *Signal) { trim(&x.Key) })}
	}
	if s.Scorecard.Strategy == "" {
		s.Scorecard.Strategy = Weighted
	}
	s.Scorecard.Dimensions = edited(s.Scorecard.Dimensions, func(d *Dimension) {
		trim(&d.Key, &d.Metric, &d.JudgeKey)
		if d.Source == "" {
			s.expand(d)
		}
		if d.BetterDirection == "" && slices.Contains([]string{SourceValidators, SourceReliability, SourceBehavioral, SourceJudge}, d.Source) {
			d.BetterDirection = Higher
		}
	})
	return s
}

// isEmptyObject says that a config has no key. For most types that is the same
// as no config, and they must not differ in a digest.
func isEmptyObject(raw json.RawMessage) bool {
	inner, open := bytes.CutPrefix(bytes.TrimSpace(raw), []byte("{"))
	inner, closed := bytes.CutSuffix(inner, []byte("}"))
	return open && closed && len(bytes.TrimSpace(inner)) == 0
}

func normalizeJudge(j *LLMJudge) {
	trim(&j.Key, &j.Model, &j.ReferenceFrom)
	j.Models = edited(j.Models, func(m *string) { trim(m) })
	if j.Samples == 0 {
		j.Samples = defaultSamples
	}
}

// expand gives a dimension without a source the meaning of its key, where the
// key is one of the five that have one.
func (s Spec) expand(d *Dimension) {
	switch d.Key {
	case "correctness":
		d.Source, d.BetterDirection = SourceValidators, Higher
	case SourceReliability, SourceBehavioral:
		d.Source, d.BetterDirection = d.Key, Higher
	case SourceLatency, SourceCost:
		d.Source, d.BetterDirection = d.Key, Lower
		if d.Normalization == nil {
			d.Normalization = s.legacy(d.Key)
		}
	}
}

// legacy is the normalization that the scorecard's old block gives to a
// shorthand dimension; the runtime limit stands in for a missing maximum.
func (s Spec) legacy(key string) *Normalization {
	old := s.Scorecard.Normalization
	switch {
	case old == nil:
	case key == SourceLatency && old.Latency != nil:
		n := &Normalization{Target: old.Latency.TargetMS, Max: old.Latency.MaxMS}
		if n.Max == nil && s.RuntimeLimits.MaxDurationMS != nil {
			n.Max = new(float64(*s.RuntimeLimits.MaxDurationMS))
		}
		return n
	case key == SourceCost && old.Cost != nil:
		n := &Normalization{Target: old.Cost.TargetUSD, Max: old.Cost.MaxUSD}
		if n.Max == nil {
			n.Max = s.RuntimeLimits.MaxCostUSD
		}
		return n
	}
	return nil
}

// Digest identifies what a spec means: the SHA-256, in hex, of the normalized
// spec as canonical JSON (object keys sorted, no spaces), so that writing a
// shorthand out or reordering a config changes nothing. It is "" for a spec
// that cannot be written as JSON; Validate refuses such a spec.
func (s Spec) Digest() string { return digestOf(s.Normalize()) }

// DigestWith identifies all that trials are judged by: the spec and a security
// block. It is Digest for a block that asks for nothing.
func (s Spec) DigestWith(block *Security) string {
	if block.Empty() {
		return s.Digest()
	}
	return digestOf(struct {
		Spec     Spec
		Security Security
	}{s.Normalize(), *block})
}

func digestOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return ""
	}
	canonical, err := json.Marshal(doc)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

func trim(texts ...*string) {
	for _, t := range texts {
		*t = strings.TrimSpace(*t)
	}
}

// edited is a copy of in with edit applied to each element.
func edited[T any](in []T, edit func(*T)) []T {
	out := slices.Clone(in)
	for i := range out {
		edit(&out[i])
	}
	return out
}
