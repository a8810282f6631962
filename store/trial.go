package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// Trial is a stored trial as its newest attempt left it, or one attempt of it.
type Trial struct {
	ID         string
	RunAgentID string
	CaseKey    string
	Repetition int
	Attempt    int    // 0: none was begun
	Status     string // queued, running, passed, failed, invalid, interrupted or cancelled
	StartedAt  time.Time
	FinishedAt time.Time
	// Code and Phase say why a trial is not passed; OverallScore is nil when
	// there is none. They describe the trial, and are not set on attempts.
	Code         string
	Phase        string
	OverallScore *float64
	// Result is the payload of the attempt's trial.finished event, nil when
	// the attempt has not ended.
	Result json.RawMessage
}

// End decodes Result. A trial without one is ErrNotFound.
func (t Trial) End() (event.TrialEnd, error) {
	doing := fmt.Sprintf("read result of trial %q", t.ID)
	var end event.TrialEnd
	if len(t.Result) == 0 {
		return end, fmt.Errorf("%s: %w", doing, ErrNotFound)
	}
	if err := json.Unmarshal(t.Result, &end); err != nil {
		return end, fmt.Errorf("%s: %w: %w", doing, ErrCorrupt, err)
	}
	return end, nil
}

// Headline decodes what [scoring.Headline] does of Result. A trial without one is
// ErrNotFound.
func (t Trial) Headline() (scoring.Trial, error) {
	doing := fmt.Sprintf("read result of trial %q", t.ID)
	if len(t.Result) == 0 {
		return scoring.Trial{}, fmt.Errorf("%s: %w", doing, ErrNotFound)
	}
	trial, err := scoring.Headline(t.Result)
	if err != nil {
		return trial, fmt.Errorf("%s: %w: %w", doing, ErrCorrupt, err)
	}
	return trial, nil
}

// TrialFilter says which trials to read; zero fields do not narrow.
type TrialFilter struct {
	RunAgentID  string // required
	CaseKey     string
	Repetition  int
	Statuses    []string // of the trials, not of their attempts
	AllAttempts bool     // one Trial for each attempt, in order; none for trials without
	NoResults   bool     // without AllAttempts: leave Result and StartedAt out, which makes long lists cheap
}

// trialPage is how many trials are read at once: a reader that takes its time
// keeps no snapshot of the database alive.
const trialPage = 256

// Trials reads the trials of a run agent in the order of execution and hands
// them to yield, whose error ends the reading and is returned as it is.
func (db *DB) Trials(ctx context.Context, f TrialFilter, yield func(Trial) error) error {
	doing := fmt.Sprintf("read trials of run agent %q", f.RunAgentID)
	var agent int64
	if err := one(db.r.QueryRowContext(ctx, "SELECT id FROM run_agents WHERE uid = ?", f.RunAgentID), &agent); err != nil {
		return db.fail(doing, err)
	}
	statuses, err := json.Marshal(append([]string{}, f.Statuses...))
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	query := f.query()
	var after trialRow
	for {
		page, err := db.trialPage(ctx, query, agent, f.CaseKey, f.Repetition, after.row, after.Attempt, trialPage, string(statuses))
		if err != nil {
			return db.fail(doing, err)
		}
		for _, t := range page {
			if err := db.fillResult(ctx, &t); err != nil {
				return db.fail(doing, err)
			}
			t.RunAgentID = f.RunAgentID
			if err := yield(t.Trial); err != nil {
				return err
			}
		}
		if len(page) < trialPage {
			return nil
		}
		after = page[len(page)-1]
	}
}

// trialRow is a trial on its way out of the database.
type trialRow struct {
	Trial
	row      int64
	agent    int64
	resultID sql.NullInt64
}

// What is read of a trial: as it stands, as it stands without reading its
// attempt, and attempt by attempt.
const (
	trialColumns = `SELECT t.id, t.uid, t.agent_id, t.case_key, t.repetition, t.status, t.attempt, t.code, t.phase, t.overall_score,
		k.started_at, t.finished_at, k.result, k.result_id FROM trials t
		LEFT JOIN attempts k ON k.id = t.id * 1024 + t.attempt `
	bareColumns = `SELECT t.id, t.uid, t.agent_id, t.case_key, t.repetition, t.status, t.attempt, t.code, t.phase, t.overall_score,
		NULL, t.finished_at, NULL, NULL FROM trials t `
	attemptColumns = `SELECT t.id, t.uid, t.agent_id, t.case_key, t.repetition, k.status, k.id - t.id * 1024, '', '', NULL,
		k.started_at, k.finished_at, k.result, k.result_id FROM trials t
		JOIN attempts k ON k.id > t.id * 1024 AND k.id < (t.id + 1) * 1024 `
)

