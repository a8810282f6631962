package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store/bundle"
)

// Merging is a run that is put together from others.
type Merging struct {
	Plan plan.Plan
	// Parts hand over the runs that it is made of, in the order of the plan's
	// shards.
	Parts []func(bundle.Sink) error
	// Sum says how the run ended, from the attempts of its agents by lane, in the
	// plan's order and without texts; it also has the payload of run.started.
	Sum func(prior [][]scoring.Trial) (start event.RunStart, result engine.Result)
}

// Merge keeps the run in one transaction: an error undoes it all, that of a part
// is returned as it is. Each trial of the plan must come from one part and have
// ended.
func (db *DB) Merge(ctx context.Context, m Merging, owner Owner) error {
	doing := fmt.Sprintf("merge into run %q", m.Plan.RunID)
	return db.write(ctx, doing, func(tx *sql.Tx) error {
		w := &merger{importer: importer{ctx: ctx, db: db, tx: tx, ws: workspace(m.Plan.Workspace), owner: owner,
			packs: map[string]int64{}, kinds: map[kind]int64{}}, plan: m.Plan, places: map[trialPlace]int{}}
		for i, t := range m.Plan.Trials {
			w.places[trialPlace{t.Agent, t.CaseKey, t.Repetition}] = i
		}
		w.ended = make([][]scoring.Trial, len(m.Plan.Trials))
		for i, part := range m.Parts {
			if err := part(w); err != nil {
				return err
			}
			if err := w.flush(); err != nil {
				return fmt.Errorf("part %d: %w", i+1, err)
			}
		}
		return w.finish(m)
	})
}

// trialPlace is what a trial is in every run of the same plan.
type trialPlace struct {
	agent      int
	caseKey    string
	repetition int
}

// merger writes the rows of a run that is made of several.
type merger struct {
	importer
	plan   plan.Plan
	places map[trialPlace]int
	ended  [][]scoring.Trial // attempts, by place in the plan

	part          bundle.Run
	here          []int // places of the part's trials in the plan
	facts         int64 // of the run itself
	started, over time.Time
}

// Put takes what of a part becomes the run's. Rescorings and gates are of the
// part.
func (w *merger) Put(r bundle.Record) error {
	switch r := r.(type) {
	case bundle.Run:
		return w.putPart(r)
	case bundle.Pack:
		if r.Digest != w.plan.Pack.Digest || w.run != 0 {
			return nil
		}
		return w.create(r)
	case bundle.Blob:
		_, err := w.db.saveContent(w.ctx, w.tx, r.Content)
		return err
	case bundle.Trial:
		return w.putTrial(r)
	case bundle.Event:
		return w.putEvent(r)
	}
	return nil
}

func (w *merger) putPart(r bundle.Run) error {
	w.part, w.here = r, w.here[:0]
	if w.started.IsZero() || r.StartedAt.Before(w.started) {
		w.started = r.StartedAt
	}
	if r.FinishedAt.After(w.over) {
		w.over = r.FinishedAt
	}
	if len(r.Agents) != len(w.plan.Agents) || r.EventSchema != event.SchemaVersion {
		return fmt.Errorf("%w: run %s has other agents, or events of another agentclash", ErrConflict, r.Name)
	}
	return nil
}

// create writes the run, whose trials all come.
func (w *merger) create(p bundle.Pack) error {
	if err := w.putPack(p); err != nil {
		return err
	}
	document, err := json.Marshal(w.plan)
	if err != nil {
		return err
	}
	planID, err := w.db.saveContent(w.ctx, w.tx, document)
	if err != nil {
		return err
	}
	if w.run, err = w.db.insertRun(w.ctx, w.tx, newRun{w.plan, w.owner, planID}); err != nil {
		return err
	}
	if w.agents, err = insertAgents(w.ctx, w.tx, w.run, w.plan.Agents); err != nil {
		return err
	}
	if err := w.open(); err != nil {
		return err
	}
	w.position++ // the place of run.started
	w.facts = 1
	return insertTrials(w.ctx, w.tx, w.agents, w.plan.Trials)
}

// putTrial gives a trial of the plan what the part's came to.
func (w *merger) putTrial(t bundle.Trial) error {
	at, ok := w.places[trialPlace{t.Agent - 1, t.CaseKey, t.Repetition}]
	switch {
	case !ok || w.ended[at] != nil:
		return fmt.Errorf("%w: run %s has case %q, repetition %d, which is another shard's", ErrConflict, w.part.Name, t.CaseKey, t.Repetition)
	case !slices.Contains([]string{Passed, Failed, Invalid}, t.Status):
		return fmt.Errorf("%w: run %s is not finished: its trial of case %q, repetition %d, is %s", ErrConflict, w.part.Name, t.CaseKey, t.Repetition, t.Status)
	}
	w.here, w.ended[at] = append(w.here, at), []scoring.Trial{}
	row, own := w.base+int64(at)+1, w.plan.Trials[at]
	for i := range t.Attempts {
		if err := w.result(&t.Attempts[i], t.ID, own.ID, at); err != nil {
			return fmt.Errorf("run %s: trial %s: %w", w.part.Name, t.ID, err)
		}
	}
	var score any
	if t.Score != nil {
		score = *t.Score
	}
	err := kept(w.tx.ExecContext(w.ctx, "UPDATE trials SET status = ?, attempt = ?, code = ?, phase = ?, overall_score = ?, finished_at = ? WHERE id = ? AND uid = ?",
		t.Status, t.Attempt, t.Code, t.Phase, score, instant(t.FinishedAt), row, own.ID))
	if err != nil {
		return err
	}
	return w.putAttempts(row, t.Attempts)
}

