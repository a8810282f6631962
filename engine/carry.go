package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// carry makes the agent's part of an earlier attempt this attempt's own: of the
// attempt before this one, when all that is missing of it is what judges say, or
// of the attempt of another run that stands for it. Its events are stated
// again, so that each attempt can be read by itself; the judges' replies that
// stand are among them. It also states that the attempt is queued.
func (a *attempt) carry(ctx context.Context) (end ending, carried bool, err error) {
	before, err := a.before(ctx)
	if err != nil {
		return ending{}, false, err
	}
	end, ended, ok, err := endingOf(before, a.reuse != nil)
	if err == nil && !ok && a.reuse != nil {
		err = fmt.Errorf("reuse trial %s: its evidence is not all there", a.reuse.TrialID)
	}
	if err != nil || !ok {
		a.log.emitAs(event.SourceRun, event.TrialQueued, event.Queue{Attempt: a.number})
		return ending{}, false, err
	}
	was, err := a.judgedSoFar(before)
	if err != nil {
		return ending{}, false, err
	}
	if a.panel != nil {
		a.panel.used, a.ranked = was.used, was.ranked
	}
	if a.carried = ended; !ended { // nobody has counted what it cost
		a.panel.own = was.spent
	}
	a.log.emitAs(event.SourceRun, event.TrialQueued, event.Queue{Attempt: a.number, Judging: &was.used, Reused: a.reuse})
	for _, e := range before {
		switch {
		case e.Type == event.TrialQueued || e.Type == event.TrialDone:
		case e.Type == event.ScoringStart && a.reuse != nil:
			a.startScoring(end) // by this run's spec
		case e.Source != event.SourceScoring || e.Type == event.ScoringStart || was.standing[e.Sequence]:
			a.log.copy(e)
		}
	}
	return end, true, a.log.err
}

// before reads the attempt before this one, where that can be of use, or the one
// of another run that stands for it.
func (a *attempt) before(ctx context.Context) (events []event.Event, err error) {
	trial, number := a.trial.ID, a.number-1
	switch {
	case a.run.deps.Recall == nil:
		return nil, nil
	case a.trial.Reuse != nil && a.number == a.trial.Attempt:
		a.reuse = a.trial.Reuse
		trial, number = a.reuse.TrialID, a.reuse.Attempt
	case number == 0 || len(a.run.plan.Judges) == 0:
		return nil, nil
	}
	err = a.run.deps.Recall(context.WithoutCancel(ctx), trial, number, func(e event.Event) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read attempt %d of trial %s: %w", number, trial, err)
	}
	return events, nil
}

// judged is what the judges of an attempt have said and used.
type judged struct {
	standing map[int64]bool  // events of replies that stand, and of their questions
	used     event.JudgeUse  // of the limits, with what may have been used and was not heard
	ranked   event.JudgeUse  // of a group's limits
	spent    scoring.Judging // by what was answered, its part of rankings included
}

func (a *attempt) judgedSoFar(events []event.Event) (judged, error) {
	j := judged{standing: map[int64]bool{}, spent: scoring.Judging{CostUSD: new(0.0)}}
	if slices.ContainsFunc(events, func(e event.Event) bool { return e.Type == event.JudgeDone }) {
		ev, err := event.Gather(a.run.plan.Source.ScoringCase(a.kase), events)
		if err != nil {
			return j, err
		}
		for _, r := range a.run.plan.Scorer.Reopen(ev) {
			j.standing[r.Source.Sequence] = true
		}
	}
	if a.reuse != nil { // it was ranked with others than those of this run, and may have been judged by others
		for _, e := range events {
			if !j.standing[e.Sequence] {
				continue
			}
			r, err := event.Decode[event.JudgeReply](e)
			if err == nil && (r.Shared || slices.Contains(a.trial.OtherJudges, r.JudgeModel)) {
				delete(j.standing, e.Sequence)
			}
		}
	}
	asked := map[sample]event.Event{} // questions without a reply so far
	for _, e := range events {
		if err := j.take(a.run.plan, e, asked); err != nil {
			return j, err
		}
	}
	for _, e := range asked { // the process died, or was ended, while it waited
		q, err := event.Decode[event.JudgeCall](e)
		if err != nil {
			return j, err
		}
		q.Reserved.Unheard = true
		j.used = j.used.Plus(q.Reserved)
	}
	return j, nil
}

