package runs

import (
	"context"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewRunRanking is agentclash run ranking: the agents of a run, the best first.
func NewRunRanking(a *cli.App) *cobra.Command {
	var sortBy string
	c := &cobra.Command{
		Use: "ranking [RUN]", Short: "Rank the agents of a run",
		Long: `Rank the agents of a run: by correctness, then reliability, or by what --sort-by
names. An agent that passed comes before one that did not.`,
		Example: "  agentclash run ranking latest\n  agentclash run ranking latest --sort-by composite",
		Args:    cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			return selector.WithRun(ctx, a, args, func(db *store.DB, r store.Run) error { return printRanking(ctx, a, db, r, sortBy) })
		},
	}
	c.Flags().StringVar(&sortBy, "sort-by", "", "composite, overall_score, or a dimension's key")
	return c
}

func printRanking(ctx context.Context, a *cli.App, db *store.DB, r store.Run, sortBy string) error {
	d, err := ranking(ctx, a, db, r, sortBy)
	if err != nil {
		return err
	}
	return a.Print(d, func(w io.Writer, o view.Options) error {
		if d.Ranking == nil {
			a.Say("! %s", d.Message)
			return nil
		}
		return view.RankingTable(w, *d.Ranking, o)
	})
}

// ranking ranks the agents of a run that is over.
func ranking(ctx context.Context, a *cli.App, db *store.DB, r store.Run, sortBy string) (view.RankingDocument, error) {
	d := view.RankingDocument{State: "ready"}
	if r.Active() {
		d.State, d.Message = "pending", "the run is "+r.Status
		return d, nil
	}
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return d, err
	}
	plan, err := db.Plan(ctx, r.ID)
	if err != nil {
		return d, err
	}
	var docs []view.Agent
	contenders := make([]scoring.Contender, len(agents))
	for i, agent := range agents {
		contenders[i] = scoring.Contender{RunAgentID: agent.ID, Lane: agent.Lane, Scorecard: agent.Scorecard}
		doc, err := rankedAgent(ctx, a, db, agent, plan.Prices.AsOf)
		if err != nil {
			return d, err
		}
		docs = append(docs, doc)
	}
	standings, err := scoring.Rank(contenders, sortBy)
	if err != nil {
		return d, cli.Usage("--sort-by: %w", err)
	}
	d.Ranking = new(view.NewRanking(r.ID, sortBy, standings, scoring.Winner(contenders), docs))
	return d, nil
}

// rankedAgent is an agent with what made trials of it invalid.
func rankedAgent(ctx context.Context, a *cli.App, db *store.DB, agent store.RunAgent, pricesAsOf string) (view.Agent, error) {
	lane, err := viewAgent(ctx, a, db, agent)
	if err != nil {
		return view.Agent{}, err
	}
	doc := view.Agent{Label: agent.Label, RunAgentID: agent.ID, Status: agent.Status}
	if agent.Scorecard != nil {
		doc = view.NewAgent(view.AgentRef{Label: agent.Label, RunAgentID: agent.ID, Status: agent.Status, PricesAsOf: pricesAsOf}, *agent.Scorecard, nil)
	}
	doc.InvalidCauses = lane.InvalidCauses
	return doc, nil
}
