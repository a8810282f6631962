package sessions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring/session"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewEvalSession is agentclash eval session: what repetitions, or runs of one name, came
// to together.
func NewEvalSession(a *cli.App) *cobra.Command {
	return cli.Group("session", "Read what repetitions and groups of runs came to", newSessionList(a), newSessionGet(a), newSessionFollow(a))
}

func newSessionList(a *cli.App) *cobra.Command {
	var page cli.ListOptions
	c := &cobra.Command{
		Use: "list", Short: "List the sessions, that of the newest run first", Args: cli.NoArgs,
		Long: `List the sessions: runs of several repetitions, and the groups that runs were
started into with --session. OVERALL is of the only agent or of the winner.`,
		Example: "  agentclash eval session list\n  agentclash eval session list --json --query '.items[].id'",
		RunE:    func(c *cobra.Command, _ []string) error { return runSessionList(c.Context(), a, page) },
	}
	page.AddPageFlags(c.Flags())
	return c
}

func runSessionList(ctx context.Context, a *cli.App, o cli.ListOptions) error {
	if err := cmp.Or(o.Check(), a.CheckWorkspace(ctx)); err != nil {
		return err
	}
	db, ok, err := sessions(ctx, a)
	if err != nil {
		return err
	}
	var items []view.SessionItem
	total := 0
	if ok {
		workspace, err := a.WorkspaceName()
		if err != nil {
			return err
		}
		var list []store.Session
		if list, total, err = db.Sessions(ctx, workspace, o.Rows(), o.Offset); err != nil {
			return err
		}
		for _, s := range list {
			item, err := sessionItem(ctx, a, db, s)
			if err != nil {
				return err
			}
			items = append(items, item)
		}
	}
	empty := "there are no sessions yet: agentclash eval start with --repetitions 2 or more, or with --session NAME, makes one"
	if ok && !db.KnowsSessions() {
		empty = "the store was made by an agentclash without sessions, and cannot be written to be brought up to date"
	}
	return cli.PrintPage(a, cli.PageFrom(items, total, o), empty, view.SessionList)
}

// sessions opens the store for reading. One that was made before there were
// sessions is brought up to date, where it can be written.
func sessions(ctx context.Context, a *cli.App) (db *store.DB, ok bool, err error) {
	db, ok, err = a.Reading(ctx)
	if err != nil || !ok || db.KnowsSessions() {
		return db, ok, err
	}
	if writable, err := a.Store(ctx); err == nil {
		return writable, true, nil
	}
	return a.Reading(ctx)
}

// sessionItem is a session with its winner, worked out from counts alone.
func sessionItem(ctx context.Context, a *cli.App, db *store.DB, s store.Session) (view.SessionItem, error) {
	item := view.SessionItem{ID: s.ID, Name: s.Name, Pack: s.Slug, Runs: s.Runs, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt}
	runs, err := db.SessionRuns(ctx, s)
	if err != nil {
		return item, err
	}
	item.Status = sessionStatus(runs)
	lanes, err := lanes(ctx, a, db, runs)
	if err != nil {
		return item, err
	}
	only := lanes[0].agent.Label
	if slices.ContainsFunc(lanes, func(l lane) bool { return !strings.EqualFold(l.agent.Label, only) }) {
		found, err := sessionWinner(ctx, a, db, runs, lanes)
		if err != nil {
			return item, err
		}
		item.WinnerLabel, item.LeaderLabel = found.WinnerLabel, found.LeaderLabel
		only = found.WinnerLabel
	}
	total, n := 0.0, 0
	for _, l := range lanes {
		card := l.agent.Scorecard
		if card == nil || card.OverallScore == nil || !strings.EqualFold(l.agent.Label, only) {
			continue
		}
		valid := card.PassedTrials + card.FailedTrials
		total, n = total+*card.OverallScore*float64(valid), n+valid
	}
	if n > 0 {
		item.Overall = new(total / float64(n))
	}
	return item, nil
}

func sessionWinner(ctx context.Context, a *cli.App, db *store.DB, runs []store.Run, lanes []lane) (session.Comparison, error) {
	b, err := sessionBuilder(ctx, a, db, runs)
	if err != nil {
		return session.Comparison{}, err
	}
	var planned plan.Plan
	for _, l := range lanes { // run by run
		if planned.RunID != l.run.ID {
			if planned, err = db.Plan(ctx, l.run.ID); err != nil {
				return session.Comparison{}, err
			}
		}
		joined := b.Join(l.described(planned))
		err := db.CaseCounts(ctx, l.agent.ID, func(c store.CaseCount) { joined.Count(c.CaseKey, c.Passed, c.Failed, c.Invalid) })
		if err != nil {
			return session.Comparison{}, err
		}
	}
	return b.Compare(session.Options{}), nil
}