// result makes an attempt's result that of the trial of the plan, which has an id
// of its own, and counts it.
func (w *merger) result(a *bundle.Attempt, was, is string, at int) error {
	raw := []byte(a.Result)
	if a.Blob != "" {
		var err error
		if raw, err = w.content(a.Blob); err != nil {
			return err
		}
	}
	if len(raw) == 0 {
		return nil // an attempt that never ended
	}
	key := []byte(`"trial_id":"`)
	raw = bytes.Replace(raw, slices.Concat(key, []byte(was)), slices.Concat(key, []byte(is)), 1)
	var end event.TrialEnd
	if err := json.Unmarshal(raw, &end); err != nil {
		return fmt.Errorf("read its result: %w", err)
	}
	if end.TrialID != is {
		return errors.New("its result is another trial's")
	}
	end.FinalOutput = nil // totals need scores, not texts
	if end.Scorecard != nil {
		end.Scorecard.Validators, end.Scorecard.Metrics = nil, nil
	}
	w.ended[at] = append(w.ended[at], end.Trial)
	a.Result = raw
	if a.Blob == "" {
		return nil
	}
	b, err := w.db.compress(raw)
	if err != nil {
		return err
	}
	_, err = saveBlob(w.ctx, w.tx, b)
	a.Result, a.Blob = nil, hexed(b.sum[:])
	return err
}

// content reads a blob that has come in this transaction.
func (w *merger) content(name string) ([]byte, error) {
	id, err := w.blob(name)
	if err != nil {
		return nil, err
	}
	var sum, data []byte
	var size int
	if err := w.tx.QueryRowContext(w.ctx, "SELECT sha256, size, data FROM blobs WHERE id = ?", id).Scan(&sum, &size, &data); err != nil {
		return nil, err
	}
	return w.db.unpack(sum, size, data)
}

// putEvent states a fact of a part again. Each part's own begin and end are not
// the run's.
func (w *merger) putEvent(e bundle.Event) error {
	if e.Trial > 0 {
		at := w.here[e.Trial-1]
		e.ID = ""
		return w.addEvent(e, attemptRow(w.base+int64(at)+1, e.Attempt), nil)
	}
	if e.Type == event.RunStarted || e.Type == event.RunFinished {
		return nil
	}
	var agent any
	if e.Agent > 0 {
		agent = w.agents[e.Agent-1]
	}
	w.facts++
	e.Sequence, e.ID = w.facts, ""
	return w.addEvent(e, nil, agent)
}

// finish writes the run's own facts and its end.
func (w *merger) finish(m Merging) error {
	if w.run == 0 {
		return fmt.Errorf("%w: no part has the pack", ErrNotFound)
	}
	prior := make([][]scoring.Trial, len(w.plan.Agents))
	for at, t := range w.plan.Trials {
		if w.ended[at] == nil {
			return fmt.Errorf("%w: no shard has case %q, repetition %d", ErrConflict, t.CaseKey, t.Repetition)
		}
		prior[t.Agent] = append(prior[t.Agent], w.ended[at]...)
	}
	start, result := m.Sum(prior)
	last := w.position
	first := before(w.run)
	w.position = first // its place was kept
	if err := w.fact(event.RunStarted, 1, w.started, start); err != nil {
		return err
	}
	w.position = max(last, first+1)
	if err := w.fact(event.RunFinished, w.facts+1, w.over, event.RunEnd{Status: result.Status, Reason: result.Reason}); err != nil {
		return err
	}
	for _, a := range result.Agents {
		if err := finishAgent(w.ctx, w.tx, w.run, a); err != nil {
			return fmt.Errorf("run agent %q: %w", a.Label, err)
		}
		_, err := w.tx.ExecContext(w.ctx, "UPDATE run_agents SET started_at = ? WHERE uid = ?", instant(w.started), a.RunAgentID)
		if err != nil {
			return err
		}
	}
	_, err := w.tx.ExecContext(w.ctx, "UPDATE runs SET status = ?, reason = ?, started_at = ?, finished_at = ? WHERE id = ?",
		result.Status, result.Reason, instant(w.started), instant(w.over), w.run)
	return err
}

// fact states a fact of the run itself.
func (w *merger) fact(typ event.Type, sequence int64, at time.Time, payload any) error {
	raw, err := event.Marshal(payload)
	if err != nil {
		return err
	}
	e := bundle.Event{Type: typ, Source: event.SourceRun, Sequence: sequence, At: at, Payload: raw}
	if len(raw) > inlineBytes {
		b, err := w.db.compress(raw)
		if err != nil {
			return err
		}
		if _, err := saveBlob(w.ctx, w.tx, b); err != nil {
			return err
		}
		e.Payload, e.Blob = nil, hexed(b.sum[:])
	}
	if err := w.addEvent(e, nil, nil); err != nil {
		return err
	}
	return w.rows.events.flush(w.ctx)
}
