package cmd

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// gcPercent trades a few percent of processor time for a third of the memory:
// an evaluation shares its machine with what it evaluates.
const gcPercent = 60

// Main runs one command line and returns its exit status.
func Main(p *Process, args []string) int {
	if status, ran := inBox(args); ran {
		return status
	}
	if p.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	a := &app{p: p}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	ctx, stop := a.interruptible(context.Background())
	err := root.ExecuteContext(ctx)
	stop()
	if cerr := a.close(); cerr != nil {
		err = errors.Join(cerr, err)
		var said exit
		if errors.As(err, &said) {
			a.say("! close the store: %v", cerr)
		}
	}
	if err != nil {
		return report(p.Err, err, a.structured(args))
	}
	return statusOK
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentclash",
		Short: "Is this agent still good enough to ship, and how do you know?",
		Long: `agentclash runs AI agents on your own tasks, in fresh sandboxes on your machine,
scores what they did, and keeps every fact in one SQLite file under your home
directory. It needs no account and no service; nothing leaves your machine but
the calls to the models you name.`,
		Example: `  agentclash challenge-pack init my-pack.yaml
  agentclash eval start --pack my-pack.yaml --model openai/gpt-4.1-mini --follow
  agentclash baseline set latest
  agentclash compare latest --gate`,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.checkGlobals(c) },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.asJSON, "json", false, "print one JSON document (NDJSON for streams)")
	f.StringVarP(&a.output, "output", "o", "table", "output format: table, json or yaml")
	f.StringVar(&a.query, "query", "", "jq expression applied to JSON output")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no success lines")
	f.BoolVar(&a.noColor, "no-color", false, "no colour, as NO_COLOR=1")
	f.BoolVar(&a.nonInteractive, "non-interactive", false, "never ask")
	f.StringVarP(&a.workspace, "workspace", "w", "", "workspace to work in (default: AGENTCLASH_WORKSPACE, .agentclash.yaml, the user's setting, \"default\")")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%w", err).hint("%s --help", c.CommandPath())
	})
	root.AddCommand(
		newEval(a), newRun(a), newReplay(a), newBaseline(a), newCompare(a), newReleaseGate(a),
		newChallengePack(a), newDataset(a), newDeployment(a), newBuild(a), newArtifact(a), newSecret(a), newInfra(a), newCache(a), newRegressionSuite(a), newCI(a),
		newServe(a), newDoctor(a), newQuickstart(a), newSandbox(a), newVersion(a), newCompletion(a), newSchema(a),
		newExplain(a), newStore(a), newConfig(a), newInit(a), newLink(a), newWorkspace(a), newHosted("auth"), newHosted("org"), newHosted("quota"),
	)
	choose(root)
	strict(root)
	a.completing(root)
	a.fitHelp(root)
	return root
}

// Tree is every command there is, for those who describe them.
func Tree(p *Process) *cobra.Command { return newRoot(&app{p: p}) }
