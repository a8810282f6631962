package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/text/cases"
)

// minTail is how many digits of an id's end name it.
const minTail = 6

// shortDigits is how much of an id's end people are shown.
const shortDigits = 8

// The words that select a run by what it is.
const (
	Latest   = "latest"   // the newest run of the workspace
	Baseline = "baseline" // the run of the workspace's baseline
)

// fold is a name as names are compared: case does not matter.
func fold(name string) string { return cases.Fold().String(strings.TrimSpace(name)) }

// tail is the end of an id as it is compared, or "" when selector is none: six
// or more hex digits, dashes ignored.
func tail(selector string) string {
	digits := strings.ToLower(strings.ReplaceAll(selector, "-", ""))
	if len(digits) < minTail || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	return digits
}

// tailMatches is the SQL for "this id ends in the digits of a parameter". The
// last digit is looked at first: most ids differ there, and it costs less than
// taking the dashes out.
func tailMatches(column, parameter string) string {
	return fmt.Sprintf("(%[2]s != '' AND substr(%[1]s, -1) = substr(%[2]s, -1) AND substr(replace(%[1]s, '-', ''), -length(%[2]s)) = %[2]s)",
		column, parameter)
}

// shortID is the end of an id, enough to select it by in most stores.
func shortID(id string) string {
	digits := strings.ReplaceAll(id, "-", "")
	return digits[max(0, len(digits)-shortDigits):]
}

// candidates collects what a selector may mean.
type candidates struct {
	rows  []int64
	texts []string
}

func (c *candidates) add(row int64, id, name string) {
	c.rows = append(c.rows, row)
	text := shortID(id)
	if name != "" {
		text += fmt.Sprintf(" (%q)", name)
	}
	c.texts = append(c.texts, text)
}

// pick is the one candidate there is.
func (c *candidates) pick(what, selector string) (int64, error) {
	switch len(c.rows) {
	case 0:
		return 0, ErrNotFound
	case 1:
		return c.rows[0], nil
	}
	shown := min(len(c.texts), maxCandidates)
	return 0, &AmbiguousError{What: what, Selector: selector, Candidates: c.texts[:shown], More: len(c.texts) - shown}
}

// gather collects the rows (id, uid, name) of a query.
func (c *candidates) gather(rows *sql.Rows, err error) error {
	return each(rows, err, func(rows *sql.Rows) error {
		var row int64
		var id, name string
		if err := rows.Scan(&row, &id, &name); err != nil {
			return err
		}
		c.add(row, id, name)
		return nil
	})
}

// selectRun finds the row of a run. A whole id is found in any workspace,
// everything else in the one given.
func (db *DB) selectRun(ctx context.Context, ws, selector string) (int64, error) {
	var row int64
	err := db.r.QueryRowContext(ctx, "SELECT id FROM runs WHERE uid = ?", selector).Scan(&row)
	if !errors.Is(err, sql.ErrNoRows) {
		return row, err
	}
	var c candidates
	switch fold(selector) {
	case Latest:
		err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, name FROM runs WHERE workspace = ?
			ORDER BY created_at DESC, id DESC LIMIT 1`, ws))
	case Baseline:
		err = c.gather(db.r.QueryContext(ctx, `SELECT DISTINCT r.id, r.uid, r.name FROM `+db.baselineTable()+`
			JOIN runs r ON r.id = b.run_id WHERE b.workspace = ? AND b.name_key = ? AND b.ended_at IS NULL ORDER BY b.set_at DESC`, ws, DefaultBaseline))
	default:
		err = c.gather(db.r.QueryContext(ctx, `SELECT id, uid, name FROM runs WHERE workspace = ?1
			AND (name_key = ?2 OR `+tailMatches("uid", "?3")+`) ORDER BY created_at DESC, id DESC`,
			ws, fold(selector), tail(selector)))
	}
	if err != nil {
		return 0, err
	}
	return c.pick("run", selector)
}

// AnyRun says whether the id of a run, in any workspace, ends in these digits.
func (db *DB) AnyRun(ctx context.Context, digits string) (bool, error) {
	var there bool
	err := one(db.r.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM runs WHERE "+tailMatches("uid", "?1")+")", tail(digits)), &there)
	return there, db.fail(fmt.Sprintf("find a run %q", digits), err)
}

// selectAgent finds the row of a run agent, within a run or, by id alone, in
// the workspace.
func (db *DB) selectAgent(ctx context.Context, ws, runID, selector string) (int64, error) {
	var row int64
	err := db.r.QueryRowContext(ctx, `SELECT a.id FROM run_agents a JOIN runs r ON r.id = a.run_id
		WHERE a.uid = ?1 AND ?2 IN ('', r.uid)`, selector, runID).Scan(&row)
	if !errors.Is(err, sql.ErrNoRows) {
		return row, err
	}
	var c candidates
	err = c.gather(db.r.QueryContext(ctx, `SELECT a.id, a.uid, a.label FROM run_agents a JOIN runs r ON r.id = a.run_id
		WHERE CASE WHEN ?1 = '' THEN r.workspace = ?2 AND `+tailMatches("a.uid", "?4")+`
			ELSE r.uid = ?1 AND (a.label_key = ?3 OR `+tailMatches("a.uid", "?4")+`) END
		ORDER BY a.id DESC`, runID, ws, fold(selector), tail(selector)))
	if err != nil {
		return 0, err
	}
	return c.pick("run agent", selector)
}

// selectTrial finds the row of a trial by its id or the end of it.
func (db *DB) selectTrial(ctx context.Context, ws, selector string) (int64, error) {
	var row int64
	err := db.r.QueryRowContext(ctx, "SELECT id FROM trials WHERE uid = ?", selector).Scan(&row)
	if !errors.Is(err, sql.ErrNoRows) {
		return row, err
	}
	end := tail(selector)
	if end == "" {
		return 0, ErrNotFound
	}
	var c candidates
	err = c.gather(db.r.QueryContext(ctx, `SELECT t.id, t.uid, t.case_key FROM trials t
		JOIN run_agents a ON a.id = t.agent_id JOIN runs r ON r.id = a.run_id
		WHERE r.workspace = ?1 AND t.id IN (SELECT id FROM trials WHERE `+tailMatches("uid", "?2")+`) ORDER BY t.id DESC`, ws, end))
	if err != nil {
		return 0, err
	}
	return c.pick("trial", selector)
}
