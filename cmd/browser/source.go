package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/cmd/artifacts"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/site"
	"github.com/agentclash/agentclash/cmd/tui/browse"
	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

// stored is the store as the screen reads it. Whether a run goes on is looked at before
// what is read of it, so that what is read last of a run is how it ended.
type stored struct {
	a         *cli.App
	db        *store.DB
	workspace string
}

// Here says when the store was deleted, replaced, or changed where that cannot be
// followed: what is read through db is the one before.
func (s stored) Here() error {
	if !s.db.Stale() {
		return nil
	}
	if _, err := os.Stat(s.db.Path()); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the store was deleted, q leaves: %s", s.db.Path())
	}
	return fmt.Errorf("the store was replaced, q leaves, and agentclash ui shows the new one: %s", s.db.Path())
}

func words(list []widget.Word) []store.Word {
	out := make([]store.Word, len(list))
	for i, w := range list {
		out[i] = store.Word(w)
	}
	return out
}

// Runs lists runs, newest first.
func (s stored) Runs(ctx context.Context, match []widget.Word, limit, offset int) (browse.Listed[browse.Run], error) {
	var l browse.Listed[browse.Run]
	list, total, err := s.db.Runs(ctx, store.RunFilter{Workspace: s.workspace, Words: words(match), Limit: limit, Offset: offset})
	if err != nil {
		return l, err
	}
	l.Total = total
	for _, r := range list {
		row, err := s.listed(ctx, r)
		if err != nil {
			return l, err
		}
		l.Items, l.Live = append(l.Items, row), l.Live || r.Active()
	}
	return l, nil
}

// listed is a run with the counts and the cost of its agents.
func (s stored) listed(ctx context.Context, r store.Run) (browse.Run, error) {
	agents, err := s.db.RunAgents(ctx, r.ID)
	if err != nil {
		return browse.Run{}, err
	}
	row := browse.Run{}
	if row.Run, err = runs.ListedRun(ctx, s.db, r, agents); err != nil {
		return row, err
	}
	for _, a := range row.Agents {
		row.Passed, row.Failed, row.Invalid = row.Passed+a.PassedTrials, row.Failed+a.FailedTrials, row.Invalid+a.InvalidTrials
	}
	row.SpentUSD = new(0.0)
	for _, a := range agents {
		if a.Scorecard == nil || a.Scorecard.SpentUSD == nil { // a part is no sum
			row.SpentUSD = nil
			break
		}
		*row.SpentUSD += *a.Scorecard.SpentUSD
	}
	return row, nil
}

// Details is a run as run get shows it.
func (s stored) Details(ctx context.Context, runID string) (browse.Document, error) {
	r, err := s.db.Run(ctx, s.workspace, runID)
	if err != nil {
		return browse.Document{}, err
	}
	v, err := runs.ViewPlannedRun(ctx, s.a, s.db, r)
	return browse.Document{Live: r.Active(), Write: func(w io.Writer, o view.Options) error { return view.RunDetails(w, v, o) }}, err
}

// Scorecards are a run's agents as eval scorecard shows them.
func (s stored) Scorecards(ctx context.Context, runID string) (browse.Document, error) {
	r, err := s.db.Run(ctx, s.workspace, runID)
	if err != nil {
		return browse.Document{}, err
	}
	agents, err := s.db.RunAgents(ctx, runID)
	if err != nil {
		return browse.Document{}, err
	}
	var cards []view.ScorecardDocument
	for _, agent := range agents {
		card, err := s.scorecard(ctx, agent)
		if err != nil {
			return browse.Document{}, err
		}
		cards = append(cards, card)
	}
	return browse.Document{Live: r.Active(), Write: func(w io.Writer, o view.Options) error { return view.RunScorecards(w, cards, o) }}, nil
}

// scorecard is one agent's, without its trials: there may be thousands.
func (s stored) scorecard(ctx context.Context, agent store.RunAgent) (view.ScorecardDocument, error) {
	side, err := verdict.AgentSide(ctx, s.a, s.db, agent.ID, verdict.Headlines)
	if err != nil {
		return view.ScorecardDocument{}, err
	}
	if side.Card == nil { // nothing is scored yet
		return view.ScorecardDocument{Candidate: side.Participant(), Scorecard: view.Scorecard{Agent: view.Agent{
			Label: agent.Label, RunAgentID: agent.ID, Status: agent.Status, Reason: agent.Reason}}}, nil
	}
	d, err := verdict.ScorecardDocument(ctx, s.a, s.db, side, verdict.Reference{})
	d.Scorecard.Trials, d.Scorecard.Reason = nil, agent.Reason
	return d, err
}

