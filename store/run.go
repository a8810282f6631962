package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// The statuses of runs, run agents and trials.
const (
	Queued      = "queued"
	Running     = "running"
	Scoring     = "scoring"
	Completed   = "completed"
	Failed      = "failed"
	Cancelled   = "cancelled"
	Interrupted = "interrupted" // its process died
	Passed      = string(scoring.OutcomePassed)
	Invalid     = string(scoring.OutcomeInvalid)
)

// Owner is the process that executes a run.
type Owner struct {
	ID   string // tells this process from every other, on any boot of any machine
	PID  int
	Host string
}

// Run is one stored run.
type Run struct {
	ID         string
	Workspace  string
	Name       string
	Status     string
	Reason     string // why it ended as it did, "" when there is nothing to say
	Mode       string
	InputSet   string
	Pack       event.PackRef
	PackID     string
	SpecDigest string
	Agents     int
	Trials     int
	CreatedAt  time.Time
	StartedAt  time.Time // zero: not yet
	FinishedAt time.Time // zero: not yet; of an interrupted run its last sign of life
	Owner      Owner
	Heartbeat  time.Time
	CancelAt   time.Time // when its cancellation was asked for; zero: never
}

// Active says that the run has an owner who has not finished it.
func (r Run) Active() bool { return active(r.Status) }

func active(status string) bool { return status == Queued || status == Running || status == Scoring }

// RunAgent is one deployment's lane in a stored run.
type RunAgent struct {
	ID         string
	RunID      string
	Label      string
	Lane       int
	Deployment plan.Deployment
	Status     string
	Reason     string
	StartedAt  time.Time
	FinishedAt time.Time
	// Scorecard is nil until the run has finished.
	Scorecard *scoring.AgentScorecard
}

// CreateRun stores a plan with its run agents and trials, all queued. The
// plan's pack must have been saved: ErrNotFound. A run id that exists is
// ErrConflict.
func (db *DB) CreateRun(ctx context.Context, planned plan.Plan, owner Owner) error {
	doing := fmt.Sprintf("create run %q", planned.RunID)
	if planned.RunID == "" || owner.ID == "" {
		return fmt.Errorf("%s: it has no id or no owner", doing)
	}
	document, err := json.Marshal(planned)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	packed, err := db.compress(document)
	if err != nil {
		return fmt.Errorf("%s: plan: %w", doing, err)
	}
	return db.write(ctx, doing, func(tx *sql.Tx) error {
		planID, err := saveBlob(ctx, tx, packed)
		if err != nil {
			return err
		}
		run, err := db.insertRun(ctx, tx, newRun{planned, owner, planID})
		if err != nil {
			return err
		}
		agents, err := insertAgents(ctx, tx, run, planned.Agents)
		if err != nil {
			return err
		}
		return insertTrials(ctx, tx, agents, planned.Trials)
	})
}

// newRun is a run on its way into its table.
type newRun struct {
	plan.Plan
	owner  Owner
	planID int64 // blob
}

