package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
)

// Reuse finds trials of an earlier run that stand for trials of this plan: those
// of the same execution identity. The evidence of each is taken over instead of
// being made again, and scored by this plan. Trials for which one has been found
// before keep it. Decided are the earlier run's trials that passed or failed, each
// with the attempt that decides. It returns how many were found; both plans must have their packs.
func (p *Plan) Reuse(earlier *Plan, decided []Trial) (found int, err error) {
	before, err := earlier.identify()
	if err != nil {
		return 0, fmt.Errorf("compare with run %s: %w", earlier.Name, err)
	}
	known := make(map[string]Trial, len(decided))
	for _, d := range decided {
		id, err := before.of(d)
		if err != nil {
			return 0, fmt.Errorf("compare with run %s: %w", earlier.Name, err)
		}
		known[id.Execution()] = d
	}
	now, err := p.identify()
	if err != nil {
		return 0, fmt.Errorf("compare with run %s: %w", earlier.Name, err)
	}
	for i := range p.Trials {
		t := &p.Trials[i]
		if t.Reuse != nil || p.cases[t.CaseKey].AsksPeople() { // who may say something else
			continue
		}
		id, err := now.of(*t)
		if err != nil {
			return found, err
		}
		if d, ok := known[id.Execution()]; ok {
			t.Reuse = &event.Reused{RunID: earlier.RunID, TrialID: d.ID, Attempt: d.Attempt}
			found++
		}
	}
	return found, nil
}

// Since lists what is different for a trial of this plan from a trial of an
// earlier one. Nothing means that each stands for the other.
func (p *Plan) Since(t Trial, earlier *Plan, was Trial) ([]Difference, error) {
	now, err := p.identify()
	if err != nil {
		return nil, err
	}
	before, err := earlier.identify()
	if err != nil {
		return nil, err
	}
	is, err := now.of(t)
	if err != nil {
		return nil, err
	}
	then, err := before.of(was)
	if err != nil {
		return nil, err
	}
	return is.Since(then), nil
}

// Again plans to run trials of a stored run once more, by the agents they are of, as a run of its own: what a
// run has decided is not taken back. The plan must have its pack; prices are those
// of today.
func (p *Plan) Again(trials []Trial, req PlanRequest) (*Plan, error) {
	next := *p
	next.RunID, next.CreatedAt, next.RetryOf = req.NewID(), req.Now().UTC(), p.RunID
	next.Name = req.Name
	if next.Name == "" {
		next.Name = next.newName()
	}
	next.before, next.Affected, next.Options.Deadline = Progress{}, nil, time.Time{}
	next.Agents, next.Trials, next.Cases, next.Options.PeerStandings = nil, nil, nil, false
	lanes := map[int]int{} // of those who have a trial
	for lane, agent := range p.Agents {
		if slices.ContainsFunc(trials, func(t Trial) bool { return t.Agent == lane }) {
			agent.ID, agent.Lane, lanes[lane] = req.NewID(), len(next.Agents), len(next.Agents)
			next.Agents = append(next.Agents, agent)
		}
	}
	wanted := make(map[string]int, len(p.Cases)) // cases to their place
	for _, t := range trials {
		next.Trials = append(next.Trials, Trial{ID: req.NewID(), Agent: lanes[t.Agent], CaseKey: t.CaseKey, Repetition: t.Repetition, Attempt: 1})
		wanted[t.CaseKey] = -1
	}
	for i, c := range p.Cases {
		if _, ok := wanted[c.Key]; ok {
			next.Cases, wanted[c.Key] = append(next.Cases, c), i
		}
	}
	slices.SortFunc(next.Trials, func(a, b Trial) int { // as a run takes them
		return cmp.Or(cmp.Compare(a.Repetition, b.Repetition), cmp.Compare(wanted[a.CaseKey], wanted[b.CaseKey]), cmp.Compare(a.Agent, b.Agent))
	})
	var cases []pack.Case
	for _, c := range next.Cases {
		cases = append(cases, p.cases[c.Key])
	}
	var err error
	if next.Simulators, err = simulators(cases, next.Agents); err != nil {
		return nil, err
	}
	if err := next.judges(); err != nil {
		return nil, err
	}
	return &next, errors.Join(next.checkPrices(), next.checkJudges(), next.checkEnds())
}

// Reused counts the trials that earlier ones stand for.
func (p *Plan) Reused() (n int) {
	for _, t := range p.Trials {
		if t.Reuse != nil {
			n++
		}
	}
	return n
}
