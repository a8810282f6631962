package verdict

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/store"
)

// Rival is a run agent in the store that another is held against.
type Rival struct {
	Run   store.Run
	Agent store.RunAgent
}

// RivalOf is what an agent of a run is held against, without its results: by a run, that
// run's agent of the same name, or its only one; by baseline[:NAME], that; by "", the
// baseline of the pack, if one is set. ok is false where there is none in the store.
func RivalOf(ctx context.Context, a *cli.App, db *store.DB, of store.Run, against string, agent store.RunAgent) (r Rival, ok bool, err error) {
	switch {
	case cli.LooksLikePath(against):
		return r, false, nil
	case against == "" || IsBaseline(against):
		mark, ok, err := MarkFor(ctx, a, db, of.Workspace, of.Pack.Slug, baselineNamed(against))
		if err != nil || !ok || mark.Imported {
			return r, false, err
		}
		if r.Agent, err = db.RunAgent(ctx, of.Workspace, "", mark.RunAgentID); err != nil {
			return r, false, err
		}
		r.Run, err = db.Run(ctx, of.Workspace, r.Agent.RunID)
		return r, err == nil && r.Agent.ID != agent.ID, err
	}
	if r.Run, err = db.Run(ctx, of.Workspace, against); err != nil {
		return r, false, err
	}
	agents, err := db.RunAgents(ctx, r.Run.ID)
	for _, other := range agents {
		if len(agents) == 1 || strings.EqualFold(other.Label, agent.Label) {
			r.Agent = other
			return r, err == nil && r.Run.ID != of.ID, err
		}
	}
	return r, false, err
}

// Against is [RivalOf] with its results, and reads files, too. Where there is no agent to
// compare with, why says so.
func Against(ctx context.Context, a *cli.App, db *store.DB, of store.Run, against string, candidate Side) (base Comparand, why string, err error) {
	if against == "" || IsBaseline(against) || cli.LooksLikePath(against) {
		base, ok, err := BaselineFor(ctx, a, db, of.Workspace, of.Pack.Slug, baselineNamed(against))
		if err == nil && !ok && against != "" {
			err = NoSuchBaseline(against)
		}
		return base, "", err
	}
	other, ok, err := RivalOf(ctx, a, db, of, against, candidate.Agent)
	switch {
	case err != nil:
		return base, "", err
	case other.Run.ID == of.ID:
		return base, "", cli.Usage("run %s cannot be compared with itself", other.Run.Name).Hint("agentclash run list")
	case !ok:
		return base, fmt.Sprintf("run %s has several agents, and none of this name", other.Run.Name), nil
	}
	found, err := AgentSide(ctx, a, db, other.Agent.ID, Headlines)
	return Bookmarked(found), "", err
}

// baselineNamed is the name in a selector of baselines, "" for the default one.
func baselineNamed(selector string) string {
	if selector == store.Baseline {
		return ""
	}
	return selector
}