func (db *DB) insertRun(ctx context.Context, tx *sql.Tx, n newRun) (int64, error) {
	planned, owner, ws := n.Plan, n.owner, workspace(n.Workspace)
	var pack, run int64
	err := one(tx.QueryRowContext(ctx, "SELECT id FROM packs WHERE workspace = ? AND slug = ? AND version = ? AND digest = ?",
		ws, planned.Pack.Slug, planned.Pack.Version, planned.Pack.Digest), &pack)
	if err != nil {
		return 0, fmt.Errorf("pack %s@%d+%s: %w", planned.Pack.Slug, planned.Pack.Version, planned.Pack.Digest, err)
	}
	created := planned.CreatedAt
	if created.IsZero() {
		created = db.now()
	}
	err = tx.QueryRowContext(ctx, `INSERT INTO runs (uid, workspace, name, name_key, status, mode, input_set, pack_id,
		spec_digest, plan_id, event_schema, agents, trials, created_at, owner, owner_pid, owner_host, heartbeat_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		planned.RunID, ws, planned.Name, fold(planned.Name), Queued, planned.Mode, planned.InputSet, pack,
		planned.SpecDigest, n.planID, event.SchemaVersion, len(planned.Agents), len(planned.Trials), instant(created),
		owner.ID, owner.PID, owner.Host, db.stamp()).Scan(&run)
	if err == nil {
		err = db.joinSession(ctx, tx, run, planned)
	}
	return run, err
}

// insertAgents returns the rows of the run agents in the plan's order.
func insertAgents(ctx context.Context, tx *sql.Tx, run int64, agents []plan.RunAgent) ([]int64, error) {
	ids := make([]int64, len(agents))
	for i, a := range agents {
		deployment, err := json.Marshal(a.Deployment)
		if err != nil {
			return nil, fmt.Errorf("run agent %q: %w", a.Label, err)
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO run_agents (uid, run_id, lane, label, label_key, deployment, status)
			VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			a.ID, run, a.Lane, a.Label, fold(a.Label), string(deployment), Queued).Scan(&ids[i])
		if err != nil {
			return nil, fmt.Errorf("run agent %q: %w", a.Label, err)
		}
	}
	return ids, nil
}

func insertTrials(ctx context.Context, tx *sql.Tx, agents []int64, trials []plan.Trial) error {
	rows, err := newBulk(ctx, tx, "trials", "uid", "agent_id", "case_key", "repetition", "status")
	if err != nil {
		return err
	}
	defer rows.close()
	for _, t := range trials {
		if t.Agent < 0 || t.Agent >= len(agents) {
			return fmt.Errorf("trial %q: the plan has no run agent %d", t.ID, t.Agent)
		}
		if err := rows.add(ctx, t.ID, agents[t.Agent], t.CaseKey, t.Repetition, Queued); err != nil {
			return fmt.Errorf("trial %q: %w", t.ID, err)
		}
	}
	return rows.flush(ctx)
}

// RunFilter says which runs to list; zero fields do not narrow.
type RunFilter struct {
	Workspace string // "" is DefaultWorkspace
	PackSlug  string
	Name      string // case does not matter
	Search    string // part of the name, in any case, or of the pack's slug
	Words     []Word // of name, pack, status, agent and id
	Statuses  []string
	Limit     int // 0: all
	Offset    int
}

const runTables = " FROM runs r JOIN packs p ON p.id = r.pack_id "

const runColumns = `r.uid, r.workspace, r.name, r.status, r.reason, r.mode, r.input_set, p.slug, p.name, p.version,
	p.digest, p.uid, r.spec_digest, r.agents, r.trials, r.created_at, r.started_at, r.finished_at,
	r.owner, r.owner_pid, r.owner_host, r.heartbeat_at, r.cancel_at`

func scanRun(scan func(...any) error) (Run, error) {
	var r Run
	var created, started, finished, heartbeat, cancel sql.NullInt64
	err := scan(&r.ID, &r.Workspace, &r.Name, &r.Status, &r.Reason, &r.Mode, &r.InputSet, &r.Pack.Slug, &r.Pack.Name, &r.Pack.Version,
		&r.Pack.Digest, &r.PackID, &r.SpecDigest, &r.Agents, &r.Trials, &created, &started, &finished,
		&r.Owner.ID, &r.Owner.PID, &r.Owner.Host, &heartbeat, &cancel)
	r.CreatedAt, r.StartedAt, r.FinishedAt = clock(created), clock(started), clock(finished)
	r.Heartbeat, r.CancelAt = clock(heartbeat), clock(cancel)
	return r, err
}

// Runs lists runs, newest first, and says how many there are without Limit and
// Offset.
func (db *DB) Runs(ctx context.Context, f RunFilter) (runs []Run, total int, err error) {
	where, args := f.where()
	err = db.r.QueryRowContext(ctx, "SELECT count(*)"+runTables+where, args...).Scan(&total)
	if err != nil {
		return nil, 0, db.fail("list runs", err)
	}
	limit := f.Limit
	if limit <= 0 {
		limit = -1
	}
	rows, err := db.r.QueryContext(ctx, "SELECT "+runColumns+runTables+where+" ORDER BY r.created_at DESC, r.id DESC LIMIT ? OFFSET ?",
		append(args, limit, max(f.Offset, 0))...)
	err = each(rows, err, func(rows *sql.Rows) error {
		r, err := scanRun(rows.Scan)
		runs = append(runs, r)
		return err
	})
	if err != nil {
		return nil, 0, db.fail("list runs", err)
	}
	return runs, total, nil
}

func (f RunFilter) where() (string, []any) {
	where, args := "WHERE r.workspace = ?", []any{workspace(f.Workspace)}
	if f.PackSlug != "" {
		where, args = where+" AND p.slug = ?", append(args, f.PackSlug)
	}
	if f.Name != "" {
		where, args = where+" AND r.name_key = ?", append(args, fold(f.Name))
	}
	if f.Search != "" {
		where, args = where+" AND (instr(r.name_key, ?) > 0 OR instr(p.slug, ?) > 0)", append(args, fold(f.Search), strings.ToLower(f.Search))
	}
	if len(f.Statuses) > 0 {
		where += " AND r.status IN (?" + strings.Repeat(", ?", len(f.Statuses)-1) + ")"
		for _, s := range f.Statuses {
			args = append(args, s)
		}
	}
	words, values := searched(runFields, f.Words)
	return where + words, append(args, values...)
}

// Run finds one run: by its id (in any workspace), by its name (case does not
// matter), by six or more digits of its id's end, or as Latest or Baseline.
// Several meanings are an *AmbiguousError, none is ErrNotFound.
func (db *DB) Run(ctx context.Context, ws, selector string) (Run, error) {
	doing := fmt.Sprintf("find run %q", selector)
	row, err := db.selectRun(ctx, workspace(ws), selector)
	if err != nil {
		return Run{}, db.fail(doing, err)
	}
	r, err := scanRun(db.r.QueryRowContext(ctx, "SELECT "+runColumns+runTables+"WHERE r.id = ?", row).Scan)
	return r, db.fail(doing, err)
}

// Plan reads a run's plan back, without its trials: see Unfinished.
func (db *DB) Plan(ctx context.Context, runID string) (plan.Plan, error) {
	doing := fmt.Sprintf("read plan of run %q", runID)
	var id int64
	if err := one(db.r.QueryRowContext(ctx, "SELECT plan_id FROM runs WHERE uid = ?", runID), &id); err != nil {
		return plan.Plan{}, db.fail(doing, err)
	}
	document, err := db.content(ctx, id)
	if err != nil {
		return plan.Plan{}, db.fail(doing, err)
	}
	var planned plan.Plan
	if err := json.Unmarshal(document, &planned); err != nil {
		return plan.Plan{}, fmt.Errorf("%s: %w: %w", doing, ErrCorrupt, err)
	}
	return planned, nil
}

// SetOptions replaces the options of a stored plan by those of the plan given.
// Owner must own the run.
func (db *DB) SetOptions(ctx context.Context, planned plan.Plan, owner Owner) error {
	doing := fmt.Sprintf("change the options of run %q", planned.RunID)
	document, err := json.Marshal(planned)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	packed, err := db.compress(document)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return db.write(ctx, doing, func(tx *sql.Tx) error {
		run, err := owned(ctx, tx, planned.RunID, owner)
		if err != nil {
			return err
		}
		id, err := saveBlob(ctx, tx, packed)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE runs SET plan_id = ? WHERE id = ?", id, run.row)
		return err
	})
}

const agentColumns = `a.uid, r.uid, a.label, a.lane, a.deployment, a.status, a.reason, a.started_at, a.finished_at, a.scorecard
	FROM run_agents a JOIN runs r ON r.id = a.run_id`

func scanAgent(scan func(...any) error) (RunAgent, error) {
	var a RunAgent
	var deployment string
	var scorecard sql.NullString
	var started, finished sql.NullInt64
	err := scan(&a.ID, &a.RunID, &a.Label, &a.Lane, &deployment, &a.Status, &a.Reason, &started, &finished, &scorecard)
	if err != nil {
		return RunAgent{}, err
	}
	a.StartedAt, a.FinishedAt = clock(started), clock(finished)
	err = json.Unmarshal([]byte(deployment), &a.Deployment)
	if scorecard.Valid {
		a.Scorecard = new(scoring.AgentScorecard)
		err = errors.Join(err, json.Unmarshal([]byte(scorecard.String), a.Scorecard))
	}
	if err != nil {
		return RunAgent{}, fmt.Errorf("run agent %q: %w: %w", a.Label, ErrCorrupt, err)
	}
	return a, nil
}

// RunAgents lists a run's agents in the plan's order.
func (db *DB) RunAgents(ctx context.Context, runID string) ([]RunAgent, error) {
	var agents []RunAgent
	rows, err := db.r.QueryContext(ctx, "SELECT "+agentColumns+" WHERE r.uid = ? ORDER BY a.id", runID)
	err = each(rows, err, func(rows *sql.Rows) error {
		a, err := scanAgent(rows.Scan)
		agents = append(agents, a)
		return err
	})
	if err != nil {
		return nil, db.fail(fmt.Sprintf("list agents of run %q", runID), err)
	}
	return slices.Clip(agents), nil
}

// RunAgent finds one run agent: by its id, by its label within the run (case
// does not matter), or by six or more digits of its id's end. With runID ""
// only ids and their ends are known, of all runs of the workspace.
func (db *DB) RunAgent(ctx context.Context, ws, runID, selector string) (RunAgent, error) {
	doing := fmt.Sprintf("find run agent %q", selector)
	row, err := db.selectAgent(ctx, workspace(ws), runID, selector)
	if err != nil {
		return RunAgent{}, db.fail(doing, err)
	}
	a, err := scanAgent(db.r.QueryRowContext(ctx, "SELECT "+agentColumns+" WHERE a.id = ?", row).Scan)
	return a, db.fail(doing, err)
}
