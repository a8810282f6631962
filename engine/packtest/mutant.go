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
	name string // what the validator does now
	// alone is the changed validator and nothing else; nil when it makes no
	// sense.
	alone *scoring.Scorer
	// compile makes the whole spec with it.
	compile func() *scoring.Scorer
	// swap gives the validator what another case expects; nil for the others.
	swap func(*testCase, scoring.Evidence) scoring.Evidence
	// milder names the mutants that go further: where none of them is noticed,
	// this one cannot be.
	milder []string
}

// sample is evidence to judge mutants by, and how it is judged now.
type sample struct {
	of       *testCase
	evidence scoring.Evidence
	code     string // of an end that was the agent's own failure
	outcome  scoring.Outcome
}

// maxWork bounds how many validators are run again to judge mutants.
const maxWork = 200_000_000

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
	unused, work := s.unused(), maxWork
	for i, v := range s.spec.Validators {
		if unused[i] {
			continue // said already
		}
		if work <= 0 {
			r.note("changed validators were judged up to %s: all of them would take too long", quoted(s.spec.Validators[i-1].Key))
			break
		}
		s.tell(Step{Judging, i, len(s.spec.Validators)})
		unnoticed, err := s.unnoticed(ctx, r, i, samples, &work)
		if err != nil {
			return err
		}
		if len(unnoticed) > 0 {
			r.add(Finding{Severity: Warning, Code: CodeUnnoticedMutant, Validator: v.Key,
				Field: fmt.Sprintf("%s.validators[%d]", specField, i), Message: whyUnnoticed(v.Key, unnoticed)})
		}
	}
	return nil
}

// unnoticed are the changes of one validator that no sample notices.
func (s *subject) unnoticed(ctx context.Context, r *Report, i int, samples []sample, work *int) ([]string, error) {
	var names []string
	before := make([]result, len(samples))
	if own := s.alone(s.spec.Validators[i]); own != nil {
		for j, x := range samples {
			before[j] = resultOf(own, x.evidence)
		}
	}
	missed := func(name string) bool { return slices.Contains(names, name) }
	for _, m := range s.mutantsOf(i) {
		if m.alone == nil || len(m.milder) > 0 && !slices.ContainsFunc(m.milder, func(name string) bool { return !missed(name) }) {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.Mutants.Judged++
		if m.noticed(before, samples, work) {
			r.Mutants.Noticed++
			continue
		}
		names = append(names, m.name)
	}
	return names, nil
}

func whyUnnoticed(key string, mutants []string) string {
	means := "no trial ends in another way"
	switch {
	case slices.Contains(mutants, passesAll) && slices.Contains(mutants, failsAll):
		means = "it decides no trial"
	case slices.Contains(mutants, passesAll):
		means = "what it would stop is stopped by something else too, or no case tests it"
	case !slices.ContainsFunc(mutants, func(m string) bool { return !strings.Contains(m, "threshold ") }):
		means = "its score counts whatever its verdict, and the pass_threshold of a dimension decides"
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
		for _, ev := range (spoiler{s, x.of, i}).spoil(x.evidence, good[(i+1)%len(good)].evidence) {
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

// result is what a validator makes of a trial, as far as an outcome can depend
// on it.
type result struct {
	class, lack string
	score       float64
}

func resultOf(alone *scoring.Scorer, ev scoring.Evidence) result {
	card := alone.Score(ev)
	v := card.Validators[0]
	out := result{class: v.OutcomeClass, lack: card.NoOutput}
	if v.NormalizedScore != nil {
		out.score = *v.NormalizedScore
	}
	if v.State == scoring.Available {
		out.class = string(v.State) // its score counts, whatever the verdict
	}
	return out
}

// noticed says whether any sample ends in another way under the mutant. One in
// which the validator itself does not come to another result cannot.
func (m mutant) noticed(before []result, samples []sample, work *int) bool {
	var whole *scoring.Scorer
	for i, x := range samples {
		ev := x.evidence
		if m.swap != nil {
			ev = m.swap(x.of, ev)
		}
		if resultOf(m.alone, ev) == before[i] {
			continue
		}
		if whole == nil {
			if whole = m.compile(); whole == nil {
				return true // not a spec: there is nothing to notice
			}
		}
		*work -= len(whole.Spec().Validators)
		if x.judge(whole, ev) != x.outcome {
			return true
		}
	}
	return false
}

const (
	passesAll = "always passes"
	failsAll  = "always fails"
)

// mutantsOf are the changes of one validator. One that no sample could notice,
// as a change that goes further is not noticed, is not judged.
func (s *subject) mutantsOf(i int) []mutant {
	v := s.spec.Validators[i]
	list := []mutant{
		s.mutant(i, passesAll, alwaysPasses(v)),
		s.mutant(i, failsAll, alwaysFails(v)),
	}
	further := func(to direction) []string {
		switch {
		case to == turned:
			return []string{passesAll, failsAll}
		case (to == looser) != v.Negate:
			return []string{passesAll}
		}
		return []string{failsAll}
	}
	if swap := s.swapping(v); swap != nil {
		swapped := v
		swapped.ExpectedFrom = swappedRef
		m := s.mutant(i, "expects what another case expects", swapped)
		m.swap, m.milder = swap, further(stricter)
		list = append(list, m)
	}
	for _, c := range changes(v) {
		m := s.mutant(i, c.how, c.Validator)
		m.milder = further(c.to)
		list = append(list, m)
	}
	return list
}

// mutant is the spec with another validator in place of one.
func (s *subject) mutant(i int, name string, changed scoring.Validator) mutant {
	return mutant{name: name, alone: s.alone(changed), compile: func() *scoring.Scorer {
		return s.with(func(j int, v scoring.Validator) scoring.Validator {
			if j == i {
				return changed
			}
			return v
		})
	}}
}

// alone is a spec of one validator and nothing else; nil when it cannot be
// compiled.
func (s *subject) alone(v scoring.Validator) *scoring.Scorer {
	scorer, _ := scoring.Compile(scoring.Spec{
		Name: s.spec.Name, VersionNumber: 1, JudgeMode: scoring.Deterministic, Validators: []scoring.Validator{v},
		PostExecutionChecks: s.spec.PostExecutionChecks,
		Scorecard:           scoring.ScorecardSpec{Dimensions: []scoring.Dimension{{Key: scoring.SourceValidators, Source: scoring.SourceValidators}}},
	})
	return scorer
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
