package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// groupKey names the trials that are ranked together.
type groupKey struct {
	caseKey    string
	repetition int
}

// group holds the trials of a case and repetition that have come to scoring
// until the last of them has, so that they can be ranked. None of them keeps
// others from running while it waits.
type group struct {
	mu      sync.Mutex
	missing int // trials that have neither come nor fallen away
	waiting []parked

	ranked sync.Mutex // held while they are
}

// expect counts a trial that comes once more.
func (g *group) expect() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.missing++
}

// laneKey names a trial of a group.
type laneKey struct {
	groupKey
	lane int
}

// keysOf are the groups that may have trials in a run: those that are planned, and
// those with a trial that an earlier process left invalid.
func keysOf(planned *plan.Plan) iter.Seq[groupKey] {
	return func(yield func(groupKey) bool) {
		for _, t := range planned.Trials {
			if !yield(groupKey{t.CaseKey, t.Repetition}) {
				return
			}
		}
		for lane := range planned.Agents {
			for _, t := range planned.Prior(lane) {
				if t.Outcome == scoring.OutcomeInvalid && !yield(groupKey{t.CaseKey, t.Repetition}) {
					return
				}
			}
		}
	}
}

// parked is an attempt that only a ranking keeps from being scored.
type parked struct {
	*attempt
	end ending
}

// groups is nil when nothing is ranked.
func newGroups(planned *plan.Plan) map[groupKey]*group {
	if !planned.Scorer.Ranks() {
		return nil
	}
	groups := map[groupKey]*group{}
	for key := range keysOf(planned) {
		groups[key] = &group{}
	}
	for _, t := range planned.Trials {
		groups[groupKey{t.CaseKey, t.Repetition}].missing++
	}
	return groups
}

// arrive counts a trial that has come to scoring, or, as nil, one that never
// will. Whoever is last ranks and finishes them all.
func (r *run) arrive(ctx context.Context, t plan.Trial, p *parked) error {
	key := groupKey{t.CaseKey, t.Repetition}
	g := r.groups[key]
	if g == nil {
		return nil
	}
	g.mu.Lock()
	g.missing--
	if p != nil {
		g.waiting = append(g.waiting, *p)
	}
	var all []parked
	if g.missing == 0 {
		all, g.waiting = g.waiting, nil
	}
	g.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	g.ranked.Lock() // a trial that is run again may come while the others are ranked
	defer g.ranked.Unlock()
	slices.SortFunc(all, func(a, b parked) int { return cmp.Compare(a.trial.Agent, b.trial.Agent) })
	return r.rank(ctx, key, all)
}

// ranking is a group while it is ranked.
type ranking struct {
	scoring.Group
	panel   *panel
	members []*attempt // by place in Trials; nil for one that was scored by an earlier run of the plan
	err     error      // the first fact that could not be stated
}

// rank asks the judges that compare agents, hands each of the trials its part
// of what they say, and finishes them.
func (r *run) rank(ctx context.Context, key groupKey, waiting []parked) error {
	g, err := r.ranking(ctx, key, waiting)
	if err != nil {
		return err
	}
	for told := map[string]bool{}; ; {
		q, ok := r.plan.Scorer.NextRanking(g.Group)
		if !ok || told[name(q)] { // a reply that is not found again would be asked for for ever
			break
		}
		told[name(q)] = true
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		reply, asking := r.askRanking(ctx, g, q)
		if asking != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if reached := (*budget.Reached)(nil); errors.As(asking, &reached) {
			return reached
		}
		if err := r.tell(ctx, g, q, reply); err != nil {
			return err
		}
		if asking != nil {
			break
		}
	}
	if trial, replies := r.plan.Scorer.Alone(g.Group); len(replies) > 0 && g.members[trial] != nil {
		for _, reply := range replies {
			g.members[trial].log.emitAs(event.SourceScoring, event.JudgeDone, event.JudgeReply{
				JudgeKey: reply.JudgeKey, QuestionID: reply.QuestionID, Status: reply.Status, Reason: reply.Reason,
				Candidates: reply.Candidates, OwnPlace: new(0), Shared: true,
			})
		}
	}
	if tape := r.deps.Tape; tape != nil {
		if err := tape.End(provider.Ref{Case: key.caseKey, Repetition: key.repetition}, true); err != nil {
			return err
		}
	}
	g.panel.share(waiting)
	for _, p := range waiting {
		if err := r.settle(p.attempt, p.end, false); err != nil {
			return err
		}
	}
	return nil
}

// askRanking asks once more for each retry of invalid trials that the run
// allows, since the trials of a group have no attempts apart.
func (r *run) askRanking(ctx context.Context, g *ranking, q scoring.Question) (reply event.JudgeReply, err error) {
	for try := 0; ; try++ {
		delete(g.panel.put, name(q)) // it is put again on purpose
		reply, err = g.panel.ask(ctx, q)
		if err != nil || try >= r.plan.Options.RetryInvalid || r.heard(g, q, reply) || reply.Status == scoring.JudgeUnable {
			return reply, err
		}
		g.panel.state(event.JudgeDone, reply)
	}
}

// heard says that a reply ranks the candidates.
func (r *run) heard(g *ranking, q scoring.Question, reply event.JudgeReply) bool {
	return r.plan.Scorer.Heard(g.RankReply(q, q.Shown[0], reply.Evidence()))
}