// sample is a judge's question, as often as it is asked.
type sample struct {
	questionID, model string
	index             int
}

// take looks at one event for what was used, and for which question a reply
// that stands belongs to.
func (j *judged) take(p *plan.Plan, e event.Event, asked map[sample]event.Event) error {
	switch e.Type {
	case event.TrialQueued:
		q, err := event.Decode[event.Queue](e)
		if err == nil && q.Judging != nil {
			j.used = j.used.Max(*q.Judging)
		}
		return err
	case event.CallFailed:
		c, err := event.Decode[event.CallError](e)
		if err == nil && c.JudgeUsed != nil {
			j.used = j.used.Max(*c.JudgeUsed)
		}
		return err
	case event.JudgeStarted:
		q, err := event.Decode[event.JudgeCall](e)
		asked[sample{q.QuestionID, q.JudgeModel, q.SampleIndex}] = e
		return err
	case event.JudgeDone:
		r, err := event.Decode[event.JudgeReply](e)
		if err != nil {
			return err
		}
		j.reply(p, r)
		of := sample{r.QuestionID, r.JudgeModel, r.SampleIndex}
		if q, ok := asked[of]; ok && j.standing[e.Sequence] {
			j.standing[q.Sequence] = true
		}
		delete(asked, of)
	}
	return nil
}

// reply counts what a reply used. A trial bears its part of a ranking.
func (j *judged) reply(p *plan.Plan, r event.JudgeReply) {
	if r.Used != nil && r.Shared {
		j.ranked = j.ranked.Max(*r.Used)
	} else if r.Used != nil {
		j.used = j.used.Max(*r.Used)
	}
	if r.Usage == nil {
		return
	}
	use, priced := p.JudgeUse(p.Judge(r.JudgeModel), r.Usage)
	if r.Cached {
		use.CostUSD, priced = 0, true
	}
	if n := len(r.Candidates); r.Shared && n > 0 {
		use.Tokens, use.CostUSD = use.Tokens/int64(n), use.CostUSD/float64(n)
	}
	if !r.Shared || r.OwnPlace != nil && *r.OwnPlace == 0 {
		j.spent.Calls++
	}
	j.spent = j.spent.Plus(spent(use, priced))
}

// endingOf says how the agent's part of an attempt ended and whether the attempt
// itself did. ok says that all of the agent's part is there, and that the attempt
// came to nothing, if it ended, for want of its judges alone, or, where it is
// decided, that it passed or failed.
func endingOf(events []event.Event, decided bool) (end ending, ended, ok bool, err error) {
	for _, e := range events {
		switch e.Type {
		case event.ScoringStart:
			s, err := event.Decode[event.ScoringStarted](e)
			if err != nil {
				return ending{}, false, false, err
			}
			end, ok = ending{stop: s.StopReason}, s.StopReason != ""
			if s.AgentCode != "" {
				end.fault, end.code, end.phase, end.err = faultAgent, s.AgentCode, phaseAgent, errors.New(s.Reason)
			}
		case event.TrialDone:
			wanted := lacksJudges
			if decided {
				wanted = wasDecided
			}
			right, err := wanted(e)
			if err != nil {
				return ending{}, false, false, err
			}
			ended, ok = true, ok && right
		}
	}
	return end, ended, ok, nil
}

// lacksJudges says that a trial came to nothing for want of its judges alone.
func lacksJudges(done event.Event) (bool, error) {
	t, err := event.Decode[event.TrialEnd](done)
	return t.Outcome == scoring.OutcomeInvalid && t.Scorecard != nil && t.Scorecard.LacksJudge(), err
}

// wasDecided says that a trial passed or failed. Its scorecard is not decoded: it
// is scored again.
func wasDecided(done event.Event) (bool, error) {
	t, err := event.Decode[struct {
		Outcome scoring.Outcome `json:"outcome"`
	}](done)
	return t.Outcome == scoring.OutcomePassed || t.Outcome == scoring.OutcomeFailed, err
}
