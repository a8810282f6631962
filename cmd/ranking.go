package cmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

func newRunRanking(a *app) *cobra.Command {
	var sortBy string
	c := &cobra.Command{
		Use: "ranking [RUN]", Short: "Rank the agents of a run",
		Long: `Rank the agents of a run: by correctness, then reliability, or by what --sort-by
names. An agent that passed comes before one that did not.`,
		Example: "  agentclash run ranking latest\n  agentclash run ranking latest --sort-by composite",
		Args:    upTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			return a.withRun(ctx, args, func(db *store.DB, r store.Run) error { return a.printRanking(ctx, db, r, sortBy) })
		},
	}
	c.Flags().StringVar(&sortBy, "sort-by", "", "composite, overall_score, or a dimension's key")
	return c
}

func (a *app) printRanking(ctx context.Context, db *store.DB, r store.Run, sortBy string) error {
	d, err := a.ranking(ctx, db, r, sortBy)
	if err != nil {
		return err
	}
	return a.print(d, func(w io.Writer, o view.Options) error {
		if d.Ranking == nil {
			a.say("! %s", d.Message)
			return nil
		}
		return view.RankingTable(w, *d.Ranking, o)
	})
}

// ranking ranks the agents of a run that is over.
func (a *app) ranking(ctx context.Context, db *store.DB, r store.Run, sortBy string) (view.RankingDocument, error) {
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
		doc, err := a.rankedAgent(ctx, db, agent, plan.Prices.AsOf)
		if err != nil {
			return d, err
		}
		docs = append(docs, doc)
	}
	standings, err := scoring.Rank(contenders, sortBy)
	if err != nil {
		return d, usage("--sort-by: %w", err)
	}
	d.Ranking = new(view.NewRanking(r.ID, sortBy, standings, scoring.Winner(contenders), docs))
	return d, nil
}

// rankedAgent is an agent with what made trials of it invalid.
func (a *app) rankedAgent(ctx context.Context, db *store.DB, agent store.RunAgent, pricesAsOf string) (view.Agent, error) {
	lane, err := a.viewAgent(ctx, db, agent)
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
