package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// carry makes the agent's part of the attempt before this one this attempt's
// own, when all that is missing of it is what judges say. Its events are stated
// again, so that each attempt can be read by itself; the judges' replies that
// stand are among them. It also states that the attempt is queued.
func (a *attempt) carry(ctx context.Context) (end ending, carried bool, err error) {
	var before []event.Event
	if a.number > 1 && a.run.deps.Recall != nil && len(a.run.plan.Judges) > 0 {
		err = a.run.deps.Recall(ctx, a.trial.ID, a.number-1, func(e event.Event) error {
			before = append(before, e)
			return nil
		})
		if err != nil {
			return ending{}, false, fmt.Errorf("read attempt %d of trial %s: %w", a.number-1, a.trial.ID, err)
		}
	}
	end, ok, err := agentsPart(before)
	if err != nil || !ok {
		a.log.emitAs(event.SourceRun, event.TrialQueued, event.Queue{Attempt: a.number})
		return ending{}, false, err
	}
	asked, err := a.judgesPart(before)
	if err != nil {
		return ending{}, false, err
	}
	a.panel.used = asked.used
	a.log.emitAs(event.SourceRun, event.TrialQueued, event.Queue{Attempt: a.number, Judging: &asked.used})
	for _, e := range before {
		switch {
		case e.Type == event.TrialQueued || e.Type == event.TrialDone:
		case e.Source != event.SourceScoring || e.Type == event.ScoringStart || asked.answered[e.Sequence]:
			a.log.copy(e)
		}
	}
	return end, true, a.log.err
}

// hearing is what the judges of an attempt were asked.
type hearing struct {
	answered map[int64]bool // events of answers that stand, and of their questions
	used     event.JudgeUse // of the limits, with what may have been used and was not heard
}

func (a *attempt) judgesPart(events []event.Event) (hearing, error) {
	h := hearing{answered: map[int64]bool{}}
	fold := event.NewFold(a.run.plan.pack.ScoringCase(a.kase))
	for _, e := range events {
		if err := fold.Apply(e); err != nil {
			return h, err
		}
	}
	for _, r := range a.run.plan.scorer.Reopen(fold.Evidence()) {
		h.answered[r.Source.Sequence] = true
	}
	type sample struct {
		id, model string
		index     int
	}
	open := map[sample]event.Event{} // questions without an answer so far
	for _, e := range events {
		switch e.Type {
		case event.TrialQueued:
			q, err := event.Decode[event.Queue](e)
			if err != nil {
				return h, err
			}
			h.count(q.Judging)
		case event.JudgeStarted:
			q, err := event.Decode[event.JudgeCall](e)
			if err != nil {
				return h, err
			}
			open[sample{q.QuestionID, q.JudgeModel, q.SampleIndex}] = e
		case event.JudgeDone:
			r, err := event.Decode[event.JudgeReply](e)
			if err != nil {
				return h, err
			}
			h.count(r.Used)
			of := sample{r.QuestionID, r.JudgeModel, r.SampleIndex}
			if h.answered[e.Sequence] {
				h.answered[open[of].Sequence] = true
			}
			delete(open, of)
		}
	}
	for _, e := range open { // the process died, or was ended, while it was asked
		q, err := event.Decode[event.JudgeCall](e)
		if err != nil {
			return h, err
		}
		h.used.Tokens += q.Reserved.Tokens
		h.used.CostUSD += q.Reserved.CostUSD
	}
	return h, nil
}

// count takes note of a count that only grows.
func (h *hearing) count(u *event.JudgeUse) {
	if u != nil {
		h.used.Tokens, h.used.CostUSD = max(h.used.Tokens, u.Tokens), max(h.used.CostUSD, u.CostUSD)
	}
}

// agentsPart says how the agent's part of an attempt ended, and whether all of
// it is there and the attempt came to nothing for want of its judges alone.
func agentsPart(events []event.Event) (end ending, ok bool, err error) {
	for _, e := range events {
		switch e.Type {
		case event.ScoringStart:
			s, err := event.Decode[event.ScoringStarted](e)
			if err != nil {
				return ending{}, false, err
			}
			end, ok = ending{stop: s.StopReason}, s.StopReason != ""
			if s.AgentCode != "" {
				end.fault, end.code, end.phase, end.err = faultAgent, s.AgentCode, phaseAgent, errors.New(s.Reason)
			}
		case event.TrialDone:
			t, err := event.Decode[event.TrialEnd](e)
			if err != nil {
				return ending{}, false, err
			}
			ok = ok && t.Scorecard != nil && t.Scorecard.JudgeError != "" && t.Outcome == scoring.OutcomeInvalid
		}
	}
	return end, ok, nil
}
