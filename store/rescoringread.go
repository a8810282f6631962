package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/scoring"
)

// rescoringSchema is the first schema with rescorings. An older store that
// cannot be written is read as one that has none.
const rescoringSchema = 2

// Rescoring is a finished rescoring of a run.
type Rescoring struct {
	ID         string
	RunID      string
	PackID     string // that it was scored by
	PackRef    string // as Pack.Ref
	SpecDigest string
	Program    string // the version of agentclash that scored
	CreatedAt  time.Time
	Trials     int // scored again
	Flipped    int // of these
	Kept       int // not scored again, and still counted as what they were
	LeftOut    int // not scored again, and not counted
}

const rescoringColumns = `SELECT s.uid, r.uid, p.uid, p.slug, p.version, p.digest, p.published_at, s.spec_digest, s.program, s.created_at,
	s.trials, s.flipped, s.kept, s.left_out FROM rescorings s JOIN runs r ON r.id = s.run_id JOIN packs p ON p.id = s.pack_id
	WHERE s.finished_at IS NOT NULL `

func scanRescoring(scan func(...any) error) (Rescoring, error) {
	var r Rescoring
	var p Pack
	var created, published sql.NullInt64
	err := scan(&r.ID, &r.RunID, &r.PackID, &p.Slug, &p.Version, &p.Digest, &published, &r.SpecDigest, &r.Program, &created,
		&r.Trials, &r.Flipped, &r.Kept, &r.LeftOut)
	p.PublishedAt = clock(published)
	r.PackRef, r.CreatedAt = p.Ref(), clock(created)
	return r, err
}

func (db *DB) rescoringAt(ctx context.Context, row int64) (Rescoring, error) {
	r, err := scanRescoring(db.r.QueryRowContext(ctx, rescoringColumns+"AND s.id = ?", row).Scan)
	return r, db.fail("read rescoring", err)
}

// Rescorings lists a run's finished rescorings, the newest first.
func (db *DB) Rescorings(ctx context.Context, runID string) ([]Rescoring, error) {
	if db.schema < rescoringSchema {
		return nil, nil
	}
	var list []Rescoring
	rows, err := db.r.QueryContext(ctx, rescoringColumns+"AND r.uid = ? ORDER BY s.id DESC", runID)
	err = each(rows, err, func(rows *sql.Rows) error {
		r, err := scanRescoring(rows.Scan)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, db.fail(fmt.Sprintf("list rescorings of run %q", runID), err)
	}
	return list, nil
}

// Rescoring finds a finished rescoring of a run: by its id, by six or more
// digits of its id's end, or as Latest.
func (db *DB) Rescoring(ctx context.Context, runID, selector string) (Rescoring, error) {
	doing := fmt.Sprintf("find rescoring %q of run %q", selector, shortID(runID))
	if db.schema < rescoringSchema {
		return Rescoring{}, db.fail(doing, ErrNotFound)
	}
	var c candidates
	const of = "SELECT s.id, s.uid, '' FROM rescorings s JOIN runs r ON r.id = s.run_id WHERE s.finished_at IS NOT NULL AND r.uid = ?1 "
	var err error
	if fold(selector) == Latest {
		err = c.gather(db.r.QueryContext(ctx, of+"ORDER BY s.id DESC LIMIT 1", runID))
	} else {
		err = c.gather(db.r.QueryContext(ctx, of+"AND (s.uid = ?2 OR "+tailMatches("s.uid", "?3")+") ORDER BY s.id DESC",
			runID, selector, tail(selector)))
	}
	if err != nil {
		return Rescoring{}, db.fail(doing, err)
	}
	row, err := c.pick("rescoring", selector)
	if err != nil {
		return Rescoring{}, db.fail(doing, err)
	}
	return db.rescoringAt(ctx, row)
}

// RescoredAgent is what a rescoring says of a run agent.
func (db *DB) RescoredAgent(ctx context.Context, rescoringID, runAgentID string) (scoring.AgentScorecard, error) {
	doing := fmt.Sprintf("read rescoring %q of run agent %q", rescoringID, runAgentID)
	var card scoring.AgentScorecard
	var document string
	err := one(db.r.QueryRowContext(ctx, `SELECT g.scorecard FROM rescoring_agents g JOIN rescorings s ON s.id = g.rescoring_id
		JOIN run_agents a ON a.id = g.agent_id WHERE s.uid = ? AND a.uid = ?`, rescoringID, runAgentID), &document)
	if err != nil {
		return card, db.fail(doing, err)
	}
	if err := json.Unmarshal([]byte(document), &card); err != nil {
		return card, fmt.Errorf("%s: %w: %w", doing, ErrCorrupt, err)
	}
	return card, nil
}

// RescoredTrials reads the trials of a run agent as a rescoring has them, in the
// order of execution, and hands them to yield, whose error ends the reading and
// is returned as it is. Their status is that of the attempt.
func (db *DB) RescoredTrials(ctx context.Context, rescoringID, runAgentID string, yield func(Trial) error) error {
	doing := fmt.Sprintf("read rescoring %q of run agent %q", rescoringID, runAgentID)
	var rescoring, agent, after int64
	err := one(db.r.QueryRowContext(ctx, "SELECT id FROM rescorings WHERE uid = ?", rescoringID), &rescoring)
	if err == nil {
		err = one(db.r.QueryRowContext(ctx, "SELECT id FROM run_agents WHERE uid = ?", runAgentID), &agent)
	}
	if err != nil {
		return db.fail(doing, err)
	}
	// what stands in the place of the trial's row is that of the rescored one
	const query = `SELECT s.id, t.uid, t.agent_id, t.case_key, t.repetition, k.status, k.id - t.id * 1024, '', '', NULL,
		k.started_at, k.finished_at,
		iif(s.result_id IS NULL, coalesce(s.result, k.result), NULL),
		iif(s.result IS NULL, coalesce(s.result_id, k.result_id), NULL)
		FROM rescored_trials s JOIN attempts k ON k.id = s.attempt_id JOIN trials t ON t.id = k.id / 1024
		WHERE s.rescoring_id = ?1 AND t.agent_id = ?2 AND s.id > ?3 ORDER BY s.id LIMIT ?4`
	for {
		page, err := db.trialPage(ctx, query, rescoring, agent, after, trialPage)
		if err != nil {
			return db.fail(doing, err)
		}
		for _, t := range page {
			if err := db.fillResult(ctx, &t); err != nil {
				return db.fail(doing, err)
			}
			t.RunAgentID = runAgentID
			if err := yield(t.Trial); err != nil {
				return err
			}
		}
		if len(page) < trialPage {
			return nil
		}
		after = page[len(page)-1].row
	}
}
