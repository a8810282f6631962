package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/event"
)

// DecidingTrial is a trial by the attempt that decides it: the last one that
// has ended.
type DecidingTrial struct {
	Trial // as it stands; Attempt and Result are the deciding attempt's, 0 and nil when none has ended
	// Earlier are the results of the attempts that ended before it.
	Earlier []json.RawMessage

	row int64 // of the attempt
}

// Deciding reads the trials of a run, all run agents together in the order of
// execution, and their events. It is safe for concurrent use.
type Deciding struct {
	db     *DB
	runID  string
	schema string
	kinds  map[int64]kind
	agents map[int64]string // ids
	among  string           // SQL list of the run agents' rows
	types  string           // SQL list of kinds
	first  int64            // trial row
	last   int64
}

// Span is a part of a run's trials.
type Span struct{ from, to int64 }

// Deciding starts reading a run. Of the events only those of the types are
// read.
func (db *DB) Deciding(ctx context.Context, runID string, types []event.Type) (*Deciding, error) {
	doing := fmt.Sprintf("read trials of run %q", runID)
	d := &Deciding{db: db, runID: runID, kinds: map[int64]kind{}, agents: map[int64]string{}}
	var run int64
	if err := one(db.r.QueryRowContext(ctx, "SELECT id, event_schema FROM runs WHERE uid = ?", runID), &run, &d.schema); err != nil {
		return nil, db.fail(doing, err)
	}
	known, err := db.kinds(ctx)
	if err != nil {
		return nil, db.fail(doing, err)
	}
	var list []string
	for k, id := range known {
		if slices.Contains(types, k.event) {
			d.kinds[id] = k
			list = append(list, strconv.FormatInt(id, 10))
		}
	}
	d.types = strings.Join(list, ", ")
	list = nil
	rows, err := db.r.QueryContext(ctx, "SELECT id, uid FROM run_agents WHERE run_id = ?", run)
	err = each(rows, err, func(rows *sql.Rows) error {
		var row int64
		var uid string
		err := rows.Scan(&row, &uid)
		d.agents[row] = uid
		list = append(list, strconv.FormatInt(row, 10))
		return err
	})
	if err == nil {
		d.among = strings.Join(list, ", ")
		err = db.r.QueryRowContext(ctx, "SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM trials WHERE agent_id IN ("+d.among+")").Scan(&d.first, &d.last)
	}
	if err != nil {
		return nil, db.fail(doing, err)
	}
	return d, nil
}

// Spans cuts the run into parts of about size trials, in order.
func (d *Deciding) Spans(size int) []Span {
	var spans []Span
	for from := d.first; from <= d.last; from += int64(size) { // a run's rows lie together
		spans = append(spans, Span{from, min(from+int64(size), d.last+1)})
	}
	return spans
}

// Trials reads a part of the run.
func (d *Deciding) Trials(ctx context.Context, s Span) ([]DecidingTrial, error) {
	doing := fmt.Sprintf("read trials of run %q", d.runID)
	var ended []endedAttempt
	rows, err := d.db.r.QueryContext(ctx, `SELECT t.id, t.uid, t.agent_id, t.case_key, t.repetition, t.status, t.code, t.phase, t.overall_score,
		k.id, k.result, k.result_id FROM trials t
		LEFT JOIN attempts k ON k.id > t.id * 1024 AND k.id < (t.id + 1) * 1024 AND (k.result IS NOT NULL OR k.result_id IS NOT NULL)
		WHERE t.id >= ?1 AND t.id < ?2 AND t.agent_id IN (`+d.among+`) ORDER BY t.id, k.id`, s.from, s.to)
	err = each(rows, err, func(rows *sql.Rows) error {
		e, err := d.scan(rows)
		ended = append(ended, e)
		return err
	})
	if err != nil {
		return nil, d.db.fail(doing, err)
	}
	var trials []DecidingTrial
	var last int64
	for _, e := range ended {
		if e.blob.Valid {
			if e.Result, err = d.db.content(ctx, e.blob.Int64); err != nil {
				return nil, d.db.fail(doing, err)
			}
		}
		if e.trial == last {
			before := trials[len(trials)-1]
			e.Earlier = append(before.Earlier, before.Result)
			trials = trials[:len(trials)-1]
		}
		trials, last = append(trials, e.DecidingTrial), e.trial
	}
	return trials, nil
}