// lane is a run agent of a session, with its run.
type lane struct {
	run   store.Run
	agent store.RunAgent
}

func lanes(ctx context.Context, a *cli.App, db *store.DB, runs []store.Run) ([]lane, error) {
	var list []lane
	for _, r := range runs {
		agents, err := db.RunAgents(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		for _, agent := range agents {
			list = append(list, lane{r, agent})
		}
	}
	return list, nil
}

// described is a lane as package session takes it in.
func (l lane) described(planned plan.Plan) session.Lane {
	d, _ := json.Marshal(l.agent.Deployment) // it was read from JSON
	out := session.Lane{Label: l.agent.Label, Index: l.agent.Lane, Model: l.agent.Deployment.Target(), Deployment: string(d),
		Planned: l.run.Trials / max(l.run.Agents, 1), Repetitions: repetitionsOf(l.run, planned)}
	for _, c := range planned.Cases {
		out.Cases = append(out.Cases, session.Case{Key: c.Key, Digest: c.Digest})
	}
	return out
}

// repetitionsOf is how often the cases of a run were to be tried. One that its results
// ended has no more rounds than it has trials for.
func repetitionsOf(r store.Run, planned plan.Plan) int {
	if planned.Until == nil {
		return planned.Options.Repetitions
	}
	cases := max(len(planned.Cases), 1)
	return min((r.Trials+cases-1)/cases, planned.Options.Repetitions)
}

func sessionBuilder(ctx context.Context, a *cli.App, db *store.DB, runs []store.Run) (*session.Builder, error) {
	p, err := selector.PackOf(ctx, db, runs[0].PackID) // all have the same evaluation spec
	if err != nil {
		return nil, err
	}
	return session.NewBuilder(p.Version.EvaluationSpec), nil
}

// sessionStatus is running while a run is, else the worst of how runs have ended.
func sessionStatus(runs []store.Run) string {
	if slices.ContainsFunc(runs, store.Run.Active) {
		return store.Running
	}
	for _, status := range []string{store.Interrupted, store.Failed, store.Cancelled} {
		if slices.ContainsFunc(runs, func(r store.Run) bool { return r.Status == status }) {
			return status
		}
	}
	return store.Completed
}

func newSessionGet(a *cli.App) *cobra.Command {
	var weight weightFlag
	c := &cobra.Command{
		Use: "get SESSION", Short: "Show what a session came to",
		Long: `Show what a session came to, over all repetitions of its runs: how its scores
spread, pass@k and pass^k for every k that was observed, how stable each case is,
and, of several agents, which one is better than the others, where the evidence
tells. SESSION is its id or name, latest, or a run that is in it. Trials that have
not ended are not counted.

Exit status: 0, whatever the scores; 66 there is no such session.`,
		Example: "  agentclash eval session get latest\n  agentclash eval session get nightly --json --query .aggregate_result.comparison",
		Args:    cli.ExactArgs("SESSION"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := weight.check(c); err != nil {
				return err
			}
			db, s, err := findSession(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			_, err = printSession(c.Context(), a, db, s, weight.value)
			return err
		},
	}
	weight.add(c)
	return c
}

// weightFlag is --reliability-weight.
type weightFlag struct {
	given float64
	value *float64
}

func (w *weightFlag) add(c *cobra.Command) {
	c.Flags().Float64Var(&w.given, "reliability-weight", 0, "what passing always (pass^k) counts against passing once (pass@k) in the order of agents, 0 to 1")
}

func (w *weightFlag) check(c *cobra.Command) error {
	if !(w.given >= 0 && w.given <= 1) {
		return cli.Usage("--reliability-weight must be 0 to 1, not %v", w.given)
	}
	if c.Flags().Changed("reliability-weight") {
		w.value = &w.given
	}
	return nil
}

// findSession finds a session.
func findSession(ctx context.Context, a *cli.App, selector string) (*store.DB, store.Session, error) {
	db, ok, err := sessions(ctx, a)
	if err != nil {
		return nil, store.Session{}, err
	}
	if !ok {
		_, err := a.Stored(ctx) // says that there is nothing
		return nil, store.Session{}, err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return nil, store.Session{}, err
	}
	s, err := db.Session(ctx, workspace, selector)
	if errors.Is(err, store.ErrNotFound) {
		err = (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: err}).Hint("agentclash eval session list")
	}
	return db, s, err
}

// printSession works a session out and writes it.
func printSession(ctx context.Context, a *cli.App, db *store.DB, s store.Session, weight *float64) (status string, err error) {
	runs, err := db.SessionRuns(ctx, s)
	if err != nil {
		return "", err
	}
	d, err := sessionDocument(ctx, a, db, s, runs, weight)
	if err != nil {
		return "", err
	}
	return d.Session.Status, a.Print(d, func(w io.Writer, o view.Options) error { return view.Session(w, d, o) })
}

func sessionDocument(ctx context.Context, a *cli.App, db *store.DB, s store.Session, runs []store.Run, weight *float64) (view.SessionDocument, error) {
	d := view.SessionDocument{
		Session: view.EvalSession{ID: s.ID, Name: s.Name, Workspace: s.Workspace, Status: sessionStatus(runs), Single: s.Single,
			Pack: s.Slug, SpecDigest: s.SpecDigest, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
			Aggregation: view.SessionAggregation{SchemaVersion: session.SchemaVersion, Method: "mean", ReportVariance: true, ConfidenceInterval: 0.95},
			Threshold:   view.SessionThreshold{Success: "trial_outcome", MinPassRate: 1}},
		Summary: view.SessionSummary{RunCounts: map[string]int{"total": len(runs)}},
	}
	b, err := sessionBuilder(ctx, a, db, runs)
	if err != nil {
		return d, err
	}
	trials, scored, drawn := 0, 0, map[string]string{}
	for _, r := range runs {
		planned, err := db.Plan(ctx, r.ID)
		if err != nil {
			return d, err
		}
		ended, err := joinRun(ctx, a, db, b, r, planned)
		if err != nil {
			return d, err
		}
		if trials += ended; ended > 0 {
			scored++
		}
		o := planned.Options
		d.Runs = append(d.Runs, view.SessionRun{RunID: r.ID, Name: r.Name, Status: r.Status, PackVersion: r.Pack.Version, Repetitions: repetitionsOf(r, planned),
			Seed: o.Seed, Agents: r.Agents, Trials: r.Trials, CreatedAt: r.CreatedAt, FinishedAt: selector.When(r.FinishedAt)})
		d.Summary.RunCounts[r.Status]++
		d.Session.Threshold.MinPassRate = min(d.Session.Threshold.MinPassRate, o.MinPassRate)
		d.Warnings = append(d.Warnings, runWarnings(r, planned, drawn)...)
	}
	d.Session.Repetitions = b.Repetitions()
	if trials > 0 {
		d.Result = new(b.Result(session.Options{ReliabilityWeight: weight, Runs: len(runs), Scored: scored}))
	}
	d.Warnings = append(d.Warnings, b.Warnings()...)
	return d, nil
}

// joinRun takes a run's trials in, one at a time, and says how many are valid.
func joinRun(ctx context.Context, a *cli.App, db *store.DB, b *session.Builder, r store.Run, planned plan.Plan) (valid int, err error) {
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return 0, err
	}
	for _, agent := range agents {
		joined := b.Join(lane{r, agent}.described(planned))
		ended := store.TrialFilter{RunAgentID: agent.ID, Statuses: []string{store.Passed, store.Failed, store.Invalid}}
		err := db.Trials(ctx, ended, func(t store.Trial) error {
			trial, err := t.Headline()
			if err != nil {
				return err
			}
			joined.Add(trial)
			if t.Status != store.Invalid {
				valid++
			}
			return nil
		})
		if err != nil {
			return valid, err
		}
	}
	return valid, nil
}

// runWarnings says what of a run weakens what the session says. Drawn are the names
// of the runs before, by their scripts and seeds.
func runWarnings(r store.Run, planned plan.Plan, drawn map[string]string) (list []string) {
	if r.Status != store.Completed {
		list = append(list, fmt.Sprintf("run %s is %s: what has ended of it counts", r.Name, r.Status))
	}
	if planned.Until != nil {
		list = append(list, fmt.Sprintf("how long run %s went on depended on its results (--until-decided): intervals and p-values are for a fixed number of trials, and can say too much", r.Name))
	}
	for _, agent := range planned.Agents {
		if agent.Deployment.Provider != provider.Scripted {
			continue
		}
		key := fmt.Sprintf("%q %d", agent.Deployment.Model, planned.Options.Seed)
		if other, ok := drawn[key]; ok {
			list = append(list, fmt.Sprintf("runs %s and %s have the same seed: what %s draws in them is the same, and no new evidence", other, r.Name, agent.Label))
			continue
		}
		drawn[key] = r.Name
	}
	return list
}
