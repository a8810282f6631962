package runs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/regressions"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/review"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

type triageOptions struct {
	agent         string
	cursor, limit int // cursor -1: around the first failure
}

func newReplayTriage(a *cli.App) *cobra.Command {
	var o triageOptions
	c := &cobra.Command{
		Use: "triage [RUN]", Short: "Say in one page what went wrong in a run, and where to look",
		Long: `Say in one page how a run came out (the newest by default): its agents and their
ranking, the first failures and how they group, the scorecard of one agent, and of
that agent's worst trial the steps around its first failure and what it left
behind; then what to type next. The agent is the one named, else that of the worst
failure. Everything comes from the store.`,
		Example: "  agentclash replay triage\n  agentclash replay triage latest --limit 20 --json",
		Args:    cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			if o.limit < 0 || o.limit > 50 || o.cursor < 0 {
				return cli.Usage("--limit must be 0 to 50 and --cursor must not be negative")
			}
			o.limit = cmp.Or(o.limit, 5)
			if !c.Flags().Changed("cursor") {
				o.cursor = -1
			}
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error {
				d, err := triage(c.Context(), a, db, r, o)
				if err != nil {
					return err
				}
				return a.Print(d, func(w io.Writer, v view.Options) error { return view.Triage(w, d, v) })
			})
		},
	}
	c.Flags().StringVar(&o.agent, "agent", "", "run agent, by label or id")
	c.Flags().IntVar(&o.cursor, "cursor", 0, "show steps after so many (default: around the failure)")
	c.Flags().IntVar(&o.limit, "limit", 0, "how many steps (0 is 5, at most 50)")
	return c
}

// triageFailures is how many failures, and clusters of them, a triage shows.
const triageFailures = 10

// triage looks at a run from its outside in.
func triage(ctx context.Context, a *cli.App, db *store.DB, r store.Run, o triageOptions) (d view.TriageDocument, err error) {
	if d.Run, err = ViewPlannedRun(ctx, a, db, r); err != nil {
		return d, err
	}
	d.Agents = d.Run.Agents
	if d.Ranking, err = ranking(ctx, a, db, r, ""); err != nil {
		return d, err
	}
	all := regressions.FailuresOptions{Limit: math.MaxInt}
	var agent store.RunAgent
	if o.agent != "" {
		if agent, err = verdict.PickAgent(ctx, a, db, r, o.agent); err != nil {
			return d, err
		}
		all.Filter.Agent = agent.ID
	}
	if d.Failures, err = regressions.FailuresOf(ctx, db, r, all, nil); err != nil {
		return d, err
	}
	worst, err := worstFailure(ctx, db, d.Failures.Items)
	if err != nil {
		return d, err
	}
	if o.agent == "" {
		if agent, err = chosenAgent(ctx, db, r, worst); err != nil {
			return d, err
		}
	}
	firstFailures(&d.Failures)
	if err := triageAgent(ctx, a, db, &d, agent); err != nil {
		return d, err
	}
	if worst != nil {
		if err := triageTrial(ctx, db, &d, agent, *worst, o); err != nil {
			return d, err
		}
	}
	if o.agent == "" && len(d.Agents) > 1 {
		d.MissingAgentGuidance = new(severalAgents(d.Agents, agent.Label))
	}
	d.NextCommands = triageCommands(d, r)
	return d, nil
}

// firstFailures keeps as much of the failures as a triage shows.
func firstFailures(f *view.FailuresDocument) {
	if len(f.Items) > triageFailures {
		f.Items = f.Items[:triageFailures]
		f.NextCursor = regressions.CursorOf(f.Items[triageFailures-1])
	}
	f.Clusters = f.Clusters[:min(len(f.Clusters), triageFailures)]
}

// severalAgents says whose trial is shown where none was named.
func severalAgents(agents []view.RunAgent, shown string) string {
	labels := make([]string, len(agents))
	for i, agent := range agents {
		labels[i] = agent.Label
	}
	return fmt.Sprintf("the run has %d agents (%s): this is %s; --agent NAME shows another", len(agents), strings.Join(labels, ", "), shown)
}