// endedAttempt is a trial with one of its attempts, or with none.
type endedAttempt struct {
	DecidingTrial
	trial int64
	blob  sql.NullInt64
}

func (d *Deciding) scan(rows *sql.Rows) (endedAttempt, error) {
	var e endedAttempt
	var agent int64
	var attempt sql.NullInt64
	var result sql.NullString
	err := rows.Scan(&e.trial, &e.ID, &agent, &e.CaseKey, &e.Repetition, &e.Status, &e.Code, &e.Phase, &e.OverallScore,
		&attempt, &result, &e.blob)
	e.RunAgentID, e.row, e.Attempt = d.agents[agent], attempt.Int64, int(attempt.Int64%maxAttempts)
	if result.Valid {
		e.Result = json.RawMessage(result.String)
	}
	return e, err
}

// Result reads what a trial's deciding attempt came to.
func (d *Deciding) Result(ctx context.Context, t DecidingTrial) (event.TrialEnd, error) {
	var result sql.NullString
	var id sql.NullInt64
	err := one(d.db.r.QueryRowContext(ctx, "SELECT result, result_id FROM attempts WHERE id = ?", t.row), &result, &id)
	t.Result = json.RawMessage(result.String)
	if err == nil && id.Valid {
		t.Result, err = d.db.content(ctx, id.Int64)
	}
	if err != nil {
		return event.TrialEnd{}, d.db.fail(fmt.Sprintf("read result of trial %q", t.ID), err)
	}
	return t.End()
}

// Events hands the events of each trial's deciding attempt to yield, trial by
// trial, with the trial's place in the list; a trial whose attempt has none, or
// that has no such attempt, is left out. The events have no ids of their own.
// An error of yield ends the reading and is returned as it is.
func (d *Deciding) Events(ctx context.Context, trials []DecidingTrial, yield func(i int, events []event.Event) error) error {
	doing := fmt.Sprintf("read events of run %q", d.runID)
	place := make(map[int64]int, len(trials))
	wanted := make([]string, 0, len(trials))
	for i, t := range trials {
		if t.row != 0 {
			place[t.row] = i
			wanted = append(wanted, strconv.FormatInt(t.row, 10))
		}
	}
	rows, err := d.db.r.QueryContext(ctx, `SELECT e.attempt_id, e.kind_id, e.sequence, e.at, e.payload, b.sha256, b.size, b.data
		FROM events e LEFT JOIN blobs b ON b.id = e.blob_id
		WHERE e.attempt_id IN (`+strings.Join(wanted, ", ")+`) AND e.kind_id IN (`+d.types+`) ORDER BY e.attempt_id, e.id`)
	var events []event.Event
	var current int64
	var refused error
	hand := func() error {
		if len(events) > 0 {
			refused = yield(place[current], events)
		}
		events = nil
		return refused
	}
	err = each(rows, err, func(rows *sql.Rows) error {
		attempt, e, err := d.event(rows)
		if err != nil {
			return err
		}
		if attempt != current {
			if err := hand(); err != nil {
				return err
			}
		}
		t := trials[place[attempt]]
		e.RunAgentID, e.TrialID, e.CaseKey, e.Repetition, e.Attempt = t.RunAgentID, t.ID, t.CaseKey, t.Repetition, t.Attempt
		current, events = attempt, append(events, e)
		return nil
	})
	if refused == nil && err == nil {
		err = hand()
	}
	if refused != nil {
		return refused
	}
	return d.db.fail(doing, err)
}

func (d *Deciding) event(rows *sql.Rows) (attempt int64, e event.Event, err error) {
	var kindID int64
	var at, size sql.NullInt64
	var payload sql.NullString
	var sum, data []byte
	if err := rows.Scan(&attempt, &kindID, &e.Sequence, &at, &payload, &sum, &size, &data); err != nil {
		return 0, e, err
	}
	k := d.kinds[kindID]
	e.RunID, e.SchemaVersion, e.Type, e.Source, e.OccurredAt = d.runID, d.schema, k.event, k.source, clock(at)
	switch {
	case payload.Valid:
		e.Payload = json.RawMessage(payload.String)
	case size.Valid:
		e.Payload, err = d.db.unpack(sum, int(size.Int64), data)
	}
	return attempt, e, err
}
