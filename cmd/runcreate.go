package cmd

import "github.com/spf13/cobra"

func newRun(a *app) *cobra.Command {
	return group("run", "Look at runs, resume, export and merge them",
		newRunCreate(a), newRunList(a), newRunGet(a), newRunAgents(a), newRunRanking(a), newRunEvents(a), newRunCancel(a), newRunResume(a),
		newRunRetry(a), newRunExplain(a), newRunExport(a), newRunImport(a), newRunMerge(a), newRunPrune(a),
		newRunTurn(a), newRunFailures(a), newRunPromote(a),
		newRunScorecard(a), newRunReplay(a), newRunTranscript(a), newRunCompare(a), newRunReport(a))
}

func newRunCreate(a *app) *cobra.Command {
	var o startOptions
	var version string
	var ids []string
	c := &cobra.Command{
		Use: "create", Short: "Start a run from ids: eval start for scripts",
		Long: `Start a run from the ids of a stored pack version and of deployments. It is
eval start with ids in place of names, and has its flags and exit statuses.`,
		Example: "  agentclash run create --challenge-pack-version support-triage@1 --deployments prod --json",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.pack == "" {
				o.pack = version
			}
			o.deployments = append(o.deployments, ids...)
			return runEvalStart(c.Context(), a, o)
		},
	}
	o.addFlags(c.Flags())
	c.Flags().StringVar(&version, "challenge-pack-version", "", "stored pack version, by id or slug@number")
	c.Flags().StringSliceVar(&ids, "deployments", nil, "deployments, by id or name; repeatable")
	return c
}
