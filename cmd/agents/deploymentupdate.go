package agents

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newDeploymentUpdate(a *cli.App) *cobra.Command {
	var s DeploymentSpec
	var file string
	var reminders int
	var shell bool
	c := &cobra.Command{
		Use: "update DEPLOYMENT [flags] [-- PROGRAM ARG ...]", Short: "Change what is given of a stored deployment",
		Long: `Change what is given of a stored deployment, and leave the rest as it is. The
flags are those of create; an empty value takes a field away. A file that
--from-file names changes the fields that it has.

Runs keep what they were planned with, those that are resumed or retried too.
A deployment of the repository is changed in its file.`,
		Example: `  agentclash deployment update prod --model openai/gpt-4.1
  agentclash deployment update prod --max-iterations 20 --system-file prompt.md
  agentclash deployment update prod --name production --json`,
		RunE: func(c *cobra.Command, args []string) error {
			dash := c.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			if err := cli.ExactArgs("DEPLOYMENT")(c, args[:dash]); err != nil {
				return err
			}
			if c.Flags().NFlag() == 0 && len(args) == 1 {
				return cli.Usage("deployment update: nothing was given to change").Hint("agentclash deployment update --help")
			}
			return runDeploymentUpdate(c.Context(), a, deploymentChange{
				selector: args[0], flags: c.LocalFlags(), file: file, program: args[dash:], reminders: reminders, shell: shell,
			})
		},
	}
	f := c.Flags()
	s.addFlags(f)
	f.BoolVar(&shell, "allow-shell", false, "let this agent run programs where the pack does not say that it may")
	f.IntVar(&reminders, "text-reminders", 1, "how often an agent that answers in text alone is told that only submit counts (0 to 5)")
	f.StringVar(&file, "from-file", "", "YAML or JSON file with the fields to change")
	return c
}

// deploymentChange is what is to be changed of which deployment.
type deploymentChange struct {
	selector  string
	flags     *pflag.FlagSet
	file      string
	program   []string
	reminders int
	shell     bool
}

func runDeploymentUpdate(ctx context.Context, a *cli.App, o deploymentChange) error {
	was, db, err := changeable(ctx, a, "update", o.selector)
	if err != nil {
		return err
	}
	s := DeploymentSpec{Deployment: spec.OfDeployment(was.Deployment), was: was.Deployment}
	if o.file != "" {
		was := s.Deployment
		s.System, s.OutputSchema = "", nil // a file that says where they come from says it alone
		if err := ReadSpec(a, o.file, &s); err != nil {
			return err
		}
		if s.System == "" && s.SystemFile == "" && s.Build == "" {
			s.System = was.System
		}
		if len(s.OutputSchema) == 0 && s.Build == "" {
			s.OutputSchema = was.OutputSchema
		}
	}
	if err := o.apply(&s); err != nil {
		return err
	}
	d, err := checkedSpec(ctx, a, s)
	if err != nil {
		return err
	}
	kept, err := db.UpdateDeployment(ctx, was, d)
	if errors.Is(err, store.ErrConflict) {
		return cli.Classify(err).Hint("agentclash deployment list")
	}
	if err != nil {
		return err
	}
	doc := map[string]string{"deployment_id": kept.ID, "name": kept.Name, "model": kept.Target(), "action": "updated"}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ deployment %s runs %s; runs there are keep what they had", kept.Name, kept.Target())
		return nil
	})
}

// changeable is a deployment of the store that is to be changed.
func changeable(ctx context.Context, a *cli.App, verb, selector string) (store.Deployment, *store.DB, error) {
	was, err := storedDeployment(ctx, a, strings.TrimSpace(selector))
	f, ferr := repoDeployments(a)
	if ferr != nil {
		a.Say("! %v", ferr) // the store's can be changed all the same
	} else if _, ok := f.Find(selector); ok && err != nil {
		return was, nil, cli.Usage("deployment %s is in %s: change it there; deployment %s is for those of the store", selector, a.Shown(f.Path), verb)
	}
	if err != nil {
		return was, nil, err
	}
	db, err := a.Store(ctx)
	return was, db, err
}

// apply changes what the flags say. What was said by system prompt gives way to a
// file with another, and the other way round.
func (o deploymentChange) apply(s *DeploymentSpec) error {
	into := pflag.NewFlagSet("", pflag.ContinueOnError)
	before := *s
	s.addFlags(into) // which sets every field to its flag's default
	*s = before
	var errs []error
	o.flags.VisitAll(func(f *pflag.Flag) {
		to := into.Lookup(f.Name)
		if to == nil || !f.Changed {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			errs = append(errs, to.Value.(pflag.SliceValue).Replace(list.GetSlice()))
			return
		}
		errs = append(errs, to.Value.Set(f.Value.String()))
	})
	if o.flags.Changed("system-file") && !o.flags.Changed("system") {
		s.System = ""
	}
	if o.flags.Changed("build") && s.Build != "" && !o.flags.Changed("system") && !o.flags.Changed("system-file") {
		s.System, s.OutputSchema = "", nil
	}
	if o.flags.Changed("env") {
		s.Env = nil
	}
	if o.flags.Changed("header") {
		s.Headers = nil
	}
	if len(o.program) > 0 {
		s.Command, s.argv = nil, o.program
	}
	if o.flags.Changed("text-reminders") {
		s.Limits.TextReminders = &o.reminders
	}
	if o.flags.Changed("allow-shell") {
		s.Sandbox.AllowShell = &o.shell
	}
	return errors.Join(append(errs, s.readPairs())...)
}
