package cmd

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/artifacts"
	"github.com/agentclash/agentclash/cmd/browser"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/contract"
	"github.com/agentclash/agentclash/cmd/datasets"
	"github.com/agentclash/agentclash/cmd/evaluation"
	"github.com/agentclash/agentclash/cmd/infra"
	"github.com/agentclash/agentclash/cmd/packs"
	"github.com/agentclash/agentclash/cmd/pipeline"
	"github.com/agentclash/agentclash/cmd/regressions"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/setup"
	"github.com/agentclash/agentclash/cmd/site"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/spf13/cobra"
)

// gcPercent trades a few percent of processor time for a third of the memory:
// an evaluation shares its machine with what it evaluates.
const gcPercent = 60

// Main runs one command line and returns its exit status.
func Main(p *cli.Process, args []string) int {
	if status, ran := sandboxes.InBox(args); ran {
		return status
	}
	if p.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	a := &cli.App{Process: p}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	ctx, stop := a.Interruptible(context.Background())
	err := root.ExecuteContext(ctx)
	stop()
	if cerr := a.Close(); cerr != nil {
		err = errors.Join(cerr, err)
		var said cli.Exit
		if errors.As(err, &said) {
			a.Say("! close the store: %v", cerr)
		}
	}
	if err != nil {
		return cli.Report(p.Err, a.OfHome(err), a.Structured(args))
	}
	return cli.StatusOK
}

func newRoot(a *cli.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentclash",
		Short: "Is this agent still good enough to ship, and how do you know?",
		Long: `agentclash runs AI agents on your own tasks, in fresh sandboxes on your machine,
scores what they did, and keeps every fact in one SQLite file. Nothing leaves
your machine but the calls to the models you name.`,
		Example: `  agentclash challenge-pack init my-pack.yaml
  agentclash eval start --pack my-pack.yaml --model openai/gpt-4.1-mini --follow
  agentclash baseline set latest
  agentclash compare latest --gate`,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return a.CheckGlobals(c) },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	f := root.PersistentFlags()
	f.BoolVar(&a.AsJSON, "json", false, "print one JSON document (NDJSON for streams)")
	f.StringVarP(&a.Output, "output", "o", "table", "output format: table, json or yaml")
	f.StringVar(&a.Query, "query", "", "jq expression applied to JSON output")
	f.BoolVarP(&a.Quiet, "quiet", "q", false, "no progress and no success lines")
	f.BoolVar(&a.NoColor, "no-color", false, "no colour, as NO_COLOR=1")
	f.BoolVar(&a.NonInteractive, "non-interactive", false, "never ask")
	f.StringVarP(&a.Workspace, "workspace", "w", "", "workspace to work in (default: AGENTCLASH_WORKSPACE, .agentclash.yaml, the user's setting, \"default\")")
	root.SetFlagErrorFunc(cli.FlagError)
	for _, g := range groups(a) {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title + ":"})
		for _, c := range g.commands {
			c.GroupID = g.id
		}
		root.AddCommand(g.commands...)
	}
	root.SetHelpCommandGroupID(helpGroup)
	root.AddCommand(setup.NewHosted("auth"), setup.NewHosted("org"), setup.NewHosted("quota"))
	contract.Choose(root)
	cli.Strict(root)
	contract.VersionFlag(root)
	contract.Completing(a, root)
	contract.FitHelp(a, root)
	contract.HelpOf(root)
	return root
}

// group is a heading of the help, and the commands that stand under it.
type group struct {
	id, title string
	commands  []*cobra.Command
}

// helpGroup is the group of what tells about the program itself.
const helpGroup = "help"

// groups are all commands that people are told of, in the order of the help, of
// docs/reference and of llms.txt: what a newcomer needs stands first. A new command goes
// into one of them.
func groups(a *cli.App) []group {
	return []group{
		{"start", "Start here", []*cobra.Command{setup.NewQuickstart(a), setup.NewDoctor(a), setup.NewInit(a)}},
		{"evaluate", "Evaluate", []*cobra.Command{evaluation.NewEval(a), evaluation.NewRun(a), pipeline.NewCI(a)}},
		{"read", "Read results", []*cobra.Command{runs.NewReplay(a), browser.NewUI(a), site.NewServe(a)}},
		{"decide", "Decide", []*cobra.Command{verdict.NewBaseline(a), verdict.NewCompare(a), verdict.NewReleaseGate(a), regressions.NewRegressionSuite(a)}},
		{"packs", "Packs and data", []*cobra.Command{packs.NewChallengePack(a), datasets.NewDataset(a), artifacts.NewArtifact(a)}},
		{"agents", "Agents and what they run on", []*cobra.Command{
			agents.NewDeployment(a), agents.NewBuild(a), infra.NewInfra(a), agents.NewSecret(a), sandboxes.NewSandbox(a), evaluation.NewCache(a)}},
		{"settings", "Store and settings", []*cobra.Command{
			runs.NewStore(a), setup.NewWorkspace(a), setup.NewLink(a), setup.NewConfig(a)}},
		{helpGroup, "Help", []*cobra.Command{contract.NewExplain(a), contract.NewSchema(a), contract.NewCompletion(a), contract.NewVersion(a)}},
	}
}

// Tree is every command there is, for those who describe them.
func Tree(p *cli.Process) *cobra.Command { return newRoot(&cli.App{Process: p}) }
