package cmd

import (
	"context"
	"errors"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine"
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

// app is one run of the program: its process, its global flags and what it has
// opened so far.
type app struct {
	p              *Process
	asJSON         bool
	output         string
	query          string
	quiet          bool
	noColor        bool
	nonInteractive bool
	workspace      string
	reportOut      bool // a report goes to stdout, in place of what is printed there

	opened     resources
	settings   *config.Inputs             // once they have been read
	settingsOf string                     // the working directory they are of
	live       atomic.Pointer[tui.Screen] // shown now; lines of talk would tear it
	repo       *deploymentsFile           // once it was read
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

// strict makes a group without a verb, or with an unknown one, a usage error
// that names what there is.
func strict(c *cobra.Command) {
	for _, sub := range c.Commands() {
		strict(sub)
	}
	if !c.HasSubCommands() || c.RunE != nil {
		return
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		err := usage("%s has no command %q", c.CommandPath(), args[0])
		c.SuggestionsMinimumDistance = 2
		if near := c.SuggestionsFor(args[0]); len(near) > 0 {
			return err.hint("%s %s", c.CommandPath(), near[0])
		}
		return err.hint("%s --help", c.CommandPath())
	}
}

// group is a noun: a command that only holds verbs.
func group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short}
	c.AddCommand(verbs...)
	return c
}

// together is how close to the first signal another one is the same: who ends a
// process often signals its group, too, as timeout(1) does.
const together = time.Second

// interruptible ends the context at the first Ctrl-C and the process at the
// second.
func (a *app) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, stop := a.p.Signals()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-signals:
			cancel(engine.ErrInterrupted)
		case <-ctx.Done():
			return
		}
		for first := a.p.Now(); ; {
			select {
			case <-signals:
				if a.p.Now().Sub(first) >= together {
					if s := a.live.Load(); s != nil {
						s.Leave() // the terminal is the person's again
					}
					a.p.Exit(statusInterrupted)
					return
				}
			case <-a.finished():
				return
			}
		}
	}()
	return ctx, func() {
		a.finish()
		stop()
		cancel(nil)
		<-done
	}
}

// structured says whether errors are for machines. It must work even when the
// flags did not parse.
func (a *app) structured(args []string) bool {
	if a.asJSON || a.output == "json" {
		return true
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--json" || arg == "--json=true" || arg == "--output=json" || arg == "-o=json" || arg == "-ojson" {
			return true
		}
		if arg == "-o" || strings.HasPrefix(arg, "-o") || strings.HasPrefix(arg, "--output") {
			return false
		}
	}
	return a.usuallyJSON()
}

func (a *app) checkGlobals(c *cobra.Command) error {
	if err := a.settleOutput(c); err != nil {
		return err
	}
	if a.query == "" {
		return nil
	}
	if a.output != "json" {
		return usage("--query needs JSON output").hint("add --json")
	}
	_, err := parseQuery(a.query)
	return err
}

// interactive says whether a person can be asked.
func (a *app) interactive() bool {
	if a.nonInteractive || a.output != "table" || truthy(a.p.Getenv("AGENTCLASH_NONINTERACTIVE")) || truthy(a.p.Getenv("CI")) {
		return false
	}
	_, _, ok := a.p.Terminal()
	return ok && a.p.Getenv("TERM") != "dumb"
}

// truthy reads a switch in the environment.
func truthy(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// color says whether human output may be coloured.
func (a *app) color() bool {
	_, _, ok := a.p.Terminal()
	return ok && !a.noColor && a.p.Getenv("TERM") != "dumb" && !truthy(a.p.Getenv("CI"))
}
