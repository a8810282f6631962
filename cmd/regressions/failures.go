package regressions

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring/review"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// FailuresOptions say which failures of a run are wanted, and how many.
type FailuresOptions struct {
	Filter review.Filter
	Limit  int
	cursor string
}

// NewRunFailures is agentclash run failures: what failed in a run, in classes.
func NewRunFailures(a *cli.App) *cobra.Command {
	var o FailuresOptions
	c := &cobra.Command{
		Use: "failures [RUN]", Short: "Review failed and invalid trials, equal ones together",
		Long: `Review every failed or invalid trial of a run: what kind of failure it is, how bad,
how well it is evidenced, what to do next. Equal failures are clusters, whose keys
are the same in every run; a cluster's trend compares with up to 20 earlier runs of
the same pack and the same agents. Everything comes from the store.

  --class     ` + strings.Join(review.Classes(), ", ") + `
  --severity  ` + strings.Join(review.Severities(), ", ") + `
  --state     ` + strings.Join(review.States(), ", "),
		Example: `  agentclash run failures latest
  agentclash run failures latest --severity blocking --json
  agentclash run failures nightly --cluster frc_3f9a0c`,
		Args: cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			cursor, err := o.check()
			if err != nil {
				return err
			}
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error { return showFailures(c.Context(), a, db, r, o, cursor) })
		},
	}
	f := c.Flags()
	f.StringVar(&o.Filter.Agent, "agent", "", "run agent, by label or id")
	f.StringVar(&o.Filter.Class, "class", "", "class of failure")
	f.StringVar(&o.Filter.Severity, "severity", "", "severity")
	f.StringVar(&o.Filter.State, "state", "", "state")
	f.StringVar(&o.Filter.Tier, "evidence-tier", "", "tier of evidence")
	f.StringVar(&o.Filter.Case, "case", "", "case")
	f.StringVar(&o.Filter.Cluster, "cluster", "", "cluster key, or how it begins")
	f.IntVar(&o.Limit, "limit", 0, "how many (0 is 50, at most 200)")
	f.StringVar(&o.cursor, "cursor", "", "go on after a page, with the cursor that it ended with")
	return c
}

// check refuses what is no word of the vocabularies.
func (o *FailuresOptions) check() (after *review.Item, err error) {
	for _, row := range []struct {
		flag, value string
		words       []string
	}{
		{"--class", o.Filter.Class, review.Classes()}, {"--severity", o.Filter.Severity, review.Severities()},
		{"--state", o.Filter.State, review.States()}, {"--evidence-tier", o.Filter.Tier, review.Tiers()},
	} {
		if row.value != "" && !slices.Contains(row.words, row.value) {
			return nil, cli.Usage("%s %q must be one of %s%s", row.flag, row.value, strings.Join(row.words, ", "), pack.DidYouMean(row.value, row.words))
		}
	}
	if o.Limit < 0 || o.Limit > 200 {
		return nil, cli.Usage("--limit must be 0 to 200")
	}
	o.Limit = cmp.Or(o.Limit, 50)
	if o.cursor == "" {
		return nil, nil
	}
	doc, err := base64.RawURLEncoding.DecodeString(o.cursor)
	var at failureCursor
	if err == nil {
		err = json.Unmarshal(doc, &at)
	}
	if err != nil {
		return nil, cli.Usage("--cursor %q is not one that a page ended with", o.cursor)
	}
	return &review.Item{Agent: at.Agent, ChallengeKey: at.Challenge, CaseKey: at.Case, Repetition: at.Repetition, TrialID: at.Trial}, nil
}

// failureCursor is the place of an item in the order of a list.
type failureCursor struct {
	Agent      string `json:"a"`
	Challenge  string `json:"ch"`
	Case       string `json:"c"`
	Repetition int    `json:"r"`
	Trial      string `json:"t"`
}

// CursorOf is where a list of failures goes on after an item.
func CursorOf(i review.Item) string {
	doc, err := json.Marshal(failureCursor{i.Agent, i.ChallengeKey, i.CaseKey, i.Repetition, i.TrialID})
	if err != nil {
		return "" // text and a number always encode
	}
	return base64.RawURLEncoding.EncodeToString(doc)
}

