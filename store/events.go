package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/event"
)

// EventFilter says which events to read; zero fields do not narrow.
type EventFilter struct {
	RunID      string // required, unless TrialID is given
	RunAgentID string
	TrialID    string
	Attempt    int      // of TrialID; 0: all
	Types      []string // exact names or globs such as model.*
	After      int64    // a cursor: only what was stored later
	Limit      int      // 0: all
}

// eventPage is how many events are read at once: a reader that takes its time
// keeps no snapshot of the database alive, and little in memory.
const eventPage = 256

// Events reads events in the order in which they were stored, which for each
// attempt is their sequence, and hands them to yield with their cursor: a
// number that grows within a run and never changes. An error of yield ends the
// reading and is returned as it is. Large payloads are whole again.
//
// On a run that is being recorded it reads what is committed and ends; go on
// later with After.
func (db *DB) Events(ctx context.Context, f EventFilter, yield func(cursor int64, e event.Event) error) error {
	doing := fmt.Sprintf("read events of run %q", f.RunID)
	if f.TrialID != "" {
		doing = fmt.Sprintf("read events of trial %q", f.TrialID)
	}
	q, err := db.eventQuery(ctx, f)
	if err != nil || q == nil {
		return db.fail(doing, err)
	}
	for _, attempt := range q.attempts {
		if err := q.read(ctx, doing, attempt, yield); err != nil || q.left == 0 {
			return err
		}
	}
	return nil
}

// eventQuery is a filter whose names have become rows.
type eventQuery struct {
	db       *DB
	run      int64
	runID    string
	schema   string
	kinds    map[int64]kind
	agents   map[int64]string // ids
	trials   map[int64]envelope
	attempts []any // to be read one after the other; a single nil reads the run
	agent    any
	types    string // SQL
	after    int64
	left     int // -1: no limit
}

// envelope is what the events of a trial have in common.
type envelope struct {
	trialID    string
	agent      int64
	caseKey    string
	repetition int
}

// eventQuery returns nil when no event can match.
func (db *DB) eventQuery(ctx context.Context, f EventFilter) (*eventQuery, error) {
	q := &eventQuery{db: db, runID: f.RunID, trials: map[int64]envelope{}, attempts: []any{nil}, after: f.After, left: f.Limit}
	if f.Limit <= 0 {
		q.left = -1
	}
	if f.TrialID != "" {
		if err := q.narrowToTrial(ctx, f); err != nil {
			return nil, err
		}
	}
	err := one(db.r.QueryRowContext(ctx, "SELECT id, event_schema FROM runs WHERE uid = ?", q.runID), &q.run, &q.schema)
	if err != nil {
		return nil, err
	}
	if err := q.narrowToAgent(ctx, f.RunAgentID); err != nil {
		return nil, err
	}
	some, err := q.narrowToTypes(ctx, f.Types)
	if err != nil || !some {
		return nil, err
	}
	return q, nil
}

func (q *eventQuery) narrowToAgent(ctx context.Context, id string) error {
	q.agents = map[int64]string{}
	rows, err := q.db.r.QueryContext(ctx, "SELECT id, uid FROM run_agents WHERE run_id = ?", q.run)
	err = each(rows, err, func(rows *sql.Rows) error {
		var row int64
		var uid string
		err := rows.Scan(&row, &uid)
		q.agents[row] = uid
		if uid == id {
			q.agent = row
		}
		return err
	})
	if err == nil && id != "" && q.agent == nil {
		err = fmt.Errorf("run agent %q: %w", id, ErrNotFound)
	}
	return err
}

func (q *eventQuery) narrowToTrial(ctx context.Context, f EventFilter) error {
	var trial int64
	var run string
	err := one(q.db.r.QueryRowContext(ctx, `SELECT t.id, r.uid FROM trials t JOIN run_agents a ON a.id = t.agent_id
		JOIN runs r ON r.id = a.run_id WHERE t.uid = ?`, f.TrialID), &trial, &run)
	if err != nil {
		return err
	}
	if q.runID != "" && q.runID != run {
		return fmt.Errorf("run %q has no such trial: %w", q.runID, ErrNotFound)
	}
	q.runID, q.attempts = run, nil
	rows, err := q.db.r.QueryContext(ctx, "SELECT id FROM attempts WHERE id > ?1 AND id < ?2 AND ?3 IN (0, id - ?1) ORDER BY id",
		attemptRow(trial, 0), attemptRow(trial+1, 0), f.Attempt)
	return each(rows, err, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		q.attempts = append(q.attempts, id)
		return err
	})
}

