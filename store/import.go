package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store/bundle"
)

// Import keeps a run that read hands over, checked by bundle.Check, in a
// workspace, in one transaction: an error of read undoes it all and is returned as
// it is. A run that is there already, in whatever workspace, is ErrConflict.
func (db *DB) Import(ctx context.Context, ws string, owner Owner, read func(bundle.Sink) error) error {
	const doing = "import run"
	var failed error
	err := db.write(ctx, doing, func(tx *sql.Tx) error {
		m := &importer{ctx: ctx, db: db, tx: tx, ws: workspace(ws), owner: owner, packs: map[string]int64{}, kinds: map[kind]int64{}}
		if failed = read(m); failed != nil {
			return failed
		}
		return m.flush()
	})
	if failed != nil {
		return db.fail(doing, failed)
	}
	return err
}

// importer writes the rows of one run, within a transaction.
type importer struct {
	ctx   context.Context
	db    *DB
	tx    *sql.Tx
	ws    string
	owner Owner

	packs     map[string]int64 // rows, by digest
	held      bundle.Run       // until its pack has come
	run       int64            // rows
	agents    []int64
	base      int64 // row before the first trial
	trials    int
	position  int64 // of the last event
	kinds     map[kind]int64
	rescoring int64
	rows      bulks
}

// bulks are the rows that are on their way, in the order in which they are to
// arrive: events refer to attempts.
type bulks struct{ trials, attempts, events, rescored *bulk }

// Put writes a record.
func (m *importer) Put(r bundle.Record) error {
	switch r := r.(type) {
	case bundle.Run:
		return m.putRun(r)
	case bundle.Pack:
		return m.putPack(r)
	case bundle.Blob:
		_, err := m.db.saveContent(m.ctx, m.tx, r.Content)
		return err
	case bundle.Trial:
		return m.putTrial(r)
	case bundle.Event:
		return m.putEvent(r)
	case bundle.Rescoring:
		return m.putRescoring(r)
	case bundle.Rescored:
		return m.putRescored(r)
	case bundle.Gate:
		return m.putGate(r)
	}
	return fmt.Errorf("a store has no %T", r)
}