func showFailures(ctx context.Context, a *cli.App, db *store.DB, r store.Run, o FailuresOptions, after *review.Item) error {
	d, err := FailuresOf(ctx, db, r, o, after)
	if err != nil {
		return err
	}
	return a.Print(d, func(w io.Writer, v view.Options) error {
		switch {
		case d.Total == 0 && r.Active():
			a.Say("no failure so far: the run is %s", r.Status)
		case d.Total == 0:
			a.Say("✓ run %s has no such failure", r.Name)
		}
		return view.Failures(w, d, v)
	})
}

// FailuresOf is a page of the failures of a run, and their clusters.
func FailuresOf(ctx context.Context, db *store.DB, r store.Run, o FailuresOptions, after *review.Item) (view.FailuresDocument, error) {
	d := view.FailuresDocument{RunID: r.ID, RunName: r.Name, RunStatus: r.Status}
	reviewer := FailureReviewer{Db: db, Packs: map[string]*pack.Pack{}}
	all, err := reviewer.Review(ctx, r, nil)
	if err != nil {
		return d, err
	}
	items := slices.DeleteFunc(all, func(i review.Item) bool { return !o.Filter.Keeps(i) })
	earlier, err := reviewer.earlier(ctx, r)
	if err != nil {
		return d, err
	}
	d.Total = len(items)
	clusters := review.Clusters(items, earlier)
	d.ClusterTotal = len(clusters)
	d.Clusters = clusters[:min(len(clusters), o.Limit)]
	if after != nil {
		items = slices.DeleteFunc(items, func(i review.Item) bool { return review.Compare(i, *after) <= 0 })
	}
	if len(items) > o.Limit {
		items = items[:o.Limit]
		d.NextCursor = CursorOf(items[o.Limit-1])
	}
	d.Items = items
	return d, nil
}

// FailureReviewer reviews runs of one store. Packs that several runs share are
// read once.
type FailureReviewer struct {
	Db    *store.DB
	Packs map[string]*pack.Pack
	// keysOnly leaves out the facts that no cluster key depends on.
	keysOnly bool
}

// reviewed are the kinds of events that a review looks at.
var reviewed = []string{"system.run.*", "*.failed", string(event.SandboxLost), string(event.BudgetReach), string(event.OutputFinal)}

