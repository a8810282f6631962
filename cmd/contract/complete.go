package contract

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/manual"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completionTime is how long a shell waits for the store; what takes longer completes
// nothing.
const completionTime = 300 * time.Millisecond

// offered is how many runs or sessions are offered, the newest first.
const offered = 50

// nouns says what an argument or a flag names that the store knows. Both go by their
// names, which mean the same in every command.
type nouns func(ctx context.Context, db *store.DB, ws string) ([]cobra.Completion, error)

// Completing gives every argument and flag that names something its completion. What is
// a file is left to the shell.
func Completing(a *cli.App, root *cobra.Command) {
	args := map[string]nouns{
		"RUN": runsOffered, "RUN|TRIAL": runsOffered, "DEPLOYMENT": deploymentsOffered(a), "ACCOUNT": accountsOffered,
		"SESSION": sessionsOffered, "PACK": packsOffered, "CASE": casesOffered,
	}
	flags := map[string]nouns{
		"deployment": deploymentsOffered(a), "account": accountsOffered, "session": sessionsOffered, "run": runsOffered, "candidate": runsOffered,
		"baseline": baselinesOffered, "agent": agentsOffered, "baseline-agent": agentsOffered, "candidate-agent": agentsOffered,
		"case": casesOffered, "input-set": inputSetsOffered,
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
	if list[0].Name == "SLUG" {
		c.ValidArgsFunction = catalogOffered
		return
	}
	known := args[list[0].Name]
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

// catalogOffered are the packs of the catalogue, of which one is named.
func catalogOffered(_ *cobra.Command, before []string, _ string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(before) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, e := range pack.Catalog() {
		list = append(list, cobra.CompletionWithDesc(e.Slug, e.Name))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func completeFlag(a *cli.App, c *cobra.Command, f *pflag.Flag, by cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(f.Name, by); err != nil {
		panic(err) // a flag that is completed twice is a mistake of ours
	}
}

// completeBy asks the store, which it neither makes nor changes. Whatever goes wrong
// completes nothing, and says nothing.
func completeBy(a *cli.App, known nouns) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, stop := context.WithTimeout(c.Context(), completionTime)
		defer stop()
		list, err := fromStore(ctx, a, known)
		if err != nil || len(list) == 0 {
			return nil, cobra.ShellCompDirectiveDefault // a file may be meant
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func fromStore(ctx context.Context, a *cli.App, known nouns) ([]cobra.Completion, error) {
	ws, err := a.WorkspaceName()
	if err != nil {
		return nil, err
	}
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return known(ctx, db, ws)
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

func runsOffered(ctx context.Context, db *store.DB, ws string) ([]cobra.Completion, error) {
	runs, _, err := db.Runs(ctx, store.RunFilter{Workspace: ws, Limit: offered})
	if len(runs) == 0 {
		return nil, err
	}
	list := []cobra.Completion{cobra.CompletionWithDesc(store.Latest, "the newest run"), cobra.CompletionWithDesc(store.Baseline, "the run of the baseline")}
	seen := map[string]bool{}
	for _, r := range runs {
		name := r.Name
		if seen[name] {
			name = cli.Short(r.ID) // an older run of the name
		}
		seen[name] = true
		list = offer(list, name, r.ID, r.Status+", "+r.Pack.Slug)
	}
	return list, err
}

func sessionsOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	sessions, _, err := db.Sessions(ctx, ws, offered, 0)
	for _, s := range sessions {
		list = offer(list, s.Name, s.ID, s.Slug)
	}
	return list, err
}

// deploymentsOffered are those of the repository and of the store.
func deploymentsOffered(a *cli.App) nouns {
	return func(ctx context.Context, _ *store.DB, _ string) (list []cobra.Completion, err error) {
		a.Quiet = true // what is wrong with the repository's is said elsewhere
		deployments, err := agents.StoredDeployments(ctx, a)
		for _, d := range deployments {
			list = offer(list, d.Name, "", d.Target)
		}
		return list, err
	}
}

func accountsOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	accounts, err := db.Accounts(ctx, ws)
	for _, c := range accounts {
		list = offer(list, c.Name, "", c.Provider)
	}
	return list, err
}

func baselinesOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	marks, err := db.Baselines(ctx, ws)
	seen := map[string]bool{}
	for _, m := range marks {
		if !seen[m.Name] {
			list = offer(list, m.Name, "", m.RunName+", "+m.Label)
		}
		seen[m.Name] = true
	}
	return list, err
}

func packsOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	packs, err := db.Packs(ctx, ws)
	seen := map[string]bool{}
	for _, p := range packs {
		if !seen[p.Slug] {
			list = offer(list, p.Slug, "", p.Name)
		}
		seen[p.Slug] = true
	}
	return list, err
}

// newestAgents are the agents of the newest run, of which people name agents and cases.
func newestAgents(ctx context.Context, db *store.DB, ws string) ([]store.RunAgent, error) {
	r, err := db.Run(ctx, ws, store.Latest)
	if err != nil {
		return nil, err
	}
	return db.RunAgents(ctx, r.ID)
}

func agentsOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	agents, err := newestAgents(ctx, db, ws)
	for _, agent := range agents {
		list = offer(list, agent.Label, agent.ID, "agent of the newest run")
	}
	return list, err
}

func casesOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	agents, err := newestAgents(ctx, db, ws)
	if err != nil || len(agents) == 0 {
		return nil, err
	}
	err = db.CaseCounts(ctx, agents[0].ID, func(c store.CaseCount) { list = offer(list, c.CaseKey, "", "case of the newest run") })
	return list, err
}

func inputSetsOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	packs, err := db.Packs(ctx, ws)
	seen := map[string]bool{}
	for _, p := range packs[:min(len(packs), offered)] {
		sets, err := db.InputSets(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		for _, s := range sets {
			if !seen[s.Key] {
				list = offer(list, s.Key, "", "input set of "+p.Slug)
			}
			seen[s.Key] = true
		}
	}
	return list, err
}