// Trials lists trials of a run.
func (s stored) Trials(ctx context.Context, runID string, match []widget.Word, limit, offset int) (browse.Listed[browse.Trial], error) {
	var l browse.Listed[browse.Trial]
	r, err := s.db.Run(ctx, s.workspace, runID)
	if err != nil {
		return l, err
	}
	agents, err := s.db.RunAgents(ctx, runID)
	if err != nil {
		return l, err
	}
	labels := map[string]string{}
	for _, agent := range agents {
		labels[agent.ID] = agent.Label
	}
	list, total, err := s.db.RunTrials(ctx, store.RunTrialFilter{RunID: runID, Words: words(match), Limit: limit, Offset: offset})
	for _, t := range list {
		l.Items = append(l.Items, browse.Trial{ID: t.ID, CaseKey: t.CaseKey, Repetition: t.Repetition, Agent: labels[t.RunAgentID],
			Attempt: t.Attempt, Status: t.Status, Code: t.Code, Phase: t.Phase, Score: t.OverallScore})
	}
	l.Total, l.Live = total, r.Active()
	return l, err
}

// trial is a trial with whose it is, and whether it may go on: an invalid one may be
// tried again while its run goes on.
func (s stored) trial(ctx context.Context, trialID string) (t store.Trial, agent store.RunAgent, live bool, err error) {
	if t, err = s.db.Trial(ctx, s.workspace, trialID); err != nil {
		return t, agent, false, err
	}
	if agent, err = s.db.RunAgent(ctx, s.workspace, "", t.RunAgentID); err != nil {
		return t, agent, false, err
	}
	r, err := s.db.Run(ctx, s.workspace, agent.RunID)
	if err == nil {
		t, err = s.db.Trial(ctx, s.workspace, trialID) // as it is now that the run has been looked at
		live = r.Active() && t.Status != store.Passed && t.Status != store.Failed
	}
	return t, agent, live, err
}

// replay is the history of a trial's newest attempt.
func (s stored) replay(ctx context.Context, trialID string) (d view.ReplayDocument, live bool, err error) {
	t, agent, live, err := s.trial(ctx, trialID)
	if err != nil {
		return d, false, err
	}
	d, err = runs.ReadReplay(ctx, s.db, t, agent, 0)
	if errors.Is(err, store.ErrNotFound) && live { // an attempt that has just begun
		err = nil
	}
	return d, live, err
}

// Verdict is what scoring says of a trial.
func (s stored) Verdict(ctx context.Context, trialID string) (browse.Document, error) {
	d, live, err := s.replay(ctx, trialID)
	return browse.Document{Live: live, Write: func(w io.Writer, o view.Options) error { return view.TrialVerdict(w, d, o) }}, err
}

// Files is what a trial left behind.
func (s stored) Files(ctx context.Context, trialID string) (browse.Document, error) {
	d, live, err := s.replay(ctx, trialID)
	return browse.Document{Live: live, Write: func(w io.Writer, o view.Options) error { return view.LeftBehind(w, d, o) }}, err
}

const (
	// someFacts and factBytes are how much of a trial is read at once.
	someFacts = 500
	factBytes = 2 << 20
)

// errEnough ends a reading that has got what it wants.
var errEnough = errors.New("enough was read")

