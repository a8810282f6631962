package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/scoring"
)

// Rejudging asks judges what stored evidence leaves open about the trials of a
// run that is scored again: questions that a changed pack asks anew, and those
// of judges that came to no score. It is safe for concurrent use.
type Rejudging struct {
	r    *Rescoring
	plan *plan.Plan // that the panels work by: judges are paid today's prices

	paces provider.Paces
}

// StoredTrial is a trial by the attempt that decides it, with the events of the
// kinds that Rescoring.EventTypes lists.
type StoredTrial struct {
	Lane   int // index into Plan.Agents
	Ended  scoring.Trial
	Events []event.Event
}

// Judging prepares to ask the judges of the pack that scores, each call of which
// may wait for its provider for as long as it says; nil: by default. It refuses a
// budget in dollars for a model that nobody prices.
func (r *Rescoring) Judging(maxWaitMS *int64) (*Rejudging, error) {
	p, err := r.plan.JudgedNow(maxWaitMS)
	return &Rejudging{r: r, plan: p}, err
}

// panel asks on behalf of one trial or group, at a pace that all have in common.
func (j *Rejudging) panel(deps Deps, ref provider.Ref, state func(event.Type, any)) *panel {
	p := newPanel(j.plan, deps, ref, state)
	p.retry = func(m plan.JudgeModel, timeout time.Duration) provider.Retry {
		return retrying(j.plan, deps, timeout, j.paces.Of(m.Pace(), m.MaxConcurrent))
	}
	return p
}

// Judges are the models that may be asked.
func (j *Rejudging) Judges() []plan.JudgeModel { return j.plan.Judges }

// Open counts the questions that would be asked about the trials of one case and
// repetition, as Calls, and the most that they can use; its CostUSD is nil when a
// model has no price.
func (j *Rejudging) Open(trials []StoredTrial) (scoring.Judging, error) {
	g, err := j.gather(trials)
	if err != nil {
		return scoring.Judging{}, err
	}
	total := scoring.Judging{CostUSD: new(0.0)}
	for i := range g.Trials {
		used := scoring.Judging{CostUSD: new(0.0)}
		for ev := &g.Trials[i]; ; {
			q, ok := j.plan.Scorer.NextQuestion(*ev)
			if !ok {
				break
			}
			used = used.Plus(j.most(q))
			ev.JudgeReplies = append(ev.JudgeReplies, scoring.JudgeReply{
				JudgeKey: q.JudgeKey, Model: q.Model, Sample: q.Sample, QuestionID: q.ID, Status: scoring.JudgeUnable,
			})
		}
		total = total.Plus(j.within(used))
	}
	ranked := scoring.Judging{CostUSD: new(0.0)}
	for {
		q, ok := j.plan.Scorer.NextRanking(g.Group)
		if !ok {
			break
		}
		ranked = ranked.Plus(j.most(q))
		for i := range g.Trials {
			g.Trials[i].JudgeReplies = append(g.Trials[i].JudgeReplies, g.RankReply(q, i, scoring.JudgeReply{Status: scoring.JudgeUnable}))
		}
	}
	total = total.Plus(j.within(ranked))
	return total, nil
}

// most is what one question can use.
func (j *Rejudging) most(q scoring.Question) scoring.Judging {
	m := j.plan.Judge(q.Model)
	a := scoring.Judging{Calls: 1, Tokens: q.MaxInputTokens() + q.MaxOutputTokens}
	if usd, ok := j.plan.Scorer.Cost(m.Provider, m.Model, q.MaxInputTokens(), q.MaxOutputTokens); ok {
		a.CostUSD = &usd
	}
	return a
}

// within keeps what is asked about one trial to the spec's limits.
func (j *Rejudging) within(a scoring.Judging) scoring.Judging {
	l := j.plan.Scorer.JudgeLimits()
	if l.MaxTokens > 0 {
		a.Tokens = min(a.Tokens, l.MaxTokens)
	}
	if l.MaxCallsUSD > 0 && a.CostUSD != nil {
		a.CostUSD = new(min(*a.CostUSD, l.MaxCallsUSD))
	}
	return a
}

// restored is a group of stored trials.
type restored struct {
	scoring.Group
	of []StoredTrial // by place in Trials
}

// gather folds what can be scored, and opens again what judges are to be asked.
func (j *Rejudging) gather(trials []StoredTrial) (*restored, error) {
	g := &restored{Group: scoring.Group{Seed: j.plan.Options.Seed}}
	for _, t := range trials {
		ev, scored, err := j.r.evidence(t.Ended, t.Events)
		if err != nil {
			return nil, err
		}
		if !scored || t.Ended.Outcome == scoring.OutcomeInvalid && t.Ended.Phase != scoring.PhaseScoring {
			continue
		}
		ev.JudgeReplies = j.plan.Scorer.Reopen(ev)
		g.CaseKey, g.Repetition = t.Ended.CaseKey, t.Ended.Repetition
		g.of, g.Trials = append(g.of, t), append(g.Trials, ev)
		g.Names = append(g.Names, j.plan.Agents[t.Lane].Label)
	}
	return g, nil
}

