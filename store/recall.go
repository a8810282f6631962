package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/agentclash/agentclash/engine/event"
)

// How much is read at once for those who ask next. An event that is waiting
// holds at most inlineBytes and its envelope.
const (
	recallAttempts = 128
	recallEvents   = 2048
)

// Recall reads the events of attempts that are asked for in about the order
// that was said before, many with one query. It is safe for concurrent use.
type Recall struct {
	db    *DB
	order map[string][]event.Reused // by run
	place map[string]int            // of a trial among those of its run
	runs  map[string]string         // of trials

	mu    sync.Mutex
	ahead map[event.Reused]recalled // read, and not asked for yet
	held  int                       // events of ahead
}

// recalled is an attempt whose large payloads are still to be fetched.
type recalled struct {
	query *eventQuery
	rows  []eventRow
}

// Recall takes the attempts in the order in which they will be asked for, each
// once.
func (db *DB) Recall(order []event.Reused) *Recall {
	r := &Recall{db: db, order: map[string][]event.Reused{}, place: map[string]int{}, runs: map[string]string{}, ahead: map[event.Reused]recalled{}}
	for _, of := range order {
		r.place[of.TrialID], r.runs[of.TrialID] = len(r.order[of.RunID]), of.RunID
		r.order[of.RunID] = append(r.order[of.RunID], of)
	}
	return r
}

// Events reads the events of an attempt in their sequence, as [DB.Events] does.
// An attempt that is not of the order is read by itself.
func (r *Recall) Events(ctx context.Context, trialID string, attempt int, yield func(event.Event) error) error {
	found, ok := r.take(ctx, event.Reused{RunID: r.runs[trialID], TrialID: trialID, Attempt: attempt})
	if !ok {
		return r.db.Events(ctx, EventFilter{TrialID: trialID, Attempt: attempt}, func(_ int64, e event.Event) error { return yield(e) })
	}
	for i := range found.rows {
		if err := found.query.hydrate(ctx, &found.rows[i]); err != nil {
			return r.db.fail("read events of trial "+strconv.Quote(trialID), err)
		}
		if err := yield(found.rows[i].Event); err != nil {
			return err
		}
	}
	return nil
}

// take hands out an attempt that is read already, or is now with those after it.
func (r *Recall) take(ctx context.Context, of event.Reused) (recalled, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.ahead[of]; !ok {
		next := r.next(of)
		if len(next) == 0 {
			return recalled{}, false
		}
		// What cannot be read is read again by itself by those whom it concerns.
		if r.read(ctx, of.RunID, next) != nil {
			return recalled{}, false
		}
	}
	found, ok := r.ahead[of]
	delete(r.ahead, of)
	r.held -= len(found.rows)
	return found, ok
}

// next is an attempt with those that come after it in its run's order and are
// not read; none when it is not of the order.
func (r *Recall) next(of event.Reused) (next []event.Reused) {
	order := r.order[of.RunID]
	at := r.place[of.TrialID]
	if at >= len(order) || order[at] != of {
		return nil
	}
	for _, of := range order[at:] {
		if _, read := r.ahead[of]; !read {
			next = append(next, of)
		}
		if len(next) == recallAttempts {
			break
		}
	}
	return next
}

// read reads attempts of a run ahead, as many of the first ones as there is room
// for.
func (r *Recall) read(ctx context.Context, runID string, next []event.Reused) error {
	if r.held > recallEvents { // whoever was to ask for them has not
		clear(r.ahead)
		r.held = 0
	}
	q, err := r.db.eventQuery(ctx, EventFilter{RunID: runID})
	if err != nil || q == nil {
		return err
	}
	attempts, ids, err := r.attempts(ctx, q, next)
	if err != nil || len(ids) == 0 {
		return err
	}
	page, err := q.page(ctx, eventColumns+"WHERE e.attempt_id IN ("+strings.Join(ids, ", ")+") ORDER BY e.attempt_id, e.id LIMIT ?", recallEvents)
	if err != nil {
		return err
	}
	r.keep(q, attempts, page, len(page) < recallEvents)
	return nil
}

// keep takes the attempts that a page holds. Unless the page is whole, its last
// attempt may have more events.
func (r *Recall) keep(q *eventQuery, attempts map[int64]event.Reused, page []eventRow, whole bool) {
	for len(page) > 0 {
		n := 1
		for n < len(page) && page[n].attempt == page[0].attempt {
			n++
		}
		if n == len(page) && !whole {
			return
		}
		r.ahead[attempts[page[0].attempt.Int64]] = recalled{q, page[:n:n]}
		r.held += n
		page = page[n:]
	}
}

// attempts finds the rows of attempts of a run. What is not there is left out.
func (r *Recall) attempts(ctx context.Context, q *eventQuery, of []event.Reused) (attempts map[int64]event.Reused, ids []string, err error) {
	wanted := make(map[string]event.Reused, len(of))
	uids := make([]string, len(of))
	for i, a := range of {
		wanted[a.TrialID], uids[i] = a, a.TrialID
	}
	list, err := json.Marshal(uids)
	if err != nil {
		return nil, nil, err
	}
	attempts = make(map[int64]event.Reused, len(of))
	// Whose they are is no part of the query: SQLite would look through all
	// trials of the run.
	rows, err := r.db.r.QueryContext(ctx, "SELECT id, uid, agent_id FROM trials WHERE uid IN (SELECT value FROM json_each(?))", string(list))
	err = each(rows, err, func(rows *sql.Rows) error {
		var trial, agent int64
		var uid string
		err := rows.Scan(&trial, &uid, &agent)
		if _, own := q.agents[agent]; !own {
			return err
		}
		id := attemptRow(trial, wanted[uid].Attempt)
		attempts[id] = wanted[uid]
		ids = append(ids, strconv.FormatInt(id, 10))
		return err
	})
	return attempts, ids, err
}