// query takes run agent, case, repetition, the trial and the attempt of it to
// go on after, how many rows to read, and the statuses.
func (f TrialFilter) query() string {
	const where = `WHERE t.agent_id = ?1 AND (?2 = '' OR t.case_key = ?2) AND (?3 = 0 OR t.repetition = ?3)
		AND (?7 = '[]' OR t.status IN (SELECT value FROM json_each(?7))) `
	switch {
	case f.AllAttempts:
		return attemptColumns + where + "AND t.id >= ?4 AND (t.id > ?4 OR k.id > t.id * 1024 + ?5) ORDER BY t.id, k.id LIMIT ?6"
	case f.NoResults:
		return bareColumns + where + "AND t.id > ?4 ORDER BY t.id LIMIT ?6"
	}
	return trialColumns + where + "AND t.id > ?4 ORDER BY t.id LIMIT ?6"
}

func (db *DB) trialPage(ctx context.Context, query string, args ...any) ([]trialRow, error) {
	var page []trialRow
	rows, err := db.r.QueryContext(ctx, query, args...)
	err = each(rows, err, func(rows *sql.Rows) error {
		t, err := scanTrial(rows.Scan)
		page = append(page, t)
		return err
	})
	return page, err
}

func scanTrial(scan func(...any) error) (trialRow, error) {
	var t trialRow
	var started, finished sql.NullInt64
	var result sql.NullString
	err := scan(&t.row, &t.ID, &t.agent, &t.CaseKey, &t.Repetition, &t.Status, &t.Attempt, &t.Code, &t.Phase, &t.OverallScore,
		&started, &finished, &result, &t.resultID)
	t.StartedAt, t.FinishedAt = clock(started), clock(finished)
	if result.Valid {
		t.Result = json.RawMessage(result.String)
	}
	return t, err
}

func (db *DB) fillResult(ctx context.Context, t *trialRow) error {
	if !t.resultID.Valid {
		return nil
	}
	content, err := db.content(ctx, t.resultID.Int64)
	t.Result = content
	return err
}

// Trial finds one trial: by its id, or by six or more digits of its end.
func (db *DB) Trial(ctx context.Context, ws, selector string) (Trial, error) {
	doing := fmt.Sprintf("find trial %q", selector)
	row, err := db.selectTrial(ctx, workspace(ws), selector)
	if err != nil {
		return Trial{}, db.fail(doing, err)
	}
	t, err := scanTrial(db.r.QueryRowContext(ctx, trialColumns+"WHERE t.id = ?", row).Scan)
	if err == nil {
		err = one(db.r.QueryRowContext(ctx, "SELECT uid FROM run_agents WHERE id = ?", t.agent), &t.RunAgentID)
	}
	if err == nil {
		err = db.fillResult(ctx, &t)
	}
	if err != nil {
		return Trial{}, db.fail(doing, err)
	}
	return t.Trial, nil
}

// Tally counts a run agent's trials by status.
func (db *DB) Tally(ctx context.Context, runAgentID string) (map[string]int, error) {
	counts := map[string]int{}
	rows, err := db.r.QueryContext(ctx, `SELECT t.status, count(*) FROM trials t JOIN run_agents a ON a.id = t.agent_id
		WHERE a.uid = ? GROUP BY t.status`, runAgentID)
	err = each(rows, err, func(rows *sql.Rows) error {
		var status string
		var n int
		err := rows.Scan(&status, &n)
		counts[status] = n
		return err
	})
	if err != nil {
		return nil, db.fail(fmt.Sprintf("count trials of run agent %q", runAgentID), err)
	}
	return counts, nil
}

// Unfinished lists what is left to do of a run, in the order of execution, as
// its plan's trials. Attempts go on after those that were begun. Invalid
// trials count as finished unless againInvalid.
func (db *DB) Unfinished(ctx context.Context, runID string, againInvalid bool) ([]plan.Trial, error) {
	doing := fmt.Sprintf("list unfinished trials of run %q", runID)
	lanes := map[int64]int{} // run agent row to its place in the plan
	rows, err := db.r.QueryContext(ctx, "SELECT a.id FROM run_agents a JOIN runs r ON r.id = a.run_id WHERE r.uid = ? ORDER BY a.id", runID)
	err = each(rows, err, func(rows *sql.Rows) error {
		var row int64
		err := rows.Scan(&row)
		lanes[row] = len(lanes)
		return err
	})
	if err == nil && len(lanes) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, db.fail(doing, err)
	}
	var left []plan.Trial
	rows, err = db.r.QueryContext(ctx, `SELECT t.uid, t.agent_id, t.case_key, t.repetition, t.attempt + 1
		FROM trials t JOIN run_agents a ON a.id = t.agent_id JOIN runs r ON r.id = a.run_id
		WHERE r.uid = ? AND t.status NOT IN ('passed', 'failed') AND (t.status != 'invalid' OR ?)
		ORDER BY t.id`, runID, againInvalid)
	err = each(rows, err, func(rows *sql.Rows) error {
		var t plan.Trial
		var agent int64
		err := rows.Scan(&t.ID, &agent, &t.CaseKey, &t.Repetition, &t.Attempt)
		t.Agent = lanes[agent]
		left = append(left, t)
		return err
	})
	if err != nil {
		return nil, db.fail(doing, err)
	}
	return left, nil
}