// Asked is what asking came to.
type Asked struct {
	Used       *scoring.Judging // nil: nothing was asked
	Unanswered int              // questions that got no answer
	Why        string           // of the first of them
}

// Ask asks what is open about the trials of one case and repetition, and hands
// the facts of each question that is answered to keep as it comes: for the
// attempts that it belongs to, without sequence numbers. A question that is not
// answered leaves nothing behind: the evidence is what it was. An error of keep
// ends the asking.
func (j *Rejudging) Ask(ctx context.Context, trials []StoredTrial, deps Deps, keep func([]event.Event) error) (Asked, error) {
	g, err := j.gather(trials)
	if err != nil {
		return Asked{}, err
	}
	a := &asker{Rejudging: j, deps: deps, redact: redact.New(deps.Secrets), keep: keep, used: scoring.Judging{CostUSD: new(0.0)}}
	for i := range g.Trials {
		if err := a.trial(ctx, g, i); err != nil {
			return a.total(), err
		}
	}
	err = a.ranking(ctx, g)
	return a.total(), err
}

// asker asks about one group.
type asker struct {
	*Rejudging
	deps   Deps
	redact *redact.Redactor
	keep   func([]event.Event) error
	used   scoring.Judging
	asked  Asked
	facts  []event.Event // of the question that is being asked
	err    error         // the first fact that could not be written down
}

func (a *asker) total() Asked {
	if a.used.Calls > 0 {
		a.asked.Used = &a.used
	}
	return a.asked
}

func (a *asker) trial(ctx context.Context, g *restored, i int) error {
	t := g.of[i]
	p := a.panel(a.deps, a.ref(g, t), func(typ event.Type, payload any) { a.state(t, typ, payload) })
	defer a.count(p)
	for {
		q, ok := a.plan.Scorer.NextQuestion(g.Trials[i])
		if !ok {
			return nil
		}
		reply, err := p.ask(ctx, q)
		if err != nil {
			return fmt.Errorf("ask judge %q: %w", q.JudgeKey, err)
		}
		g.Trials[i].JudgeReplies = append(g.Trials[i].JudgeReplies, reply.Evidence())
		a.state(t, event.JudgeDone, reply)
		if err := a.hand(q, reply); err != nil {
			return err
		}
	}
}

// ranking asks the judges that compare agents. Its calls are facts of the first
// trial; the replies are each trial's.
func (a *asker) ranking(ctx context.Context, g *restored) error {
	if len(g.of) == 0 {
		return nil
	}
	first := g.of[0]
	ref := a.ref(g, first)
	ref.Agent = ""
	p := a.panel(a.deps, ref, func(typ event.Type, payload any) { a.state(first, typ, payload) })
	defer a.count(p)
	for {
		q, ok := a.plan.Scorer.NextRanking(g.Group)
		if !ok {
			return nil
		}
		reply, err := p.ask(ctx, q)
		if err != nil {
			return fmt.Errorf("ask judge %q: %w", q.JudgeKey, err)
		}
		for i, t := range g.of {
			own := shared(g.Group, q, i, reply)
			g.Trials[i].JudgeReplies = append(g.Trials[i].JudgeReplies, own.Evidence())
			a.state(t, event.JudgeDone, own)
		}
		if err := a.hand(q, reply); err != nil {
			return err
		}
	}
}

func (a *asker) ref(g *restored, t StoredTrial) provider.Ref {
	return provider.Ref{Agent: a.plan.Agents[t.Lane].Label, Case: g.CaseKey, Repetition: g.Repetition, Attempt: t.Ended.Attempt}
}

func (a *asker) state(t StoredTrial, typ event.Type, payload any) {
	raw, err := event.Marshal(payload)
	if err != nil {
		a.err = errors.Join(a.err, err)
		return
	}
	a.facts = append(a.facts, event.Event{
		SchemaVersion: event.SchemaVersion, RunID: a.plan.RunID, RunAgentID: a.plan.Agents[t.Lane].ID, TrialID: t.Ended.TrialID,
		CaseKey: t.Ended.CaseKey, Repetition: t.Ended.Repetition, Attempt: t.Ended.Attempt,
		Type: typ, Source: event.SourceScoring, OccurredAt: a.deps.Now().UTC(), Payload: a.redact.JSON(raw),
	})
}

// hand gives away the facts of a question that was answered.
func (a *asker) hand(q scoring.Question, reply event.JudgeReply) error {
	facts := a.facts
	a.facts = nil
	if a.err != nil {
		return a.err
	}
	if reply.Status != scoring.JudgeAnswered {
		if a.asked.Unanswered++; a.asked.Why == "" {
			a.asked.Why = fmt.Sprintf("judge %q, %s: %s", q.JudgeKey, q.Model, reply.Reason)
		}
		return nil
	}
	return a.keep(facts)
}

func (a *asker) count(p *panel) { a.used = a.used.Plus(p.own) }
