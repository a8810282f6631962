package evaluation

import (
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/regressions"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/site"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/spf13/cobra"
)

// NewRun is agentclash run: everything that is done with one stored run. Its verbs come
// from the rooms that decide about them.
func NewRun(a *cli.App) *cobra.Command {
	return cli.Group("run", "Look at runs, resume, export and merge them",
		newRunCreate(a), runs.NewRunList(a), runs.NewRunGet(a), runs.NewRunAgents(a), runs.NewRunRanking(a), runs.NewRunEvents(a), runs.NewRunCancel(a), newRunResume(a),
		newRunRetry(a), runs.NewRunExplain(a), runs.NewRunExport(a), runs.NewRunImport(a), newRunMerge(a), runs.NewRunPrune(a),
		runs.NewRunTurn(a), regressions.NewRunFailures(a), regressions.NewRunPromote(a),
		verdict.NewRunScorecard(a), runs.NewRunReplay(a), runs.NewRunTranscript(a), verdict.NewRunCompare(a), site.NewRunReport(a))
}

func newRunCreate(a *cli.App) *cobra.Command {
	var o StartOptions
	var version string
	var ids []string
	c := &cobra.Command{
		Use: "create", Short: "Start a run from ids: eval start for scripts",
		Long: `Start a run from the ids of a stored pack version and of deployments. It is
eval start with ids in place of names, and has its flags and exit statuses.`,
		Example: "  agentclash run create --challenge-pack-version support-triage@1 --deployments prod --json",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.pack == "" {
				o.pack = version
			}
			o.Deployments = append(o.Deployments, ids...)
			return RunEvalStart(c.Context(), a, o)
		},
	}
	o.AddFlags(c.Flags())
	c.Flags().StringVar(&version, "challenge-pack-version", "", "stored pack version, by id or slug@number")
	c.Flags().StringSliceVar(&ids, "deployments", nil, "deployments, by id or name; repeatable")
	return c
}
