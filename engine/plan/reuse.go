package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
)

// Reusing looks for earlier trials that stand for those of a plan.
type Reusing struct {
	plan *Plan
	ids  []string // execution identities of the plan's trials
}

// Reusing works out what the plan's trials are compared by, once for all earlier
// runs. The plan must have its pack.
func (p *Plan) Reusing() (*Reusing, error) {
	x, err := p.identify()
	if err != nil {
		return nil, err
	}
	r := &Reusing{plan: p, ids: make([]string, len(p.Trials))}
	for i, t := range p.Trials {
		id, err := x.of(t)
		if err != nil {
			return nil, err
		}
		r.ids[i] = id.Execution()
	}
	return r, nil
}

// From finds trials of an earlier run that stand for trials of the plan: those of
// the same execution identity. The evidence of each is taken over instead of being
// made again, and scored by the plan. Trials for which one has been found before
// keep it. Decided are the earlier run's trials that passed or failed, each with the
// attempt that decides. It returns how many were found; the earlier plan must have
// its pack. None are found where an [Obstacle] stands in the way.
func (r *Reusing) From(earlier *Plan, decided []Trial) (found int, err error) {
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
	others := r.plan.otherJudges(earlier)
	for i := range r.plan.Trials {
		t := &r.plan.Trials[i]
		d, ok := known[r.ids[i]]
		if !ok || t.Reuse != nil || r.plan.LoanObstacle(earlier, t.CaseKey) != nil {
			continue
		}
		t.OtherJudges = others
		t.Reuse = &event.Reused{RunID: earlier.RunID, TrialID: d.ID, Attempt: d.Attempt}
		found++
	}
	return found, nil
}

// Lent lists the attempts of other runs that stand for trials, in the order in
// which these begin.
func (p *Plan) Lent() (list []event.Reused) {
	for _, t := range p.Trials {
		if t.Reuse != nil {
			list = append(list, *t.Reuse)
		}
	}
	return list
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
// of today. Models are asked: the new run has neither the first one's recording
// nor its cache, nor its peer standings.
func (p *Plan) Again(trials []Trial, req Request) (*Plan, error) {
	if o := p.Obstacle(Retry); o != nil {
		return nil, o
	}
	next := *p
	next.Recording, next.Cache, next.Until, next.Options.PeerGap = nil, false, nil, 0
	next.RunID, next.CreatedAt, next.RetryOf = req.NewID(), req.Now().UTC(), p.RunID
	next.Name, next.Session, next.Merged, next.Options.Shard = req.Name, "", nil, nil
	if next.Name == "" {
		next.Name = next.newName()
	}
	next.Before, next.Affected, next.Options.Deadline = Progress{}, nil, time.Time{}
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
