package cmd

import (
	"context"
	"path/filepath"
	"strings"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/scoring/compare"
)

// reportOn is the report on a run that is stored. Each agent is held against the
// baseline of the pack, where there is one; a gate without one says so.
func (a *app) reportOn(ctx context.Context, runID string, o startOptions) (reports.Run, error) {
	ctx = context.WithoutCancel(ctx) // a run that was interrupted has a report, too
	db, err := a.stored(ctx)
	if err != nil {
		return reports.Run{}, err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return reports.Run{}, err
	}
	run, err := db.Run(ctx, workspace, runID)
	if err != nil {
		return reports.Run{}, err
	}
	agents, err := db.RunAgents(ctx, run.ID)
	if err != nil {
		return reports.Run{}, err
	}
	r := a.reportRun(run)
	if name, builtin := strings.CutPrefix(o.pack, builtinPrefix); !builtin && o.pack != "-" && (looksLikePath(name) || exists(a.path(name))) {
		r.PackFile = filepath.ToSlash(o.pack)
	}
	for _, agent := range agents {
		told, err := a.reportAgent(ctx, db, run, agent, o.against)
		if err != nil {
			return reports.Run{}, err
		}
		if o.gate && told.Gate == nil {
			told.Gate = &compare.GateResult{Verdict: compare.InsufficientEvidence, ReasonCode: "no_baseline", Summary: "the gate has no baseline to compare with"}
		}
		r.Agents = append(r.Agents, told)
	}
	return r, nil
}