// ranking gathers a group: those who wait, and those of an earlier run of the
// plan whose trial counts.
func (r *run) ranking(ctx context.Context, key groupKey, waiting []parked) (*ranking, error) {
	g := &ranking{Group: scoring.Group{Seed: r.plan.Options.Seed, CaseKey: key.caseKey, Repetition: key.repetition}}
	for lane, agent := range r.plan.Agents {
		if i := slices.IndexFunc(waiting, func(p parked) bool { return p.trial.Agent == lane }); i >= 0 {
			g.add(agent.Label, waiting[i].log.fold.Evidence(), waiting[i].attempt)
			continue
		}
		ev, ok, err := r.scoredBefore(ctx, key, lane)
		if err != nil {
			return nil, err
		}
		if ok {
			g.add(agent.Label, ev, nil)
		}
	}
	ref := provider.Ref{Case: key.caseKey, Repetition: key.repetition}
	g.panel = r.panel(ref, func(typ event.Type, payload any) {
		switch v := payload.(type) {
		case event.JudgeCall:
			v.CaseKey, v.Repetition = key.caseKey, key.repetition
			payload = v
		case event.JudgeReply:
			v.CaseKey, v.Repetition = key.caseKey, key.repetition
			payload = v
		}
		g.err = cmp.Or(g.err, r.emit(ctx, typ, payload))
	})
	for _, p := range waiting {
		g.panel.used = g.panel.used.Max(p.ranked)
	}
	return g, nil
}

func (g *ranking) add(name string, ev scoring.Evidence, a *attempt) {
	g.Names = append(g.Names, name)
	g.Trials = append(g.Trials, ev)
	g.members = append(g.members, a)
}

// scoredBefore is the evidence of a trial of a group that has settled already, when
// it counts: in an earlier process of the run, or before this one was run again.
func (r *run) scoredBefore(ctx context.Context, key groupKey, lane int) (scoring.Evidence, bool, error) {
	t := r.settledOf(key, lane)
	if t.outcome == "" || t.outcome == scoring.OutcomeInvalid || r.deps.Recall == nil {
		return scoring.Evidence{}, false, nil
	}
	kase, err := r.plan.Case(key.caseKey)
	if err != nil {
		return scoring.Evidence{}, false, err
	}
	fold := event.NewFold(r.plan.Source.ScoringCase(kase))
	if err := r.deps.Recall(context.WithoutCancel(ctx), t.trialID, t.attempt, fold.Apply); err != nil {
		return scoring.Evidence{}, false, fmt.Errorf("read trial %s, which is ranked with others: %w", t.trialID, err)
	}
	return fold.Evidence(), true, nil
}

// decided is a trial by the attempt that decides it.
type decided struct {
	trialID string
	attempt int
	outcome scoring.Outcome
}

// settledOf is the trial of a group that has settled last; its outcome is "" when
// there is none.
func (r *run) settledOf(key groupKey, lane int) (last decided) {
	r.steering.Lock()
	last, now := r.ended[laneKey{key, lane}]
	r.steering.Unlock()
	if now {
		return last
	}
	for _, t := range r.plan.Prior(lane) {
		if t.CaseKey == key.caseKey && t.Repetition == key.repetition {
			last = decided{t.TrialID, t.Attempt, t.Outcome}
		}
	}
	return last
}

// tell states what came of a ranking's question: once as the run's fact, with
// what it used, and to each trial as its own evidence.
func (r *run) tell(ctx context.Context, g *ranking, q scoring.Question, reply event.JudgeReply) error {
	whole := shared(g.Group, q, q.Shown[0], reply)
	whole.QuestionID, whole.OwnPlace, whole.Shared = "", nil, false
	g.panel.state(event.JudgeDone, whole)
	if g.err != nil {
		return g.err
	}
	for i, a := range g.members {
		own := shared(g.Group, q, i, reply)
		own.Late = slices.Contains(g.members, nil)
		if a == nil {
			g.Trials[i].JudgeReplies = append(g.Trials[i].JudgeReplies, own.Evidence())
			continue
		}
		a.log.emitAs(event.SourceScoring, event.JudgeDone, own)
		if a.log.err != nil {
			return a.log.err
		}
		g.Trials[i] = a.log.fold.Evidence()
	}
	return nil
}

// shared is one trial's own copy of a ranking's reply.
func shared(g scoring.Group, q scoring.Question, trial int, reply event.JudgeReply) event.JudgeReply {
	of := g.RankReply(q, trial, reply.Evidence())
	reply.QuestionID, reply.Shared, reply.Candidates = of.QuestionID, true, of.Candidates
	if of.Own >= 0 {
		reply.OwnPlace = &of.Own
	}
	return reply
}

// share adds what a ranking used to the trials that it was made for, in equal
// parts.
func (p *panel) share(waiting []parked) {
	if p.own.Calls == 0 {
		return
	}
	n := len(waiting)
	for i, w := range waiting {
		mine := scoring.Judging{Calls: part(p.own.Calls, i, n), Tokens: int64(part(int(p.own.Tokens), i, n))}
		if p.own.CostUSD != nil {
			mine.CostUSD = new(*p.own.CostUSD / float64(n))
		}
		w.panel.own = w.panel.own.Plus(mine)
	}
}

// part is the i-th of n parts of a whole number.
func part(whole, i, n int) int {
	share := whole / n
	if i < whole%n {
		share++
	}
	return share
}
