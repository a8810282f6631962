package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store/bundle"
)

// Export hands everything of a run that is over to sink: the run with its plan,
// its packs, blobs, trials, events, rescorings and the gates that judged it. All
// is read as it stood when Export began. An error of sink ends it and is returned
// as it is. A run that is going on is ErrConflict.
func (db *DB) Export(ctx context.Context, runID string, sink bundle.Sink) error {
	doing := fmt.Sprintf("export run %q", runID)
	tx, err := db.r.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return db.fail(doing, err)
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	x := &exporter{db: db, tx: tx, sink: sink, agents: map[int64]int{}}
	for _, part := range []func(context.Context, string) error{x.start, x.packs, x.blobs, x.trials, x.events, x.rescorings, x.gates} {
		if err := part(ctx, runID); err != nil {
			if x.refused != nil {
				return x.refused
			}
			return db.fail(doing, err)
		}
	}
	return nil
}

// exporter is one export: everything is read in one transaction.
type exporter struct {
	db      *DB
	tx      *sql.Tx
	sink    bundle.Sink
	refused error // of the sink

	run    int64   // row
	rows   []int64 // of trials, in order: a run that its results ended lacks some
	count  int
	pack   string // id
	digest string
	agents map[int64]int // rows to places, from 1
}

func (x *exporter) put(r bundle.Record) error {
	if err := x.sink.Put(r); err != nil {
		x.refused = err
		return err
	}
	return nil
}