// Facts are some facts of a trial, all its attempts.
func (s stored) Facts(ctx context.Context, trialID string, after int64) (browse.Facts, error) {
	f := browse.Facts{Cursor: after}
	t, agent, live, err := s.trial(ctx, trialID)
	if err != nil {
		return f, err
	}
	f.Live = live
	size := 0
	err = s.db.Events(ctx, store.EventFilter{RunID: agent.RunID, TrialID: trialID, After: after}, func(cursor int64, e event.Event) error {
		f.Events, f.Cursor = append(f.Events, e), cursor
		if size += len(e.Payload); len(f.Events) >= someFacts || size >= factBytes {
			f.More = true
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) || errors.Is(err, store.ErrNotFound) && t.Attempt == 0 {
		err = nil
	}
	return f, err
}

// Compare holds each agent of a run against one of another, as compare runs does.
func (s stored) Compare(ctx context.Context, baselineRunID, runID string) (browse.Document, error) {
	r, err := s.db.Run(ctx, s.workspace, runID)
	if err != nil {
		return browse.Document{}, err
	}
	agents, err := s.db.RunAgents(ctx, runID)
	if err != nil {
		return browse.Document{}, err
	}
	against := baselineRunID
	if against == "" {
		against = store.Baseline
	}
	var compared view.Comparisons
	for _, agent := range agents {
		one, err := s.compared(ctx, r, agent, against)
		if err != nil {
			return browse.Document{}, err
		}
		compared = append(compared, one)
	}
	return browse.Document{Live: r.Active(), Write: compared.Write}, nil
}

func (s stored) compared(ctx context.Context, r store.Run, agent store.RunAgent, against string) (view.AgentComparison, error) {
	one := view.AgentComparison{Label: agent.Label}
	candidate, err := verdict.AgentSide(ctx, s.a, s.db, agent.ID, verdict.Headlines)
	if err != nil {
		return one, err
	}
	base, why, err := verdict.Against(ctx, s.a, s.db, r, against, candidate)
	switch {
	case err != nil:
		return one, hinted(err)
	case why != "":
		one.Notes = append(one.Notes, why)
		return one, nil
	case base.Agent.ID != "" && base.Agent.ID == candidate.Agent.ID:
		one.Notes = append(one.Notes, "it is the baseline")
		return one, nil
	}
	for _, side := range []verdict.Side{base.Side, candidate} {
		if what, next := side.Part(); what != "" {
			one.Notes = append(one.Notes, "run "+side.Run.Name+" "+what+": "+next)
		}
	}
	one.Document = new(verdict.Judge(s.a, base.Side, candidate, compare.DefaultPolicy()).Document(candidate, base.Mark))
	return one, nil
}

// hinted is an error with what to type, which the screen has no line of its own for.
func hinted(err error) error {
	var f *cli.Failure
	if errors.As(err, &f) && f.Next != "" {
		return fmt.Errorf("%w: %s", err, f.Next)
	}
	return err
}

// Artifacts lists artifacts, newest first.
func (s stored) Artifacts(ctx context.Context, runID string, limit, offset int) (browse.Listed[browse.Artifact], error) {
	list, total, err := s.db.Artifacts(ctx, store.ArtifactFilter{Workspace: s.workspace, RunID: runID, Limit: limit, Offset: offset})
	l := browse.Listed[browse.Artifact]{Total: total}
	for _, one := range list {
		v := selector.ViewArtifact(one)
		l.Items = append(l.Items, browse.Artifact{Artifact: v, File: artifacts.SafeName(v.Name, v.ID)})
	}
	return l, err
}

// maxPreview is how much of an artifact is shown, in bytes.
const maxPreview = 64 << 10

// head keeps the beginning of what is written, and takes no more.
type head struct{ kept []byte }

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), maxPreview-len(h.kept))]...)
	if len(h.kept) == maxPreview {
		return 0, errEnough
	}
	return len(p), nil
}

// Artifact is one with the beginning of its text.
func (s stored) Artifact(ctx context.Context, artifactID string) (browse.Document, error) {
	one, err := s.db.Artifact(ctx, s.workspace, artifactID)
	if err != nil {
		return browse.Document{}, err
	}
	var h head
	if err := s.db.ReadArtifact(ctx, one, &h); err != nil && !errors.Is(err, errEnough) {
		return browse.Document{}, err
	}
	v, shown := selector.ViewArtifact(one), plain(h.kept, one.Size)
	return browse.Document{Write: func(w io.Writer, o view.Options) error { return view.ArtifactText(w, v, shown, o) }}, nil
}

// plain is the beginning of a file as text, "" when it is none.
func plain(kept []byte, size int64) string {
	if int64(len(kept)) < size { // the last character may be cut
		for i := 0; i < utf8.UTFMax-1 && len(kept) > 0 && !utf8.Valid(kept); i++ {
			kept = kept[:len(kept)-1]
		}
	}
	text := string(kept)
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return ""
	}
	return text
}

// Save writes an artifact to a file that is not there yet, relative to the working
// directory; ~/ is the person's home.
func (s stored) Save(ctx context.Context, artifactID, file string) (string, error) {
	one, err := s.db.Artifact(ctx, s.workspace, artifactID)
	if err != nil {
		return "", err
	}
	if rest, below := strings.CutPrefix(file, "~/"); below {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		file = filepath.Join(home, rest)
	}
	path := s.a.Path(file)
	return path, artifacts.SaveNew(ctx, s.db, one, path)
}

// Report writes the report of a run, as the follow screen does.
func (s stored) Report(ctx context.Context, runID string) (string, error) {
	return site.LivePage(ctx, s.a, s.db, runID)
}
