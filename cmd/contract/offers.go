package contract

import (
	"context"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/errcode"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

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
func deploymentsOffered(ctx context.Context, a *cli.App, _ string) (list []cobra.Completion, err error) {
	a.Quiet = true // what is wrong with the repository's is said elsewhere
	deployments, err := agents.StoredDeployments(ctx, a)
	for _, d := range deployments {
		list = offer(list, d.Name, "", d.Target)
	}
	return list, err
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
	for _, m := range marks {
		list = offer(list, m.Name, "", m.RunName+", "+m.Label)
	}
	return list, err
}

func packsOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	packs, err := db.Packs(ctx, ws)
	for _, p := range packs {
		list = offer(list, p.Slug, "", p.Name)
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
	for _, p := range packs[:min(len(packs), offered)] {
		sets, err := db.InputSets(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		for _, s := range sets {
			list = offer(list, s.Key, "", "input set of "+p.Slug)
		}
	}
	return list, err
}

func artifactsOffered(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
	artifacts, _, err := db.Artifacts(ctx, store.ArtifactFilter{Workspace: ws, Limit: offered})
	for _, f := range artifacts {
		list = offer(list, cli.Short(f.ID), "", f.Type)
	}
	return list, err
}

// resourcesOffered are those of a kind that are not archived.
func resourcesOffered(kind store.Kind) func(context.Context, *store.DB, string) ([]cobra.Completion, error) {
	return func(ctx context.Context, db *store.DB, ws string) (list []cobra.Completion, err error) {
		resources, err := db.Resources(ctx, ws, kind)
		for _, r := range resources {
			if r.ArchivedAt.IsZero() {
				list = offer(list, r.Name, "", "")
			}
		}
		return list, err
	}
}

func workspacesOffered(ctx context.Context, a *cli.App, _ string) (list []cobra.Completion, err error) {
	workspaces, err := a.Workspaces(ctx)
	for _, w := range workspaces {
		list = offer(list, w.Name, "", "")
	}
	return list, err
}

// secretsOffered are the names, of which no keychain is asked.
func secretsOffered(_ context.Context, a *cli.App, ws string) (list []cobra.Completion, err error) {
	kept, err := a.OpenSecrets()
	if err != nil {
		return nil, err
	}
	entries, err := kept.List(ws)
	for _, e := range entries {
		list = offer(list, e.Key, "", "in the "+e.Place())
	}
	return list, err
}

func settingsOffered(context.Context, *cli.App, string) (list []cobra.Completion, err error) {
	for _, s := range config.Settings() {
		list = offer(list, s.Key, "", s.Doc)
	}
	return list, nil
}

func codesOffered(context.Context, *cli.App, string) (list []cobra.Completion, err error) {
	for _, c := range errcode.All() {
		list = offer(list, c.Code, "", c.Means)
	}
	return list, nil
}

// catalogOffered are the packs of the catalogue, of which one is named.
func catalogOffered(context.Context, *cli.App, string) (list []cobra.Completion, err error) {
	for _, e := range pack.Catalog() {
		list = offer(list, e.Slug, "", e.Name)
	}
	return list, nil
}