// start reads the run and its agents.
func (x *exporter) start(ctx context.Context, runID string) error {
	r, err := scanRun(x.tx.QueryRowContext(ctx, "SELECT "+runColumns+runTables+"WHERE r.uid = ?", runID).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	if r.Active() {
		return fmt.Errorf("%w: it is %s", ErrConflict, r.Status)
	}
	out := bundle.Run{
		ID: r.ID, Name: r.Name, Status: r.Status, Reason: r.Reason, Mode: r.Mode, InputSet: r.InputSet, Pack: r.Pack,
		SpecDigest: r.SpecDigest, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt, Trials: r.Trials,
	}
	var planID int64
	err = x.tx.QueryRowContext(ctx, "SELECT id, plan_id, event_schema FROM runs WHERE uid = ?", runID).Scan(&x.run, &planID, &out.EventSchema)
	if err != nil {
		return err
	}
	if out.Plan, err = x.db.content(ctx, planID); err != nil {
		return err
	}
	var planned plan.Plan
	if err := json.Unmarshal(out.Plan, &planned); err != nil {
		return fmt.Errorf("%w: its plan: %w", ErrCorrupt, err)
	}
	if planned.Imported { // which is a matter of this store
		planned.Imported = false
		if out.Plan, err = json.Marshal(planned); err != nil {
			return err
		}
	}
	out.Pack = planned.Pack // whose name is that of the day
	x.pack, x.digest = r.PackID, r.Pack.Digest
	rows, err := x.tx.QueryContext(ctx, "SELECT "+agentColumns+" WHERE r.uid = ? ORDER BY a.id", runID)
	err = each(rows, err, func(rows *sql.Rows) error {
		a, err := scanAgent(rows.Scan)
		if err != nil {
			return err
		}
		o := bundle.Agent{ID: a.ID, Label: a.Label, Status: a.Status, Reason: a.Reason, StartedAt: a.StartedAt, FinishedAt: a.FinishedAt}
		if o.Deployment, err = event.Marshal(a.Deployment); err == nil && a.Scorecard != nil {
			o.Scorecard, err = event.Marshal(a.Scorecard)
		}
		out.Agents = append(out.Agents, o)
		return err
	})
	if err == nil {
		err = x.lanes(ctx)
	}
	if err == nil {
		out.Others, err = x.others(ctx, planned)
	}
	if err != nil {
		return err
	}
	x.count = out.Trials
	return x.put(out)
}

// lanes finds the rows of the run's agents and trials.
func (x *exporter) lanes(ctx context.Context) error {
	rows, err := x.tx.QueryContext(ctx, "SELECT id FROM run_agents WHERE run_id = ? ORDER BY id", x.run)
	err = each(rows, err, func(rows *sql.Rows) error {
		var row int64
		err := rows.Scan(&row)
		x.agents[row] = len(x.agents) + 1
		return err
	})
	if err != nil {
		return err
	}
	rows, err = x.tx.QueryContext(ctx, `SELECT t.id FROM run_agents a JOIN trials t ON t.agent_id = a.id
		WHERE a.run_id = ? ORDER BY t.id`, x.run)
	return each(rows, err, func(rows *sql.Rows) error {
		var row int64
		err := rows.Scan(&row)
		x.rows = append(x.rows, row)
		return err
	})
}

// place is where the trial of an attempt stands among the run's, from 1.
func (x *exporter) place(attempt int64) (int, error) {
	at, ok := slices.BinarySearch(x.rows, attempt/maxAttempts)
	if !ok {
		return 0, fmt.Errorf("%w: attempt %d of trial row %d is of no trial of the run", ErrCorrupt, attempt%maxAttempts, attempt/maxAttempts)
	}
	return at + 1, nil
}

// others are the runs that this one has to do with.
func (x *exporter) others(ctx context.Context, planned plan.Plan) ([]bundle.Other, error) {
	var list []bundle.Other
	if planned.RetryOf != "" {
		list = append(list, bundle.Other{As: bundle.RetryOf, RunID: planned.RetryOf})
	}
	for _, m := range planned.Merged {
		list = append(list, bundle.Other{As: bundle.MergedOf, RunID: m.RunID, Name: m.Name})
	}
	// who has merged runs may hold trials that stand for those of others again
	rows, err := x.tx.QueryContext(ctx, `SELECT DISTINCT json_extract(payload, '$.reused.run_id') FROM events
		WHERE id > ? AND id < ? AND kind_id IN (SELECT id FROM kinds WHERE type = ?) AND payload LIKE '%"reused"%' ORDER BY 1`,
		before(x.run), before(x.run+1), string(event.TrialQueued))
	err = each(rows, err, func(rows *sql.Rows) error {
		var id sql.NullString
		err := rows.Scan(&id)
		if id.Valid {
			list = append(list, bundle.Other{As: bundle.Reused, RunID: id.String})
		}
		return err
	})
	for i, o := range list {
		if err == nil && o.Name == "" {
			err = x.tx.QueryRowContext(ctx, "SELECT coalesce((SELECT name FROM runs WHERE uid = ?), '')", o.RunID).Scan(&list[i].Name)
		}
	}
	return list, err
}

// packs hands on the run's pack, and those that rescorings were made by.
func (x *exporter) packs(ctx context.Context, _ string) error {
	ids, digests := []string{x.pack}, map[string]bool{x.digest: true}
	if x.db.schema >= rescoringSchema {
		rows, err := x.tx.QueryContext(ctx, `SELECT DISTINCT p.uid, p.digest FROM rescorings s JOIN packs p ON p.id = s.pack_id
			WHERE s.run_id = ? AND s.finished_at IS NOT NULL ORDER BY p.id`, x.run)
		err = each(rows, err, func(rows *sql.Rows) error {
			var id, digest string
			err := rows.Scan(&id, &digest)
			if !digests[digest] {
				ids, digests[digest] = append(ids, id), true
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, id := range ids {
		s, err := x.db.Snapshot(ctx, id)
		if err != nil {
			return err
		}
		sets, err := x.db.InputSets(ctx, id)
		if err != nil {
			return err
		}
		p := bundle.Pack{Slug: s.Slug, Name: s.Name, Family: s.Family, Version: s.Version, Digest: s.Digest, SpecDigest: s.SpecDigest,
			Manifest: s.Manifest, Reference: s.Reference, Assets: s.Assets}
		if err := x.tx.QueryRowContext(ctx, "SELECT mode FROM packs WHERE uid = ?", id).Scan(&p.Mode); err != nil {
			return err
		}
		for _, set := range sets {
			p.InputSets = append(p.InputSets, set.Key)
		}
		if err := x.put(p); err != nil {
			return err
		}
	}
	return nil
}

// blobs hands on the large payloads of events, the results and the rescored ones,
// each once, by what refers to it first.
func (x *exporter) blobs(ctx context.Context, _ string) error {
	seen := map[int64]bool{}
	take := func(rows *sql.Rows) error {
		var id int64
		var of string
		if err := rows.Scan(&id, &of); err != nil || seen[id] {
			return err
		}
		seen[id] = true
		content, err := x.db.content(ctx, id)
		if err != nil {
			return err
		}
		return x.put(bundle.NewBlob(content, of))
	}
	const of = `'of attempt ' || (%s %% 1024) || ' of trial ' || t.uid || ' (case "' || t.case_key || '", repetition ' || t.repetition || ')'`
	queries := []string{
		`SELECT e.blob_id, coalesce('event ' || e.sequence || ' (' || k.type || ') ' || ` + fmt.Sprintf(of, "e.attempt_id") + `,
			'fact ' || e.sequence || ' of the run (' || k.type || ')')
			FROM events e JOIN kinds k ON k.id = e.kind_id LEFT JOIN trials t ON t.id = e.attempt_id / 1024
			WHERE e.id > ?1 << 32 AND e.id < (?1 + 1) << 32 AND e.blob_id IS NOT NULL ORDER BY e.id`,
		`SELECT k.result_id, 'the result ' || ` + fmt.Sprintf(of, "k.id") + ` FROM run_agents a JOIN trials t ON t.agent_id = a.id
			JOIN attempts k ON k.id > t.id * 1024 AND k.id < (t.id + 1) * 1024
			WHERE a.run_id = ?1 AND k.result_id IS NOT NULL ORDER BY k.id`,
	}
	if x.db.schema >= rescoringSchema {
		queries = append(queries, `SELECT s.result_id, 'the rescored result ' || `+fmt.Sprintf(of, "s.attempt_id")+` FROM rescorings r
			JOIN rescored_trials s ON s.rescoring_id = r.id JOIN trials t ON t.id = s.attempt_id / 1024
			WHERE r.run_id = ?1 AND r.finished_at IS NOT NULL AND s.result_id IS NOT NULL ORDER BY s.id`)
	}
	for _, query := range queries {
		rows, err := x.tx.QueryContext(ctx, query, x.run)
		if err := each(rows, err, take); err != nil {
			return err
		}
	}
	return nil
}

// trials hands on the trials with their attempts, in the order of execution.
func (x *exporter) trials(ctx context.Context, _ string) error {
	var t bundle.Trial
	n := 0
	hand := func() error {
		if n == 0 {
			return nil
		}
		return x.put(t)
	}
	var first, last int64
	if len(x.rows) > 0 {
		first, last = x.rows[0], x.rows[len(x.rows)-1]
	}
	rows, err := x.tx.QueryContext(ctx, `SELECT t.id, t.uid, t.agent_id, t.case_key, t.repetition, t.status, t.attempt, t.code, t.phase,
		t.overall_score, t.finished_at, k.id, k.status, k.started_at, k.finished_at, k.result, b.sha256
		FROM trials t LEFT JOIN attempts k ON k.id > t.id * 1024 AND k.id < (t.id + 1) * 1024 LEFT JOIN blobs b ON b.id = k.result_id
		WHERE t.id >= ? AND t.id <= ? ORDER BY t.id, k.id`, first, last)
	err = each(rows, err, func(rows *sql.Rows) error {
		next, k, err := scanExported(rows, x.agents)
		if err != nil {
			return err
		}
		if next.ID != t.ID {
			if err := hand(); err != nil {
				return err
			}
			t, n = next, n+1
		}
		if k != nil {
			t.Attempts = append(t.Attempts, *k)
		}
		return nil
	})
	if err == nil {
		err = hand()
	}
	if err == nil && n != x.count {
		err = fmt.Errorf("%w: the run has %d trials, and %d are there", ErrCorrupt, x.count, n)
	}
	return err
}

// scanExported reads a trial with one of its attempts, nil when it has none.
func scanExported(rows *sql.Rows, agents map[int64]int) (bundle.Trial, *bundle.Attempt, error) {
	var t bundle.Trial
	var k bundle.Attempt
	var row, agent int64
	var finished, attempt, started, ended sql.NullInt64
	var status, result sql.NullString
	var sum []byte
	err := rows.Scan(&row, &t.ID, &agent, &t.CaseKey, &t.Repetition, &t.Status, &t.Attempt, &t.Code, &t.Phase, &t.Score, &finished,
		&attempt, &status, &started, &ended, &result, &sum)
	if err == nil && agents[agent] == 0 {
		err = fmt.Errorf("%w: trial %s lies among those of another run", ErrCorrupt, t.ID)
	}
	t.Agent, t.FinishedAt, t.Attempts = agents[agent], clock(finished), []bundle.Attempt{}
	if err != nil || !attempt.Valid {
		return t, nil, err
	}
	k.Number, k.Status, k.StartedAt, k.FinishedAt = int(attempt.Int64%maxAttempts), status.String, clock(started), clock(ended)
	k.Result, k.Blob = inline(result), hexed(sum)
	return t, &k, nil
}

// inline is JSON that lies in its row, nil for none.
func inline(text sql.NullString) json.RawMessage {
	if !text.Valid {
		return nil
	}
	return json.RawMessage(text.String)
}

// hexed is how records name a blob, "" for none.
func hexed(sum []byte) string {
	if sum == nil {
		return ""
	}
	return fmt.Sprintf("%x", sum)
}

// events hands on the log, in the order in which it was written.
func (x *exporter) events(ctx context.Context, _ string) error {
	rows, err := x.tx.QueryContext(ctx, `SELECT e.attempt_id, e.agent_id, k.type, k.source, e.sequence, e.at, e.payload, b.sha256, e.uid
		FROM events e JOIN kinds k ON k.id = e.kind_id LEFT JOIN blobs b ON b.id = e.blob_id
		WHERE e.id > ? AND e.id < ? ORDER BY e.id`, before(x.run), before(x.run+1))
	return each(rows, err, func(rows *sql.Rows) error {
		var e bundle.Event
		var attempt, agent, at sql.NullInt64
		var payload, uid sql.NullString
		var sum []byte
		if err := rows.Scan(&attempt, &agent, &e.Type, &e.Source, &e.Sequence, &at, &payload, &sum, &uid); err != nil {
			return err
		}
		if attempt.Valid {
			var err error
			if e.Trial, err = x.place(attempt.Int64); err != nil {
				return err
			}
			e.Attempt = int(attempt.Int64 % maxAttempts)
		}
		e.Agent, e.At, e.ID, e.Payload, e.Blob = x.agents[agent.Int64], clock(at), uid.String, inline(payload), hexed(sum)
		return x.put(e)
	})
}
