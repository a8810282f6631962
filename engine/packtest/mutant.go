package packtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// mutant is the spec with one validator changed.
type mutant struct {
	name   string // what the validator does now
	scorer *scoring.Scorer
	// swap gives the validator what another case expects; nil for the others.
	swap func(*testCase, scoring.Evidence) scoring.Evidence
	// milder names the mutant that goes further: where that one is not noticed,
	// this one cannot be.
	milder string
}

// sample is evidence to judge mutants by, and how it is judged now.
type sample struct {
	of       *testCase
	evidence scoring.Evidence
	code     string // of an end that was the agent's own failure
	outcome  scoring.Outcome
}

// mutants changes each validator in turn and reports those whose change no
// trial notices. Nothing is run again: the evidence is judged once more.
func (s *subject) mutants(ctx context.Context, r *Report, trials []trial) error {
	samples, sound := s.samples(r, trials)
	if !sound {
		if len(trials) > 0 {
			r.note("no agent passes a case as it should, so that no mutant can be judged")
		}
		return nil
	}
	unused := s.unused()
	for i, v := range s.spec.Validators {
		if unused[i] {
			continue // said already
		}
		var unnoticed []string
		for _, m := range s.mutantsOf(i) {
			if m.scorer == nil || slices.Contains(unnoticed, m.milder) {
				continue
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.Mutants.Judged++
			if s.notices(m, samples) {
				r.Mutants.Noticed++
				continue
			}
			unnoticed = append(unnoticed, m.name)
		}
		if len(unnoticed) > 0 {
			r.add(Finding{Severity: Warning, Code: CodeUnnoticedMutant, Validator: v.Key,
				Field: fmt.Sprintf("%s.validators[%d]", specField, i), Message: whyUnnoticed(v.Key, unnoticed)})
		}
	}
	return nil
}

func whyUnnoticed(key string, mutants []string) string {
	means := "no trial ends in another way"
	switch {
	case slices.Contains(mutants, passesAll) && slices.Contains(mutants, failsAll):
		means = "it decides no trial"
	case slices.Contains(mutants, passesAll):
		means = "what it would stop is stopped by something else too, or no case tests it"
	}
	return fmt.Sprintf("no case notices when the validator %s %s: %s", quoted(key), strings.Join(mutants, ", or "), means)
}

// samples are the trials that were judged, and the good ones spoiled in one
// place each. sound says that there is a good one.
func (s *subject) samples(r *Report, trials []trial) (list []sample, sound bool) {
	dropped := 0
	var good []sample
	for _, t := range trials {
		if t.result.Outcome == scoring.OutcomeInvalid {
			continue
		}
		if t.evidence == nil {
			dropped++
			continue
		}
		x := sample{of: t.of, evidence: *t.evidence}
		if t.result.StopReason != "completed" {
			x.code = cmp.Or(t.result.Code, t.result.StopReason)
		}
		x.outcome = x.judge(s.scorer, x.evidence)
		list = append(list, x)
		if x.outcome == scoring.OutcomePassed && (t.agent == Reference || t.own) {
			good = append(good, x)
		}
	}
	if dropped > 0 {
		r.note("%d trials left too much to keep: mutants are judged on the others", dropped)
	}
	for i, x := range good[:min(len(good), maxSpoiled)] {
		for _, ev := range s.spoil(x, good[(i+1)%len(good)]) {
			y := sample{of: x.of, evidence: ev}
			y.outcome = y.judge(s.scorer, ev)
			list = append(list, y)
		}
	}
	return list, len(good) > 0
}

func (x sample) judge(scorer *scoring.Scorer, ev scoring.Evidence) scoring.Outcome {
	var t scoring.Trial
	scorer.Decide(&t, scorer.Score(ev), x.code)
	return t.Outcome
}

// notices says whether any sample ends in another way under the mutant.
func (s *subject) notices(m mutant, samples []sample) bool {
	return slices.ContainsFunc(samples, func(x sample) bool {
		ev := x.evidence
		if m.swap != nil {
			ev = m.swap(x.of, ev)
		}
		return x.judge(m.scorer, ev) != x.outcome
	})
}

const (
	passesAll = "always passes"
	failsAll  = "always fails"
)

// mutantsOf are the changes of one validator.
func (s *subject) mutantsOf(i int) []mutant {
	only := func(changed scoring.Validator) *scoring.Scorer {
		return s.with(func(j int, v scoring.Validator) scoring.Validator {
			if j == i {
				return changed
			}
			return v
		})
	}
	v := s.spec.Validators[i]
	list := []mutant{
		{name: passesAll, scorer: only(alwaysPasses(v))},
		{name: failsAll, scorer: only(alwaysFails(v))},
	}
	if swap := s.swapping(v); swap != nil {
		swapped := v
		swapped.ExpectedFrom = swappedRef
		list = append(list, mutant{name: "expects what another case expects", scorer: only(swapped), swap: swap, milder: failsAll})
	}
	if config, how := loosened(v); how != "" {
		loose := v
		loose.Config = config
		list = append(list, mutant{name: how, scorer: only(loose), milder: passesAll})
	}
	return list
}

// The expectation under which a case holds what another one expects. No key of
// a pack is like it.
const (
	swappedKey = "expected by another case"
	swappedRef = "case.expectations." + swappedKey
)

// swapping gives a case what the next one expects that expects something else;
// nil when all expect the same.
func (s *subject) swapping(v scoring.Validator) func(*testCase, scoring.Evidence) scoring.Evidence {
	texts := map[*testCase]string{}
	distinct := map[string]bool{}
	for _, c := range s.cases {
		if text, ok := c.expected(v.ExpectedFrom); ok {
			texts[c] = text
			distinct[text] = true
		}
	}
	if len(distinct) < 2 {
		return nil
	}
	others := sorted(distinct)
	return func(c *testCase, ev scoring.Evidence) scoring.Evidence {
		at, _ := slices.BinarySearch(others, texts[c])
		value, err := json.Marshal(others[(at+1)%len(others)])
		if err != nil {
			return ev // a text always marshals
		}
		expectations := map[string]scoring.CaseInput{swappedKey: {Value: value}}
		for k, e := range ev.Case.Expectations {
			expectations[k] = e
		}
		ev.Case.Expectations = expectations
		return ev
	}
}

// looser is how much wider a tolerance is made.
const looser = 10

// loosened is the config of a validator with its tolerance widened or its
// threshold lowered, and what that makes of it; "" where it has neither.
func loosened(v scoring.Validator) (json.RawMessage, string) {
	config := map[string]any{}
	if len(v.Config) > 0 && json.Unmarshal(v.Config, &config) != nil {
		return nil, ""
	}
	how := ""
	switch threshold, set := config["pass_threshold"].(float64); {
	case v.Type == scoring.NumericMatch && widen(config):
		how = fmt.Sprintf("is %d times as tolerant", looser)
	case v.Type == scoring.NumericMatch && config["significant_digits"] == nil:
		config["relative_tolerance"], how = exactLoosened, "tolerates a tenth of the number"
	case v.Type == scoring.CodeExecution && set && threshold > 0:
		config["pass_threshold"], how = threshold/2, "has half its pass_threshold"
	default:
		return nil, ""
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, ""
	}
	return raw, how
}

// exactLoosened is the share that a comparison without tolerance is given.
const exactLoosened = 0.1

// widen multiplies the tolerances of a numeric_match; false when it has none.
func widen(config map[string]any) bool {
	found := false
	for _, key := range []string{"absolute_tolerance", "relative_tolerance", "tolerance"} {
		if v, ok := config[key].(float64); ok && v > 0 {
			config[key], found = v*looser, true
		}
	}
	return found
}
