package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/event"
)

// The ids of events and attempts say where they belong, which spares an index.
const (
	positionBits = 32 // of an event's id are its position in the run
	maxAttempts  = 1 << 10
)

// before is the id before a run's first event.
func before(run int64) int64 { return run << positionBits }

// attemptRow is the id of an attempt of a trial.
func attemptRow(trial int64, attempt int) int64 { return trial*maxAttempts + int64(attempt) }

// batch is one transaction of a writer.
type batch struct {
	*writer
	tx        *sql.Tx
	stmts     statements
	nextEvent int64
	placed    []placed
	touched   []*change // attempts, in the order in which they were touched
}

// placed is an event that knows its row and those it refers to; nil is none.
type placed struct {
	event   *event.Event
	row     int64
	kind    int64
	attempt any
	blob    any
}

// batch writes items, and the rows that follow from them, in one transaction.
func (w *writer) batch(ctx context.Context, items []item) error {
	return w.db.write(ctx, fmt.Sprintf("record run %q", w.runID), func(tx *sql.Tx) error {
		b := &batch{writer: w, tx: tx, stmts: w.in(ctx, tx), placed: make([]placed, 0, len(items))}
		if err := b.start(ctx); err != nil {
			return err
		}
		for i := range items {
			if items[i].event.Type == "" {
				continue // only there to be waited for
			}
			if err := b.add(ctx, &items[i]); err != nil {
				return fmt.Errorf("%s %d of trial %q: %w", items[i].event.Type, items[i].event.Sequence, items[i].event.TrialID, err)
			}
		}
		return b.finish(ctx)
	})
}

// start checks that the run is still its owner's, and finds the end of its
// log, at which nobody else writes until the transaction ends.
func (b *batch) start(ctx context.Context) error {
	var owner string
	var last sql.NullInt64
	err := one(b.stmts.end.QueryRowContext(ctx, b.run, before(b.run+1)), &owner, &last)
	if err == nil && owner != b.owner.ID {
		err = ErrOwned
	}
	b.nextEvent = max(last.Int64, before(b.run)) + 1
	return err
}

// add places an event in the log and lets it change what follows from it.
func (b *batch) add(ctx context.Context, it *item) (err error) {
	p := placed{event: &it.event}
	if p.kind, err = b.kindOf(ctx, it.event); err != nil {
		return err
	}
	if it.blob != nil {
		if p.blob, err = saveBlob(ctx, b.tx, it.blob); err != nil {
			return err
		}
	}
	switch {
	case it.event.TrialID != "":
		c, err := b.project(it, p.blob)
		if err != nil || c == nil {
			return err
		}
		p.attempt = c.row
	case it.event.Type == event.RunStarted:
		_, err = b.tx.ExecContext(ctx, "UPDATE runs SET status = ?, started_at = coalesce(started_at, ?) WHERE id = ?",
			Running, instant(it.event.OccurredAt), b.run)
		if err != nil {
			return err
		}
	}
	p.row = b.nextEvent
	b.nextEvent++
	b.placed = append(b.placed, p)
	return nil
}

// kindOf is the row of an event's kind, made when it is new.
func (b *batch) kindOf(ctx context.Context, e event.Event) (int64, error) {
	k := kind{e.Type, e.Source}
	if id, ok := b.kinds[k]; ok {
		return id, nil
	}
	id, err := saveKind(ctx, b.tx, k)
	b.kinds[k] = id
	return id, err
}

// saveKind is the row of a kind, made when it is new.
func saveKind(ctx context.Context, tx *sql.Tx, k kind) (id int64, err error) {
	err = tx.QueryRowContext(ctx, `INSERT INTO kinds (type, source) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET type = type RETURNING id`, k.event, k.source).Scan(&id)
	return id, err
}

// finish writes what was added. Attempts go first: events refer to them.
func (b *batch) finish(ctx context.Context) error {
	for _, c := range b.touched {
		if err := b.writeAttempt(ctx, c); err != nil {
			return fmt.Errorf("attempt %d of trial %q: %w", c.number, c.trial.id, err)
		}
	}
	if err := b.stmts.attempts.flush(ctx); err != nil {
		return err
	}
	for _, p := range b.placed {
		if err := b.writeEvent(ctx, p); err != nil {
			return fmt.Errorf("event %d: %w", p.row, err)
		}
	}
	if err := b.stmts.events.flush(ctx); err != nil {
		return err
	}
	for _, c := range b.touched {
		if err := b.writeTrial(ctx, c.trial); err != nil {
			return fmt.Errorf("trial %q: %w", c.trial.id, err)
		}
		c.trial.change = nil
	}
	return nil
}

func (b *batch) writeEvent(ctx context.Context, p placed) error {
	e := p.event
	// The payload of trial.finished is kept once, as the attempt's result.
	var payload any
	if len(e.Payload) > 0 && e.Type != event.TrialDone {
		payload = string(e.Payload)
	}
	if e.Type == event.TrialDone {
		p.blob = nil
	}
	var uid, agent any
	if e.ID != "" && e.ID != madeID(b.runID, *e) {
		uid = e.ID
	}
	if e.TrialID == "" && e.RunAgentID != "" {
		lane := b.agents[e.RunAgentID]
		if lane == nil {
			return errNotOfRun
		}
		agent = lane.row
	}
	if uid == nil && agent == nil && p.blob == nil {
		return b.stmts.events.add(ctx, p.row, p.attempt, p.kind, e.Sequence, instant(e.OccurredAt), payload)
	}
	_, err := b.stmts.event.ExecContext(ctx, p.row, p.attempt, p.kind, e.Sequence, instant(e.OccurredAt), payload, p.blob, uid, agent)
	return err
}

// madeID is the id an event has unless it says otherwise; no column holds it.
// A trial's is unique, since project lets each sequence number happen once.
func madeID(runID string, e event.Event) string {
	if e.TrialID == "" {
		return event.NewRunID(runID, e.Sequence)
	}
	return event.NewID(e.TrialID, e.Attempt, e.Sequence)
}

var errNotOfRun = errors.New("the run has no such run agent")
