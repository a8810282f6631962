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
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return err
	}
	d := view.RankingDocument{State: "ready"}
	if r.Active() {
		d.State, d.Message = "pending", "the run is "+r.Status
		return a.print(d, func(io.Writer, view.Options) error {
			a.say("! %s", d.Message)
			return nil
		})
	}
	byID := map[string]store.RunAgent{}
	contenders := make([]scoring.Contender, len(agents))
	for i, agent := range agents {
		byID[agent.ID] = agent
		contenders[i] = scoring.Contender{RunAgentID: agent.ID, Lane: agent.Lane, Scorecard: agent.Scorecard}
	}
	standings, err := scoring.Rank(contenders, sortBy)
	if err != nil {
		return usage("--sort-by: %w", err)
	}
	ranking := view.Ranking{RunID: r.ID, Sort: view.RankingSort{Field: sortBy, Direction: "desc"}}
	if sortBy == "" {
		ranking.Sort.Field = "correctness_then_reliability"
	}
	for _, s := range standings {
		agent := byID[s.RunAgentID]
		lane, err := a.viewAgent(ctx, db, agent)
		if err != nil {
			return err
		}
		item := view.RankingItem{Rank: s.Rank, SortValue: s.Value, DeltaFromTop: s.DeltaFromTop}
		if s.Scorecard != nil {
			item.Agent = view.NewAgent(view.AgentRef{Label: agent.Label, RunAgentID: agent.ID, Status: agent.Status}, *s.Scorecard, nil)
		} else {
			item.Agent = view.Agent{Label: agent.Label, RunAgentID: agent.ID, Status: agent.Status}
		}
		item.InvalidCauses = lane.InvalidCauses
		ranking.Items = append(ranking.Items, item)
	}
	if win := scoring.Winner(contenders); win.RunAgentID != "" {
		ranking.Winner = &view.RankingWinner{RunAgentID: win.RunAgentID, Label: byID[win.RunAgentID].Label, ReasonCode: win.ReasonCode}
	}
	d.Ranking = &ranking
	return a.print(d, func(w io.Writer, o view.Options) error { return view.RankingTable(w, ranking, o) })
}
