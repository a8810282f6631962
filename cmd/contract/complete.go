package contract

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/manual"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completionTime is how long a shell waits for the store; what takes longer completes
// nothing.
const completionTime = 300 * time.Millisecond

// offered is how many runs, sessions or artifacts are offered, the newest first.
const offered = 50

// nouns says what an argument or a flag names, in a workspace. Both go by their names,
// which mean the same in every command, or in every command of one family.
type nouns func(ctx context.Context, a *cli.App, ws string) ([]cobra.Completion, error)

// inStore are nouns that the store knows. Without one there are none.
func inStore(known func(ctx context.Context, db *store.DB, ws string) ([]cobra.Completion, error)) nouns {
	return func(ctx context.Context, a *cli.App, ws string) ([]cobra.Completion, error) {
		db, ok, err := a.Reading(ctx)
		if err != nil || !ok {
			return nil, err
		}
		return known(ctx, db, ws)
	}
}

// Completing gives every argument and flag that names something its completion. What is
// a file is left to the shell.
func Completing(a *cli.App, root *cobra.Command) {
	args := map[string]nouns{
		"RUN": inStore(runsOffered), "RUN|TRIAL": inStore(runsOffered), "DEPLOYMENT": deploymentsOffered, "ACCOUNT": inStore(accountsOffered),
		"SESSION": inStore(sessionsOffered), "PACK": inStore(packsOffered), "run CASE": inStore(casesOffered), "ARTIFACT": inStore(artifactsOffered),
		"BUILD": inStore(resourcesOffered(store.Build)), "ALIAS": inStore(resourcesOffered(store.ModelAlias)),
		"PROFILE": inStore(resourcesOffered(store.RuntimeProfile)), "POLICY": inStore(resourcesOffered(store.SpendPolicy)),
		"WORKSPACE": workspacesOffered, "workspace NAME": workspacesOffered, "secret KEY": secretsOffered, "config KEY": settingsOffered, "CODE": codesOffered,
		"SLUG": catalogOffered,
	}
	flags := map[string]nouns{
		"deployment": deploymentsOffered, "account": inStore(accountsOffered), "session": inStore(sessionsOffered), "run": inStore(runsOffered),
		"candidate": inStore(runsOffered), "baseline": inStore(baselinesOffered), "agent": inStore(agentsOffered),
		"baseline-agent": inStore(agentsOffered), "candidate-agent": inStore(agentsOffered), "case": inStore(casesOffered),
		"input-set": inStore(inputSetsOffered),
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if values := manual.Values(f); values != nil {
				completeFlag(a, c, f, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			} else if known := flags[f.Name]; known != nil {
				completeFlag(a, c, f, completeBy(a, known))
			}
		})
		completeArgs(a, c, args)
	}
	visit(root)
}

// completeArgs completes the first argument, and the others of a list. Every command
// that is run comes by here, so nothing is read before a shell asks.
func completeArgs(a *cli.App, c *cobra.Command, args map[string]nouns) {
	list := manual.Args(c)
	if len(list) == 0 || c.ValidArgs != nil || c.ValidArgsFunction != nil {
		return
	}
	known := args[list[0].Name]
	if of := args[c.Parent().Name()+" "+list[0].Name]; of != nil && c.Name() != "create" { // which makes a name
		known = of
	}
	if known == nil {
		return
	}
	c.ValidArgsFunction = func(c *cobra.Command, before []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(before) > 0 && !list[0].Variadic {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return completeBy(a, known)(c, before, typed)
	}
}

func completeFlag(a *cli.App, c *cobra.Command, f *pflag.Flag, by cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(f.Name, by); err != nil {
		panic(err) // a flag that is completed twice is a mistake of ours
	}
}

// completeBy asks what there is, and makes and changes nothing. Of a name that several
// things have the first is offered. Whatever goes wrong completes nothing, and says nothing.
func completeBy(a *cli.App, known nouns) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, stop := context.WithTimeout(c.Context(), completionTime)
		defer stop()
		ws, err := a.WorkspaceName()
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		list, err := known(ctx, a, ws)
		if err != nil || len(list) == 0 {
			return nil, cobra.ShellCompDirectiveDefault // a file may be meant
		}
		seen := map[string]bool{}
		return slices.DeleteFunc(list, func(c cobra.Completion) bool {
			name, _, _ := strings.Cut(c, "\t")
			was := seen[name]
			seen[name] = true
			return was
		}), cobra.ShellCompDirectiveNoFileComp
	}
}

// offer is a name with what is said of it. One that a shell would read as more than a
// word is not offered: its id is, when it has one.
func offer(list []cobra.Completion, name, id, about string) []cobra.Completion {
	if !plainWord(name) {
		if id == "" {
			return list
		}
		about, name = name+" "+about, cli.Short(id)
	}
	return append(list, cobra.CompletionWithDesc(name, view.SanitizeLine(about)))
}

// plainWord says whether every shell takes a name for one word and nothing else.
func plainWord(name string) bool {
	if name == "" || strings.HasPrefix(name, "-") {
		return false
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-/@+", r) {
			return false
		}
	}
	return true
}
