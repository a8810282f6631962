package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// ErrOtherPack says that a run is of another pack than the one it was to be
// scored by.
var ErrOtherPack = errors.New("another pack")

// Rescoring scores stored attempts of a run again: by the run's own pack, or by
// another version of it. It asks no model and opens no box, and it is safe for
// concurrent use.
type Rescoring struct {
	plan  *plan.Plan // bound to the pack that scores
	given map[string]plan.Given
}

// NewRescoring prepares to score a run again by the pack with; own is the
// snapshot that the run was made with. An error wraps ErrOtherPack when the two
// are not versions of one pack, and pack.ErrNotFound when the run's input set is
// gone. Costs are worked out by the pack's prices and the list prices of the
// plan.
func NewRescoring(planned plan.Plan, own, with *pack.Pack) (*Rescoring, error) {
	if own.Pack.Slug != with.Pack.Slug {
		return nil, fmt.Errorf("the run is of pack %q, not of %q: %w", own.Pack.Slug, with.Pack.Slug, ErrOtherPack)
	}
	set, err := with.InputSet(planned.InputSet)
	if err == nil && set.Key != planned.InputSet { // only the name of one
		err = fmt.Errorf("choose input set %q: %w: the nearest is %q", planned.InputSet, pack.ErrNotFound, set.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("the pack has not the run's input set: %w", err)
	}
	r := &Rescoring{plan: &planned}
	if err := r.plan.Bind(with); err != nil {
		return nil, err
	}
	if own == with {
		return r, nil
	}
	r.given, err = plan.ComparePacks(&planned, own, with)
	return r, err
}

// Spec is the evaluation spec that is scored by.
func (r *Rescoring) Spec() scoring.Spec { return r.plan.Spec }

// SpecDigest identifies Spec.
func (r *Rescoring) SpecDigest() string { return r.plan.SpecDigest }

// LeftOut says why trials of a case cannot be scored by the pack: their agents
// were given something else. It is "" for cases whose trials can.
func (r *Rescoring) LeftOut(caseKey string) string { return r.given[caseKey].Otherwise }

// EventTypes are the kinds of events that Trial looks at.
func (r *Rescoring) EventTypes() []event.Type {
	return append(event.Evidential(), event.ScoringStart)
}

// Trial scores an attempt again from its events, which come in sequence. How it
// ended is a fact that ended states, the attempt's own result; its scorecard is
// not looked at. Scored is false for an attempt that never came to scoring: it
// stays what it was.
func (r *Rescoring) Trial(ended scoring.Trial, events []event.Event) (t scoring.Trial, scored bool, err error) {
	ev, scored, err := r.evidence(ended, events)
	if err != nil || !scored {
		return ended, false, err
	}
	t = scoring.Trial{
		TrialID: ended.TrialID, CaseKey: ended.CaseKey, Repetition: ended.Repetition, Attempt: ended.Attempt,
		StopReason: ended.StopReason, Judging: ended.Judging, Carried: ended.Carried, ReusedFrom: ended.ReusedFrom, Calibration: ended.Calibration,
	}
	code := agentCode(ended)
	if code != "" {
		t.Reason = ended.Reason
	}
	r.plan.Decide(&t, ev, code)
	return t, true, nil
}

// evidence folds an attempt; scored is false when it never came to scoring.
func (r *Rescoring) evidence(ended scoring.Trial, events []event.Event) (ev scoring.Evidence, scored bool, err error) {
	c, err := r.plan.Case(ended.CaseKey)
	if err != nil {
		return ev, false, err
	}
	fold := event.NewFold(r.plan.Source.ScoringCase(c))
	for _, e := range events {
		scored = scored || e.Type == event.ScoringStart
		if err := fold.Apply(e); err != nil {
			return ev, false, fmt.Errorf("trial %s: %w", ended.TrialID, err)
		}
	}
	scored = scored && !wasCancelled(ended)
	ev = fold.Evidence()
	if r.given != nil {
		r.given[ended.CaseKey].Forget(&ev)
	}
	return ev, scored, nil
}

// wasCancelled says that somebody ended a trial, which decided that it is invalid.
func wasCancelled(t scoring.Trial) bool {
	return t.Outcome == scoring.OutcomeInvalid && t.Code == scoring.CodeCancelled
}

// agentCode is the code of the failure of the agent's own that ended an attempt,
// "" when it ended regularly. The codes of a failed trial that scoring gives are
// no such.
func agentCode(ended scoring.Trial) string {
	switch {
	case ended.Outcome != scoring.OutcomeFailed, ended.Code == scoring.CodeNoOutput, ended.Code == scoring.CodeNoVerdict,
		ended.Code == scoring.CodeSecurity:
		return ""
	}
	return ended.Code
}

// ResultOf is a trial as the last event of its attempt states it.
func ResultOf(t scoring.Trial) (json.RawMessage, error) {
	raw, err := event.Marshal(event.TrialEnd{Trial: t})
	if err != nil {
		return nil, fmt.Errorf("write the result of trial %s: %w", t.TrialID, err)
	}
	return raw, nil
}