// narrowToTypes says whether any stored kind of event matches the patterns.
func (q *eventQuery) narrowToTypes(ctx context.Context, patterns []string) (bool, error) {
	kinds, err := q.db.kinds(ctx)
	if err != nil {
		return false, err
	}
	q.kinds = make(map[int64]kind, len(kinds))
	var matching []string
	for k, id := range kinds {
		q.kinds[id] = k
		for _, pattern := range patterns {
			matched, err := path.Match(pattern, string(k.event))
			if err != nil {
				return false, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			if matched {
				matching = append(matching, strconv.FormatInt(id, 10))
				break
			}
		}
	}
	if len(patterns) > 0 {
		q.types = " AND e.kind_id IN (" + strings.Join(matching, ", ") + ")"
	}
	return len(patterns) == 0 || len(matching) > 0, nil
}

// eventColumns reads events as they lie, and with a trial.finished the result
// that is its payload. What the events of a trial have in common is read apart.
const eventColumns = `SELECT e.id, e.kind_id, e.sequence, e.at, coalesce(e.payload, k.result), coalesce(e.blob_id, k.result_id),
	e.uid, e.attempt_id, e.agent_id FROM events e
	LEFT JOIN attempts k ON k.id = iif(e.kind_id IN (SELECT id FROM kinds WHERE type = 'trial.finished'), e.attempt_id, NULL) `

// sql selects a page: parameters are the cursor to go on after, the end of the
// run, the attempt, the run agent and the size of the page.
func (q *eventQuery) sql(attempt any) string {
	where := "WHERE e.id > ?1 AND e.id < ?2"
	if attempt != nil {
		where += " AND e.attempt_id = ?3"
	}
	if q.agent != nil {
		where += " AND ?4 IN (e.agent_id, (SELECT t.agent_id FROM trials t WHERE t.id = e.attempt_id / 1024))"
	}
	return eventColumns + where + q.types + " ORDER BY e.id LIMIT ?5"
}

// read hands on the events of one attempt, or of the run, page by page.
func (q *eventQuery) read(ctx context.Context, doing string, attempt any, yield func(int64, event.Event) error) error {
	query := q.sql(attempt)
	after := before(q.run) + max(q.after, 0)
	for {
		size := eventPage
		if q.left >= 0 {
			size = min(size, q.left)
		}
		page, err := q.page(ctx, query, after, before(q.run+1), attempt, q.agent, size)
		if err != nil {
			return q.db.fail(doing, err)
		}
		for _, row := range page {
			if err := q.hydrate(ctx, &row); err != nil {
				return q.db.fail(doing, err)
			}
			if err := yield(row.id-before(q.run), row.Event); err != nil {
				return err
			}
		}
		if q.left >= 0 {
			q.left -= len(page)
		}
		if len(page) < size || q.left == 0 {
			return nil
		}
		after = page[len(page)-1].id
	}
}

// eventRow is an event on its way out of the database.
type eventRow struct {
	event.Event
	id      int64
	uid     sql.NullString
	blob    sql.NullInt64
	attempt sql.NullInt64
	agent   sql.NullInt64
}

func (q *eventQuery) page(ctx context.Context, query string, args ...any) ([]eventRow, error) {
	var page []eventRow
	rows, err := q.db.r.QueryContext(ctx, query, args...)
	err = each(rows, err, func(rows *sql.Rows) error {
		r, err := q.scan(rows)
		page = append(page, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := q.meet(ctx, page); err != nil {
		return nil, err
	}
	for i := range page {
		q.address(&page[i])
	}
	return page, nil
}

func (q *eventQuery) scan(rows *sql.Rows) (eventRow, error) {
	r := eventRow{Event: event.Event{RunID: q.runID, SchemaVersion: q.schema}}
	var kindID int64
	var at sql.NullInt64
	var payload sql.NullString
	err := rows.Scan(&r.id, &kindID, &r.Sequence, &at, &payload, &r.blob, &r.uid, &r.attempt, &r.agent)
	if err != nil {
		return r, err
	}
	k, known := q.kinds[kindID]
	if !known {
		return r, fmt.Errorf("%w: event %d has no kind", ErrCorrupt, r.id)
	}
	r.Type, r.Source, r.OccurredAt = k.event, k.source, clock(at)
	if payload.Valid {
		r.Payload = json.RawMessage(payload.String)
	}
	return r, nil
}

// maxEnvelopes bounds how many trials a reader remembers.
const maxEnvelopes = 4096

// meet reads the envelopes of the trials a page is the first to show.
func (q *eventQuery) meet(ctx context.Context, page []eventRow) error {
	if len(q.trials) > maxEnvelopes {
		clear(q.trials)
	}
	var strangers []string
	for _, r := range page {
		trial := r.attempt.Int64 / maxAttempts
		if _, met := q.trials[trial]; !met && r.attempt.Valid {
			q.trials[trial] = envelope{}
			strangers = append(strangers, strconv.FormatInt(trial, 10))
		}
	}
	if len(strangers) == 0 {
		return nil
	}
	rows, err := q.db.r.QueryContext(ctx, "SELECT id, uid, agent_id, case_key, repetition FROM trials WHERE id IN ("+strings.Join(strangers, ", ")+")")
	return each(rows, err, func(rows *sql.Rows) error {
		var row int64
		var v envelope
		err := rows.Scan(&row, &v.trialID, &v.agent, &v.caseKey, &v.repetition)
		q.trials[row] = v
		return err
	})
}

// address fills in whose event it is.
func (q *eventQuery) address(r *eventRow) {
	agent := r.agent.Int64
	if r.attempt.Valid {
		v := q.trials[r.attempt.Int64/maxAttempts]
		r.TrialID, r.CaseKey, r.Repetition = v.trialID, v.caseKey, v.repetition
		r.Attempt = int(r.attempt.Int64 % maxAttempts)
		agent = v.agent
	}
	r.RunAgentID = q.agents[agent]
	r.ID = r.uid.String
	if !r.uid.Valid {
		r.ID = madeID(q.runID, r.Event)
	}
}

// hydrate fetches a payload that is too large for its row.
func (q *eventQuery) hydrate(ctx context.Context, r *eventRow) error {
	if !r.blob.Valid {
		return nil
	}
	content, err := q.db.content(ctx, r.blob.Int64)
	r.Payload = content
	return err
}

// EventsEnd is the cursor of the newest event of a run that is committed, 0 when
// there is none. Events are committed in the order of their cursors.
func (db *DB) EventsEnd(ctx context.Context, runID string) (int64, error) {
	var end int64
	err := one(db.r.QueryRowContext(ctx, `SELECT coalesce((SELECT max(e.id) FROM events e WHERE e.id > (r.id << ?2) AND e.id < ((r.id + 1) << ?2))
		- (r.id << ?2), 0) FROM runs r WHERE r.uid = ?1`, runID, positionBits), &end)
	if err != nil {
		return 0, db.fail(fmt.Sprintf("find the end of the events of run %q", runID), err)
	}
	return end, nil
}

// Cursor turns what a user may give to go on after, a cursor or the id of an
// event, into a cursor. An id that came twice is its last event.
func (db *DB) Cursor(ctx context.Context, runID, since string) (int64, error) {
	if n, err := strconv.ParseInt(since, 10, 64); err == nil && n >= 0 {
		return n, nil
	}
	where := EventFilter{RunID: runID}
	if parts := strings.Split(since, "."); len(parts) == 3 { // most likely event.NewID's
		where.TrialID = parts[0]
	}
	found, err := db.lastEvent(ctx, where, since)
	if where.TrialID != "" && (found == 0 || errors.Is(err, ErrNotFound)) {
		found, err = db.lastEvent(ctx, EventFilter{RunID: runID}, since)
	}
	if err == nil && found == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return 0, db.fail(fmt.Sprintf("find event %q", since), err)
	}
	return found, nil
}

func (db *DB) lastEvent(ctx context.Context, f EventFilter, id string) (found int64, err error) {
	err = db.Events(ctx, f, func(cursor int64, e event.Event) error {
		if e.ID == id {
			found = cursor
		}
		return nil
	})
	return found, err
}
