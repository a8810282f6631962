package plan

import (
	"slices"

	"github.com/agentclash/agentclash/scoring/sequential"
)

// DecideBy has a new plan run until the test has decided: the cases that do not
// count once, then the others in the order of the test, then what it has in reserve.
// Where every case is to be run, those that the test is too short for come before
// that. The plan must have one run agent and nothing run yet.
func (p *Plan) DecideBy(t *sequential.Test, newID func() string) {
	p.Until, p.Options.Repetitions, p.Trials = t, 1, nil
	add := func(key string, repetition int) {
		p.Trials = append(p.Trials, Trial{ID: newID(), CaseKey: key, Repetition: repetition, Attempt: 1})
		p.Options.Repetitions = max(p.Options.Repetitions, repetition)
	}
	for _, other := range t.Others {
		add(other.CaseKey, 1)
	}
	tried := map[string]bool{}
	for _, at := range t.Order() {
		add(at.CaseKey, at.Repetition)
		tried[at.CaseKey] = true
	}
	for _, c := range t.Cases {
		if t.WholeRound && !tried[c.CaseKey] {
			add(c.CaseKey, 1)
		}
	}
	for _, at := range t.Reserves() {
		add(at.CaseKey, at.Repetition)
	}
}

// Spared says that a trial need not be run once Until can come to nothing else. What
// was begun before is not spared.
func (p *Plan) Spared(t Trial) bool {
	return p.Until != nil && t.Attempt <= 1 && (t.Repetition > 1 || !p.Until.WholeRound)
}

// Done says that nothing that is left of a run has to be run.
func (p *Plan) Done() bool {
	return !slices.ContainsFunc(p.Trials, func(t Trial) bool { return !p.Before.Decided || !p.Spared(t) })
}
