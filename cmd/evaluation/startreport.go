package evaluation

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/verdict"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/scoring/compare"
)

// reportOn is the report on a run that is stored. Each agent is held against the
// baseline of the pack, where there is one; a gate without one says so.
func reportOn(ctx context.Context, a *cli.App, runID string, o StartOptions) (reports.Run, error) {
	ctx = context.WithoutCancel(ctx) // a run that was interrupted has a report, too
	db, err := a.Stored(ctx)
	if err != nil {
		return reports.Run{}, err
	}
	workspace, err := a.WorkspaceName()
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
	r := verdict.ReportRun(a, run)
	if name, builtin := strings.CutPrefix(o.pack, selector.BuiltinPrefix); !builtin && o.pack != "-" && (cli.LooksLikePath(name) || cli.Exists(a.Path(name))) {
		r.PackFile = filepath.ToSlash(o.pack)
	}
	for _, agent := range agents {
		told, err := verdict.ReportAgent(ctx, a, db, run, agent, o.against)
		if err != nil {
			return reports.Run{}, err
		}
		if o.Gate && told.Gate == nil {
			told.Gate = &compare.GateResult{Verdict: compare.InsufficientEvidence, ReasonCode: "no_baseline", Summary: "the gate has no baseline to compare with"}
		}
		r.Agents = append(r.Agents, told)
	}
	return r, nil
}
