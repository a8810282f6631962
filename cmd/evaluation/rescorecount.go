package evaluation

import (
	"slices"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// rescoredLane counts what became of the trials of a run agent.
type rescoredLane struct {
	agent         store.RunAgent
	before, after *scoring.Aggregator // of the trials that the new scorecard counts
	doc           view.RescoredAgent  // counts alone
	kept, leftOut int
}

// take counts a trial and says whether the new scorecard counts it.
func (l *rescoredLane) take(t *rescoredTrial) bool {
	l.doc.Trials++
	switch {
	case t.leftOut != "":
		l.leftOut++
		l.notRescored(view.NotRescored{Status: view.LeftOut})
		return false
	case t.of.Attempt == 0:
		l.leftOut++
		l.notRescored(view.NotRescored{Status: t.of.Status})
		return false
	case t.scored:
		l.doc.Rescored++
		l.changed(t)
	default:
		l.kept++
		l.notRescored(view.NotRescored{Status: string(t.before.Outcome), Code: t.before.Code, Phase: t.before.Phase})
	}
	for _, earlier := range t.earlier {
		l.before.Add(earlier)
		l.after.Add(earlier)
	}
	l.before.Add(t.before)
	l.after.Add(t.after)
	return true
}

func (l *rescoredLane) notRescored(n view.NotRescored) {
	i := slices.IndexFunc(l.doc.NotRescored, func(o view.NotRescored) bool {
		return o.Status == n.Status && o.Code == n.Code && o.Phase == n.Phase
	})
	if i < 0 {
		i, l.doc.NotRescored = len(l.doc.NotRescored), append(l.doc.NotRescored, n)
	}
	l.doc.NotRescored[i].Trials++
}

// changed counts a trial that was scored again by how it reads now.
func (l *rescoredLane) changed(t *rescoredTrial) {
	switch {
	case t.change == nil:
		return
	case !t.change.Flipped:
		l.doc.Changed++
		return
	}
	l.doc.Flipped++
	from, to := t.before.Outcome, t.after.Outcome
	i := slices.IndexFunc(l.doc.Flips, func(f view.Flip) bool { return f.From == from && f.To == to })
	if i < 0 {
		i, l.doc.Flips = len(l.doc.Flips), append(l.doc.Flips, view.Flip{From: from, To: to})
	}
	l.doc.Flips[i].Trials++
	if to == scoring.OutcomeInvalid {
		l.undecidable(view.Undecidable{Code: t.after.Code, Phase: t.after.Phase, Reason: t.after.Reason})
	}
}

func (l *rescoredLane) undecidable(u view.Undecidable) {
	i := slices.IndexFunc(l.doc.Undecidable, func(o view.Undecidable) bool { return o.Code == u.Code && o.Phase == u.Phase })
	if i < 0 {
		i, l.doc.Undecidable = len(l.doc.Undecidable), append(l.doc.Undecidable, u)
	}
	l.doc.Undecidable[i].Trials++
}

// document is the lane beside what it was.
func (l *rescoredLane) document() view.RescoredAgent {
	ref := view.AgentRef{Label: l.agent.Label, RunAgentID: l.agent.ID}
	d := view.NewRescoredAgent(ref, l.before.Scorecard(), l.after.Scorecard())
	d.Trials, d.Rescored, d.Flipped, d.Changed = l.doc.Trials, l.doc.Rescored, l.doc.Flipped, l.doc.Changed
	d.Flips, d.NotRescored, d.Undecidable = l.doc.Flips, l.doc.NotRescored, l.doc.Undecidable
	return d
}

// count adds a trial to the run's own counts and lists.
func (r *rescoring) count(t *rescoredTrial) {
	r.doc.Trials++
	if t.leftOut != "" {
		c := r.leftOut[t.of.CaseKey]
		if c == nil {
			c = &view.LeftOutCase{CaseKey: t.of.CaseKey, Reason: t.leftOut}
			r.leftOut[t.of.CaseKey] = c
		}
		c.Trials++
	}
	if t.scored {
		r.doc.Rescored++
	}
	if t.change == nil {
		return
	}
	if t.change.Flipped {
		r.doc.Flipped++
	} else {
		r.doc.Changed++
	}
	if r.details {
		agent := r.byAgent[t.of.RunAgentID].agent
		r.doc.Changes = append(r.doc.Changes, view.RescoredChange{RunAgentID: agent.ID, RunAgentLabel: agent.Label, Change: *t.change})
	}
}

// document is all there is to say of the rescoring.
func (r *rescoring) document() view.RescoreDocument {
	d := r.doc
	d.RunID, d.RunName, d.RunStatus = r.run.ID, r.run.Name, r.run.Status
	d.Pack, d.PackDigest = view.Pack{Slug: r.ref.Slug, Version: r.ref.Version}, r.ref.Digest
	d.SpecDigest, d.SpecChanged = r.score.SpecDigest(), r.score.SpecDigest() != r.run.SpecDigest
	for _, l := range r.lanes {
		d.Agents = append(d.Agents, l.document())
	}
	for _, c := range r.plan.Cases { // in the plan's order
		if left := r.leftOut[c.Key]; left != nil {
			d.LeftOut = append(d.LeftOut, *left)
		}
	}
	return d
}

// end is what the store is told.
func (r *rescoring) end() store.RescoringEnd {
	end := store.RescoringEnd{Trials: r.doc.Rescored, Flipped: r.doc.Flipped, Scorecards: map[string]scoring.AgentScorecard{}}
	for _, l := range r.lanes {
		end.Kept, end.LeftOut = end.Kept+l.kept, end.LeftOut+l.leftOut
		end.Scorecards[l.agent.ID] = l.after.Scorecard()
	}
	return end
}
