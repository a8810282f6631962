package cmd

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/cmd/manual"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
)

// completionTime is how long a shell waits for the store; what takes longer completes
// nothing.
const completionTime = 300 * time.Millisecond

// offered is how many runs or sessions are offered, the newest first.
const offered = 50

// nouns says what an argument or a flag names that the store knows. Both go by their
// names, which mean the same in every command.
type nouns func(ctx context.Context, db *store.DB, ws string) ([]cobra.Completion, error)

// completing gives every argument and flag that names something its completion. What is
// a file is left to the shell.
func (a *app) completing(root *cobra.Command) {
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
				a.completeFlag(c, f, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			} else if known := flags[f.Name]; known != nil {
				a.completeFlag(c, f, a.completeBy(known))
			}
		})
		a.completeArgs(c, args)
	}
	visit(root)
}

// completeArgs completes the first argument, and the others of a list.
func (a *app) completeArgs(c *cobra.Command, args map[string]nouns) {
	list := manual.Describe(c).Args
	if len(list) == 0 || c.ValidArgs != nil || c.ValidArgsFunction != nil {
		return
	}
	if list[0].Name == "SLUG" {
		for _, e := range pack.Catalog() {
			c.ValidArgs = append(c.ValidArgs, cobra.CompletionWithDesc(e.Slug, e.Name))
		}
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
		return a.completeBy(known)(c, before, typed)
	}
}

func (a *app) completeFlag(c *cobra.Command, f *pflag.Flag, by cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(f.Name, by); err != nil {
		panic(err) // a flag that is completed twice is a mistake of ours
	}
}

// completeBy asks the store, which it neither makes nor changes. Whatever goes wrong
// completes nothing, and says nothing.
func (a *app) completeBy(known nouns) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, stop := context.WithTimeout(c.Context(), completionTime)
		defer stop()
		list, err := a.fromStore(ctx, known)
		if err != nil || len(list) == 0 {
			return nil, cobra.ShellCompDirectiveDefault // a file may be meant
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) fromStore(ctx context.Context, known nouns) ([]cobra.Completion, error) {
	ws, err := a.workspaceName()
	if err != nil {
		return nil, err
	}
	db, ok, err := a.reading(ctx)
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
		about, name = name+" "+about, short(id)
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
			name = short(r.ID) // an older run of the name
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
func deploymentsOffered(a *app) nouns {
	return func(ctx context.Context, _ *store.DB, _ string) (list []cobra.Completion, err error) {
		a.quiet = true // what is wrong with the repository's is said elsewhere
		deployments, err := a.storedDeployments(ctx)
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
