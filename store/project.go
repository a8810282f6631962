package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// trialState is what the rows of a trial say, or will once the batch that is
// being written is committed.
type trialState struct {
	row        int64
	id         string
	agentID    string
	agent      *lane
	caseKey    string
	repetition int

	status   string
	begun    int         // the newest attempt that went beyond being queued
	end      *endOfTrial // how it ended, for good
	finished any
	dirty    bool // the row is older than this

	// The attempt whose events come now; 0 before the first.
	attempt  int
	sequence int64 // of its last event
	queued   bool  // an earlier process has stored its trial.queued
	change   *change
}

// change is what a batch does to an attempt.
type change struct {
	trial    *trialState
	row      int64
	number   int
	status   string
	started  any
	finished any
	result   any
	resultID any
	fresh    bool // there is no row yet
	dirty    bool // the row is older than this
}

// loadTrials reads the trials that may still have events.
func (w *writer) loadTrials(ctx context.Context) error {
	w.trials = map[string]*trialState{}
	rows, err := w.db.r.QueryContext(ctx, `SELECT t.id, t.uid, a.uid, t.case_key, t.repetition, t.status, t.attempt,
		EXISTS (SELECT 1 FROM attempts k WHERE k.id = t.id * 1024 + t.attempt + 1)
		FROM trials t JOIN run_agents a ON a.id = t.agent_id
		WHERE a.run_id = ? AND t.status NOT IN ('passed', 'failed')`, w.run)
	return each(rows, err, func(rows *sql.Rows) error {
		var t trialState
		err := rows.Scan(&t.row, &t.id, &t.agentID, &t.caseKey, &t.repetition, &t.status, &t.begun, &t.queued)
		t.agent = w.agents[t.agentID]
		if t.queued { // and never begun
			t.attempt, t.sequence = t.begun+1, 1
		}
		w.trials[t.id] = &t
		return err
	})
}

// project lets a trial's event change the state of the trial. It returns the
// attempt the event belongs to, or nil when the event is stored already.
func (b *batch) project(it *item, blob any) (*change, error) {
	e := it.event
	t := b.trials[e.TrialID]
	if t == nil {
		return nil, errEnded
	}
	if e.RunAgentID != t.agentID || e.CaseKey != t.caseKey || e.Repetition != t.repetition {
		return nil, fmt.Errorf("it says run agent %q, case %q, repetition %d; the trial is %q, %q, %d",
			e.RunAgentID, e.CaseKey, e.Repetition, t.agentID, t.caseKey, t.repetition)
	}
	if e.Type == event.TrialQueued && t.queued && e.Attempt == t.attempt {
		t.queued = false
		return nil, nil
	}
	c, err := b.attemptOf(t, e)
	if err != nil {
		return nil, err
	}
	switch {
	case e.Type == event.TrialQueued && t.begun < e.Attempt:
		t.dirty = t.dirty || t.status != Queued
		t.status = Queued
	case t.begun < e.Attempt:
		t.begun, t.status, t.dirty = e.Attempt, Running, true
		c.status, c.started, c.dirty = Running, instant(e.OccurredAt), true
	}
	if e.Type == event.TrialDone {
		c.end(it, blob)
		if !it.end.WillRetry && it.end.Outcome != scoring.OutcomeInvalid { // which may be run again
			delete(b.trials, t.id)
		}
	}
	return c, nil
}

var errEnded = fmt.Errorf("%w: the run has no such trial, or it has ended", ErrConflict)

// attemptOf finds or begins the attempt of an event, and sees to it that each
// of its sequence numbers comes once, in order.
func (b *batch) attemptOf(t *trialState, e event.Event) (*change, error) {
	if e.Attempt != t.attempt {
		if last := max(t.attempt, t.begun); e.Attempt != last+1 {
			return nil, fmt.Errorf("%w: attempt %d comes after attempt %d", ErrConflict, e.Attempt, last)
		}
		if e.Attempt >= maxAttempts {
			return nil, fmt.Errorf("%w: a trial has fewer than %d attempts", ErrConflict, maxAttempts)
		}
		t.attempt, t.sequence, t.queued = e.Attempt, 0, false
		t.end, t.finished = nil, nil // which an invalid trial has that is run again
		t.change = &change{trial: t, row: attemptRow(t.row, t.attempt), number: t.attempt, status: Queued, fresh: true}
		b.touched = append(b.touched, t.change)
	}
	if e.Sequence <= t.sequence {
		return nil, fmt.Errorf("%w: it comes after %d", ErrConflict, t.sequence)
	}
	t.sequence = e.Sequence
	if t.change == nil {
		t.change = &change{trial: t, row: attemptRow(t.row, t.attempt), number: t.attempt, status: Queued}
		if t.begun == t.attempt {
			t.change.status = Running
		}
		b.touched = append(b.touched, t.change)
	}
	return t.change, nil
}

// end takes the attempt's result from its last event.
func (c *change) end(it *item, blob any) {
	c.status, c.finished, c.dirty = string(it.end.Outcome), instant(it.event.OccurredAt), true
	c.resultID = blob
	if blob == nil {
		c.result = string(it.event.Payload)
	}
	t := c.trial
	t.dirty = true
	t.sequence = math.MaxInt64 // nothing comes after it
	if it.end.WillRetry {
		t.status = Queued
		return
	}
	t.status, t.end, t.finished = c.status, it.end, c.finished
}

func (b *batch) writeAttempt(ctx context.Context, c *change) error {
	var err error
	switch {
	case c.fresh:
		err = b.stmts.attempts.add(ctx, c.row, c.status, c.started, c.finished, c.result, c.resultID)
	case c.dirty:
		_, err = b.stmts.attempt.ExecContext(ctx, c.row, c.status, c.started, c.finished, c.result, c.resultID)
	}
	if err != nil || c.started == nil || c.trial.agent.begun {
		return err
	}
	c.trial.agent.begun = true
	_, err = b.tx.ExecContext(ctx, "UPDATE run_agents SET status = ?, started_at = coalesce(started_at, ?) WHERE id = ?",
		Running, c.started, c.trial.agent.row)
	return err
}

func (b *batch) writeTrial(ctx context.Context, t *trialState) error {
	if !t.dirty {
		return nil
	}
	t.dirty = false
	end := t.end
	if end == nil {
		end = new(endOfTrial)
	}
	var score any
	if end.Scorecard != nil && end.Scorecard.OverallScore != nil && end.Outcome != scoring.OutcomeInvalid {
		score = *end.Scorecard.OverallScore
	}
	_, err := b.stmts.trial.ExecContext(ctx, t.status, t.begun, end.Code, end.Phase, score, t.finished, t.row)
	return err
}