// worstFailure is the failure to look at first: the most severe, then the one with
// the lowest score, then one that was not judged at all; nil for none.
func worstFailure(ctx context.Context, db *store.DB, items []review.Item) (*review.Item, error) {
	severe := func(i review.Item) int { return slices.Index(review.Severities(), i.Severity) }
	most := -1
	for _, i := range items {
		most = max(most, severe(i))
	}
	if most < 0 {
		return nil, nil
	}
	items = slices.DeleteFunc(slices.Clone(items), func(i review.Item) bool { return severe(i) < most })
	scores := map[string]float64{}
	for id := range agentsOf(items) {
		err := db.Trials(ctx, store.TrialFilter{RunAgentID: id, NoResults: true}, func(t store.Trial) error {
			scores[t.ID] = 2 // more than a score can be
			if t.OverallScore != nil && t.Status == store.Failed {
				scores[t.ID] = *t.OverallScore
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return new(slices.MinFunc(items, func(x, y review.Item) int { return cmp.Compare(scores[x.TrialID], scores[y.TrialID]) })), nil
}

func agentsOf(items []review.Item) map[string]bool {
	ids := map[string]bool{}
	for _, i := range items {
		ids[i.RunAgentID] = true
	}
	return ids
}

// chosenAgent is the agent of the worst failure, else the first.
func chosenAgent(ctx context.Context, db *store.DB, r store.Run, worst *review.Item) (store.RunAgent, error) {
	if worst != nil {
		return db.RunAgent(ctx, r.Workspace, r.ID, worst.RunAgentID)
	}
	agents, err := db.RunAgents(ctx, r.ID)
	if err == nil && len(agents) == 0 {
		err = fmt.Errorf("run %s has no agents: %w", r.Name, store.ErrCorrupt)
	}
	if err != nil {
		return store.RunAgent{}, err
	}
	return agents[0], nil
}

// triageAgent adds the agent and its scorecard, without its trials.
func triageAgent(ctx context.Context, a *cli.App, db *store.DB, d *view.TriageDocument, agent store.RunAgent) error {
	for i := range d.Agents {
		if d.Agents[i].RunAgentID == agent.ID {
			d.SelectedAgent = &d.Agents[i]
		}
	}
	for _, item := range ranked(d.Ranking) {
		if item.RunAgentID == agent.ID && item.HasScorecard {
			d.Scorecard = &item.Agent
			return nil
		}
	}
	s, err := verdict.AgentSide(ctx, a, db, agent.ID, verdict.Headlines) // of a run that goes on
	if err != nil || s.Card == nil {
		return err
	}
	card, err := s.Scorecard()
	d.Scorecard = &card.Agent
	return err
}

func ranked(d view.RankingDocument) []view.RankingItem {
	if d.Ranking == nil {
		return nil
	}
	return d.Ranking.Items
}

// triageTrial adds the steps around the first failure of a trial, and what it left.
func triageTrial(ctx context.Context, db *store.DB, d *view.TriageDocument, agent store.RunAgent, worst review.Item, o triageOptions) error {
	t, err := db.Trial(ctx, d.Run.WorkspaceID, worst.TrialID)
	if err != nil {
		return err
	}
	replay, err := ReadReplay(ctx, db, t, agent, worst.Attempt)
	if err != nil {
		return err
	}
	d.Artifacts = view.Artifacts(replay)
	at := replay.FirstFailure(blamed(replay.Scorecard))
	from := o.cursor
	if at >= 0 {
		d.FirstFailure = new(replay.Steps[at].Number)
	}
	if from < 0 {
		if at < 0 {
			at = len(replay.Steps) - 1 // where it ended
		}
		from = max(0, min(at-o.limit/2, len(replay.Steps)-o.limit))
	}
	replay.Page(from, o.limit)
	d.Replay = &replay
	return nil
}

// blamed are the events that scores point at which did not pass.
func blamed(card *view.Trial) (sequences []int64) {
	if card == nil {
		return nil
	}
	for _, v := range card.Validators {
		if v.Verdict != scoring.VerdictPass && v.Source != nil {
			sequences = append(sequences, v.Source.Sequence)
		}
	}
	return sequences
}

// triageCommands are what to type next, as it is typed.
func triageCommands(d view.TriageDocument, r store.Run) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, "agentclash "+fmt.Sprintf(format, args...)) }
	run := cli.Short(r.ID)
	switch {
	case r.Active():
		say("run events %s --follow", run)
	case r.Status == store.Interrupted:
		say("run resume %s", run)
	}
	if d.Replay != nil {
		trial := cli.Short(d.Replay.TrialID)
		say("replay get %s", trial)
		if d.FirstFailure != nil {
			say("replay get %s --step %d", trial, *d.FirstFailure)
		}
		say("run transcript %s", trial)
	}
	if d.Failures.Total > 0 {
		say("run failures %s", run)
	}
	if d.Scorecard != nil {
		say("eval scorecard %s --agent %s", run, cli.Short(d.SelectedAgent.RunAgentID))
	}
	if r.Active() {
		return lines
	}
	if slices.ContainsFunc(d.Failures.Items, func(i review.Item) bool { return i.Outcome == store.Invalid }) {
		say("run retry %s --invalid", run)
	}
	if slices.ContainsFunc(d.Failures.Items, func(i review.Item) bool { return i.Outcome == store.Failed }) {
		say("run retry %s --failed", run)
	}
	return lines
}