// putRun refuses a run that is there, and waits for its pack.
func (m *importer) putRun(r bundle.Run) error {
	var ws string
	err := m.tx.QueryRowContext(m.ctx, "SELECT workspace FROM runs WHERE uid = ?", r.ID).Scan(&ws)
	if err == nil {
		err = fmt.Errorf("%w: run %s is here already, in workspace %q; nothing was changed", ErrConflict, r.ID, ws)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	m.held = r
	return nil
}

func (m *importer) putPack(p bundle.Pack) error {
	row, err := m.db.savePack(m.ctx, m.tx, PackSnapshot{Workspace: m.ws, Slug: p.Slug, Name: p.Name, Family: p.Family, Version: p.Version,
		Mode: p.Mode, Digest: p.Digest, SpecDigest: p.SpecDigest, InputSets: p.InputSets, Manifest: p.Manifest, Assets: p.Assets, Reference: p.Reference})
	if err != nil {
		return err
	}
	m.packs[p.Digest] = row
	if p.Digest != m.held.Pack.Digest {
		return nil
	}
	return m.insertRun(m.held, row)
}

// insertRun writes the run, its agents and its plan.
func (m *importer) insertRun(r bundle.Run, pack int64) error {
	var planned plan.Plan
	if err := json.Unmarshal(r.Plan, &planned); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	planned.Workspace, planned.Imported = m.ws, true
	document, err := json.Marshal(planned)
	if err != nil {
		return err
	}
	planID, err := m.db.saveContent(m.ctx, m.tx, document)
	if err != nil {
		return err
	}
	err = m.tx.QueryRowContext(m.ctx, `INSERT INTO runs (uid, workspace, name, name_key, status, reason, mode, input_set, pack_id, spec_digest,
		plan_id, event_schema, agents, trials, created_at, started_at, finished_at, owner, owner_pid, owner_host, heartbeat_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		r.ID, m.ws, r.Name, fold(r.Name), r.Status, r.Reason, r.Mode, r.InputSet, pack, r.SpecDigest, planID, r.EventSchema, len(r.Agents), r.Trials,
		instant(r.CreatedAt), instant(r.StartedAt), instant(r.FinishedAt), m.owner.ID, m.owner.PID, m.owner.Host, m.db.stamp()).Scan(&m.run)
	if err == nil {
		err = m.joinSession(planned)
	}
	if err != nil {
		return err
	}
	for i, a := range r.Agents {
		var row int64
		err = m.tx.QueryRowContext(m.ctx, `INSERT INTO run_agents (uid, run_id, lane, label, label_key, deployment, status, reason, started_at, finished_at, scorecard)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`, a.ID, m.run, i, a.Label, fold(a.Label), string(a.Deployment), a.Status, a.Reason,
			instant(a.StartedAt), instant(a.FinishedAt), text(a.Scorecard)).Scan(&row)
		if err != nil {
			return fmt.Errorf("run agent %q: %w", a.Label, err)
		}
		m.agents = append(m.agents, row)
	}
	return m.open()
}

// joinSession puts the run into the session of its plan's name, unless runs of
// something else are in the one that is called so here.
func (m *importer) joinSession(planned plan.Plan) error {
	err := m.db.joinSession(m.ctx, m.tx, m.run, planned)
	if errors.Is(err, ErrConflict) {
		planned.Session = ""
		err = m.db.joinSession(m.ctx, m.tx, m.run, planned)
	}
	return err
}

// open prepares for the run's rows.
func (m *importer) open() error {
	m.position = before(m.run)
	err := m.tx.QueryRowContext(m.ctx, "SELECT coalesce(max(id), 0) FROM trials").Scan(&m.base)
	for _, b := range []struct {
		to      **bulk
		table   string
		columns []string
	}{
		{&m.rows.trials, "trials", []string{"id", "uid", "agent_id", "case_key", "repetition", "status", "attempt", "code", "phase", "overall_score", "finished_at"}},
		{&m.rows.attempts, "attempts", []string{"id", "status", "started_at", "finished_at", "result", "result_id"}},
		{&m.rows.events, "events", []string{"id", "attempt_id", "kind_id", "sequence", "at", "payload", "blob_id", "uid", "agent_id"}},
		{&m.rows.rescored, "rescored_trials", []string{"rescoring_id", "attempt_id", "result", "result_id"}},
	} {
		if err == nil {
			*b.to, err = newBulk(m.ctx, m.tx, b.table, b.columns...) // closed with the transaction
		}
	}
	return err
}

// flush writes what is on its way.
func (m *importer) flush() error {
	for _, b := range []*bulk{m.rows.trials, m.rows.attempts, m.rows.events, m.rows.rescored} {
		if b == nil {
			continue
		}
		if err := b.flush(m.ctx); err != nil {
			return err
		}
	}
	return nil
}

// text is JSON as a column holds it; none, or null, is NULL.
func text(document json.RawMessage) any {
	if len(document) == 0 || string(document) == "null" {
		return nil
	}
	return string(document)
}

// blob is the row of content that has come, nil for none.
func (m *importer) blob(name string) (any, error) {
	if name == "" {
		return nil, nil
	}
	sum, err := hex.DecodeString(name)
	if err != nil {
		return nil, err
	}
	var id int64
	err = one(m.tx.QueryRowContext(m.ctx, "SELECT id FROM blobs WHERE sha256 = ?", sum), &id)
	return id, err
}

func (m *importer) putTrial(t bundle.Trial) error {
	m.trials++
	row := m.base + int64(m.trials)
	var score any
	if t.Score != nil {
		score = *t.Score
	}
	err := m.rows.trials.add(m.ctx, row, t.ID, m.agents[t.Agent-1], t.CaseKey, t.Repetition, t.Status, t.Attempt, t.Code, t.Phase, score, instant(t.FinishedAt))
	if err != nil {
		return fmt.Errorf("trial %s: %w", t.ID, err)
	}
	return m.putAttempts(row, t.Attempts)
}

func (m *importer) putAttempts(trial int64, attempts []bundle.Attempt) error {
	for _, a := range attempts {
		blob, err := m.blob(a.Blob)
		if err == nil {
			err = m.rows.attempts.add(m.ctx, attemptRow(trial, a.Number), a.Status, instant(a.StartedAt), instant(a.FinishedAt), text(a.Result), blob)
		}
		if err != nil {
			return fmt.Errorf("attempt %d: %w", a.Number, err)
		}
	}
	return nil
}

func (m *importer) putEvent(e bundle.Event) error {
	var attempt, agent any
	if e.Trial > 0 {
		attempt = attemptRow(m.base+int64(e.Trial), e.Attempt)
	}
	if e.Agent > 0 {
		agent = m.agents[e.Agent-1]
	}
	return m.addEvent(e, attempt, agent)
}

// addEvent writes an event at the end of the run's log.
func (m *importer) addEvent(e bundle.Event, attempt, agent any) error {
	if err := m.rows.attempts.flush(m.ctx); err != nil { // which it refers to
		return err
	}
	k := kind{e.Type, e.Source}
	id, known := m.kinds[k]
	if !known {
		var err error
		if id, err = saveKind(m.ctx, m.tx, k); err != nil {
			return err
		}
		m.kinds[k] = id
	}
	blob, err := m.blob(e.Blob)
	if err != nil {
		return err
	}
	m.position++
	var payload, uid any
	if len(e.Payload) > 0 {
		payload = string(e.Payload)
	}
	if e.ID != "" {
		uid = e.ID
	}
	return m.rows.events.add(m.ctx, m.position, attempt, id, e.Sequence, instant(e.At), payload, blob, uid, agent)
}

func (m *importer) putRescoring(r bundle.Rescoring) error {
	if err := m.flush(); err != nil {
		return err
	}
	err := m.tx.QueryRowContext(m.ctx, `INSERT INTO rescorings (uid, run_id, pack_id, spec_digest, program, trials, flipped, kept, left_out,
		created_at, finished_at, owner, owner_pid, owner_host, heartbeat_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		r.ID, m.run, m.packs[r.PackDigest], r.SpecDigest, r.Program, r.Trials, r.Flipped, r.Kept, r.LeftOut,
		instant(r.CreatedAt), instant(r.FinishedAt), m.owner.ID, m.owner.PID, m.owner.Host, m.db.stamp()).Scan(&m.rescoring)
	for i, card := range r.Scorecards {
		if err == nil && text(card) != nil {
			_, err = m.tx.ExecContext(m.ctx, "INSERT INTO rescoring_agents (rescoring_id, agent_id, scorecard) VALUES (?, ?, ?)", m.rescoring, m.agents[i], text(card))
		}
	}
	return err
}

func (m *importer) putRescored(r bundle.Rescored) error {
	blob, err := m.blob(r.Blob)
	if err != nil {
		return err
	}
	return m.rows.rescored.add(m.ctx, m.rescoring, attemptRow(m.base+int64(r.Trial), r.Attempt), text(r.Result), blob)
}

// putGate keeps a record that is there already as it is.
func (m *importer) putGate(g bundle.Gate) error {
	_, err := m.tx.ExecContext(m.ctx, "INSERT INTO gates ("+gateColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		g.ID, m.ws, g.BaselineRunID, g.BaselineAgentID, m.held.ID, g.CandidateAgentID, g.Verdict, g.ReasonCode,
		g.PolicyKey, g.PolicyVersion, g.PolicyFingerprint, instant(g.GeneratedAt), string(g.Document))
	return err
}
