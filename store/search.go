package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Word is something that must be part of a field, or with Whole all that stands there;
// with Field "" it may be any of them. Case does not matter.
type Word struct {
	Field, Text string
	Whole       bool
}

// The SQL for "this field has the word" and for "it is the word", in which ?f is the
// word as names are compared, ?r as it was typed, ?l in lower case, and ?i the digits
// at the end of an id.
type field struct{ name, has, is string }

// compared is a field of one expression, and the form in which a word is compared with it.
func compared(name, of, form string) field {
	return field{name, "instr(" + of + ", " + form + ") > 0", of + " = " + form}
}

// agentOfRun is the one for a run of whose agents one has, or is, the word.
func agentOfRun() field {
	one := compared("agent", "a.label_key", "?f")
	const among = "EXISTS (SELECT 1 FROM run_agents a WHERE a.run_id = r.id AND "
	return field{one.name, among + one.has + ")", among + one.is + ")"}
}

var runFields = []field{
	compared("name", "r.name_key", "?f"),
	compared("pack", "p.slug", "?l"),
	compared("status", "r.status", "?l"),
	agentOfRun(),
	{"id", tailMatches("r.uid", "?i"), "r.uid = ?l"},
}

var trialFields = []field{
	{"case", "instr(lower(t.case_key || '#' || t.repetition), lower(?r)) > 0", "lower(?r) IN (lower(t.case_key), lower(t.case_key || '#' || t.repetition))"},
	compared("agent", "a.label_key", "?f"),
	compared("outcome", "t.status", "?l"),
	compared("code", "t.code", "?l"),
	compared("phase", "t.phase", "?l"),
	{"id", tailMatches("t.uid", "?i"), "t.uid = ?l"},
}

// searched is the condition that words make of the fields, and its arguments. A
// field that there is not matches nothing.
func searched(fields []field, words []Word) (where string, args []any) {
	for _, w := range words {
		var either []string
		for _, f := range fields {
			if w.Field == "" || w.Field == f.name {
				sql := f.has
				if w.Whole {
					sql = f.is
				}
				sql, values := w.bind(sql)
				either, args = append(either, sql), append(args, values...)
			}
		}
		if len(either) == 0 {
			either = []string{"0"}
		}
		where += " AND (" + strings.Join(either, " OR ") + ")"
	}
	return where, args
}

// bind puts plain parameters in the place of a field's, and says what they are.
func (w Word) bind(sql string) (string, []any) {
	var b strings.Builder
	var args []any
	for {
		before, rest, found := strings.Cut(sql, "?")
		b.WriteString(before)
		if !found {
			return b.String(), args
		}
		b.WriteByte('?')
		switch rest[0] {
		case 'f':
			args = append(args, fold(w.Text))
		case 'r':
			args = append(args, w.Text)
		case 'l':
			args = append(args, strings.ToLower(w.Text))
		default:
			args = append(args, tail(w.Text))
		}
		sql = rest[1:]
	}
}

// RunTrialFilter says which trials of a run are listed.
type RunTrialFilter struct {
	RunID  string
	Words  []Word // of case, agent, outcome, code, phase and id
	Limit  int
	Offset int
}

// RunTrials lists trials of a run in the order of execution, as [TrialFilter.NoResults]
// has them, and says how many there are without Limit and Offset.
func (db *DB) RunTrials(ctx context.Context, f RunTrialFilter) (trials []Trial, total int, err error) {
	doing := fmt.Sprintf("list trials of run %q", f.RunID)
	const tables = " FROM trials t JOIN run_agents a ON a.id = t.agent_id WHERE a.run_id = (SELECT id FROM runs WHERE uid = ?)"
	where, args := searched(trialFields, f.Words)
	args = append([]any{f.RunID}, args...)
	if err := db.r.QueryRowContext(ctx, "SELECT count(*)"+tables+where, args...).Scan(&total); err != nil {
		return nil, 0, db.fail(doing, err)
	}
	rows, err := db.r.QueryContext(ctx, `SELECT t.uid, a.uid, t.case_key, t.repetition, t.status, t.attempt, t.code, t.phase, t.overall_score, t.finished_at`+
		tables+where+" ORDER BY t.id LIMIT ? OFFSET ?", append(args, f.Limit, max(f.Offset, 0))...)
	err = each(rows, err, func(rows *sql.Rows) error {
		var t Trial
		var finished sql.NullInt64
		err := rows.Scan(&t.ID, &t.RunAgentID, &t.CaseKey, &t.Repetition, &t.Status, &t.Attempt, &t.Code, &t.Phase, &t.OverallScore, &finished)
		t.FinishedAt = clock(finished)
		trials = append(trials, t)
		return err
	})
	if err != nil {
		return nil, 0, db.fail(doing, err)
	}
	return trials, total, nil
}