// Review reviews the failed and invalid trials of a run, of the agents with the
// labels; nil: of all. Items are in order.
func (f FailureReviewer) Review(ctx context.Context, r store.Run, labels []string) ([]review.Item, error) {
	p, err := f.pack(ctx, r.PackID)
	if err != nil {
		return nil, err
	}
	challenges := map[string]string{}
	if set, err := p.InputSet(r.InputSet); err == nil {
		for _, c := range set.Cases {
			challenges[c.Key()] = c.ChallengeKey
		}
	}
	agents, err := f.Db.RunAgents(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	var items []review.Item
	passed := map[[2]string]bool{}
	for _, agent := range agents {
		if labels != nil && !slices.Contains(labels, agent.Label) {
			continue
		}
		lane, err := f.lane(ctx, agent, challenges)
		if err != nil {
			return nil, err
		}
		items = append(items, lane...)
		err = f.Db.Trials(ctx, store.TrialFilter{RunAgentID: agent.ID, Statuses: []string{store.Passed}, NoResults: true}, func(t store.Trial) error {
			passed[[2]string{agent.ID, t.CaseKey}] = true
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	review.MarkFlaky(items, func(agentID, caseKey string) bool { return passed[[2]string{agentID, caseKey}] })
	slices.SortFunc(items, review.Compare)
	return items, nil
}

func (f FailureReviewer) pack(ctx context.Context, id string) (*pack.Pack, error) {
	if p, ok := f.Packs[id]; ok {
		return p, nil
	}
	p, err := selector.PackOf(ctx, f.Db, id)
	f.Packs[id] = p
	return p, err
}

// lane reviews the trials of one run agent.
func (f FailureReviewer) lane(ctx context.Context, agent store.RunAgent, challenges map[string]string) ([]review.Item, error) {
	var items []review.Item
	facts, err := f.facts(ctx, agent)
	if err != nil {
		return nil, err
	}
	filter := store.TrialFilter{RunAgentID: agent.ID, Statuses: []string{store.Failed, store.Invalid}}
	err = f.Db.Trials(ctx, filter, func(t store.Trial) error {
		if len(t.Result) == 0 {
			return nil // nothing is known of how it ended
		}
		end, err := t.End()
		if err != nil {
			return err
		}
		known, err := facts(t)
		d := agent.Deployment
		items = append(items, review.New(review.Trial{
			RunID: agent.RunID, RunAgentID: agent.ID, Agent: agent.Label, ChallengeKey: challenges[t.CaseKey], Result: end.Trial,
			Hosted: d.IsCommand() || d.IsHTTP(), BlackBox: d.IsHTTP(), Facts: known,
		}))
		return err
	})
	return items, err
}

const (
	fewTrials = 100 // whose events are read one trial at a time
	maxFacts  = 256 // of one attempt; the first are enough to look at
)

// attempt names an attempt of a trial.
type attempt struct {
	trial  string
	number int
}

// facts gives the facts of a run agent's trials: of few one by one, of many at once.
func (f FailureReviewer) facts(ctx context.Context, agent store.RunAgent) (func(store.Trial) ([]review.Fact, error), error) {
	hosted := agent.Deployment.IsCommand() || agent.Deployment.IsHTTP()
	if f.keysOnly && !hosted {
		return func(store.Trial) ([]review.Fact, error) { return nil, nil }, nil
	}
	filter := store.EventFilter{RunID: agent.RunID, RunAgentID: agent.ID, Types: reviewed}
	if agent.Deployment.IsCommand() {
		filter.Types = append(slices.Clone(reviewed), string(event.CallDone), string(event.ToolDone))
	}
	known := map[attempt][]review.Fact{}
	keep := func(_ int64, e event.Event) error {
		if at := (attempt{e.TrialID, e.Attempt}); len(known[at]) < maxFacts {
			known[at] = append(known[at], review.Fact{Sequence: e.Sequence, Type: string(e.Type), Kind: event.StepKind(e.Type)})
		}
		return nil
	}
	tally, err := f.Db.Tally(ctx, agent.ID)
	if err != nil {
		return nil, err
	}
	if tally[store.Failed]+tally[store.Invalid] > fewTrials {
		err := f.Db.Events(ctx, filter, keep)
		return func(t store.Trial) ([]review.Fact, error) { return known[attempt{t.ID, t.Attempt}], nil }, err
	}
	return func(t store.Trial) ([]review.Fact, error) {
		clear(known)
		filter.TrialID, filter.Attempt = t.ID, t.Attempt
		err := f.Db.Events(ctx, filter, keep)
		return known[attempt{t.ID, t.Attempt}], err
	}, nil
}

// earlier are the newest finished runs before a run that had its pack and one of
// its agents, newest first.
func (f FailureReviewer) earlier(ctx context.Context, r store.Run) ([]review.Earlier, error) {
	agents, err := f.Db.RunAgents(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	var labels []string
	for _, agent := range agents {
		labels = append(labels, agent.Label)
	}
	const page = 100
	var list []review.Earlier
	for offset := 0; ; offset += page {
		runs, total, err := f.Db.Runs(ctx, store.RunFilter{Workspace: r.Workspace, PackSlug: r.Pack.Slug, Limit: page, Offset: offset})
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if run.ID == r.ID || !run.CreatedAt.Before(r.CreatedAt) || run.Active() {
				continue
			}
			had, err := f.had(ctx, run, labels)
			if err != nil {
				return nil, err
			}
			if had != nil {
				list = append(list, *had)
			}
			if len(list) == review.MaxHistory {
				return list, nil
			}
		}
		if offset+page >= total {
			return list, nil
		}
	}
}

// had counts the failures of an earlier run by cluster; nil when it had none of
// the agents.
func (f FailureReviewer) had(ctx context.Context, r store.Run, labels []string) (*review.Earlier, error) {
	agents, err := f.Db.RunAgents(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(agents, func(a store.RunAgent) bool { return slices.Contains(labels, a.Label) }) {
		return nil, nil
	}
	f.keysOnly = true
	items, err := f.Review(ctx, r, labels)
	e := &review.Earlier{RunID: r.ID, At: r.CreatedAt, Counts: map[string]int{}}
	for _, i := range items {
		e.Counts[i.ClusterKey]++
	}
	return e, err
}
