package evaluation

import (
	"context"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
)

// afterRun prints what came of a run and works out the exit status.
func afterRun(ctx context.Context, a *cli.App, planned *plan.Plan, result engine.Result, o StartOptions) error {
	if err := printStart(ctx, a, planned, result, o); err != nil {
		return err
	}
	if planned.Options.Shard != nil && len(planned.Cases) == 0 {
		a.Say("note: no case fell to shard %s: the run is empty, and run merge wants it all the same", planned.Options.Shard)
	}
	mentionCache(ctx, a, planned)
	if status := RunStatus(result); status != cli.StatusOK {
		if result.Status == "failed" {
			a.Warn("agentclash: the run failed: %s", result.Reason)
			if Missed(result) {
				a.Say("next: %s", recordAnew(planned.Recording.Dir))
			}
		}
		if o.Gate && planned.Until != nil && result.Code != "" { // it has not decided within its limits
			return gateUntil(ctx, a, planned, result, o.against)
		}
		switch result.Code {
		case engine.CodeBudget:
			a.Say("next: agentclash run resume %s --budget-usd %s or more", cli.Short(planned.RunID), dollarsUp(result.NeedsUSD))
		case engine.CodeDeadline:
			a.Say("next: agentclash run resume %s --deadline TIME", cli.Short(planned.RunID))
		}
		mendable(a, planned, result)
		return cli.Verdict(status)
	}
	switch {
	case o.Gate && planned.Until != nil:
		return gateUntil(ctx, a, planned, result, o.against)
	case o.Gate:
		return verdict.GateRun(ctx, a, planned.RunID, o.against)
	case o.exitCode:
		return cli.Verdict(exitCode(result, planned.Options.MaxInvalid))
	}
	return nil
}

// dollarsUp is a sum in cents that is not below usd, or in millionths of a dollar
// where that is less than a cent.
func dollarsUp(usd float64) string {
	if cents := math.Ceil(usd * 100); cents > 1 {
		return strconv.FormatFloat(cents/100, 'f', 2, 64)
	}
	return strconv.FormatFloat(math.Ceil(usd*1e6)/1e6, 'f', 6, 64)
}

// mendable says what to try where a run agent was ended by its key, its model or
// its address: the rest of its trials can still be had.
func mendable(a *cli.App, planned *plan.Plan, result engine.Result) {
	for i, agent := range result.Agents {
		code := provider.Code(agent.Cause)
		if code != provider.Auth && code != provider.UnknownModel && code != provider.InvalidRequest {
			continue
		}
		d := planned.Agents[i].Deployment
		a.Say("next: agentclash infra provider-account test ACCOUNT --model %s says what %s answers; once that is mended, agentclash run resume %s",
			d.Model, d.Provider, cli.Short(planned.RunID))
		return
	}
}

// Missed says that a replay asked for what is not recorded.
func Missed(result engine.Result) bool {
	return len(result.Agents) > 0 && result.Agents[0].Cause == record.CodeMiss
}

// exitCode is the status of --exit-code.
func exitCode(result engine.Result, maxInvalid int) int {
	status := cli.StatusOK
	for _, agent := range result.Agents {
		if agent.Scorecard.Trials == 0 && agent.Status == "completed" { // a shard that no case fell to
			continue
		}
		if agent.Scorecard.InvalidTrials > maxInvalid {
			return 3
		}
		if !agent.Scorecard.Passed {
			status = cli.StatusError
		}
	}
	return status
}

// RunStatus is the status of a run that did not complete.
func RunStatus(result engine.Result) int {
	switch result.Status {
	case "completed":
		return cli.StatusOK
	case "interrupted":
		return cli.StatusInterrupted
	case "cancelled":
		return cli.StatusRunFailed
	}
	status := -1
	for _, agent := range result.Agents {
		if agent.Status != "failed" {
			continue
		}
		s := causeStatus(agent.Cause)
		if status >= 0 && s != status {
			return cli.StatusRunFailed
		}
		status = s
	}
	return max(status, cli.StatusError)
}

// causeStatus is the status that one cause of a failed run stands for.
func causeStatus(code string) int {
	switch code {
	case record.CodeMiss:
		return cli.StatusError
	case "auth":
		return cli.StatusNoPermission
	case "unknown_model", "invalid_request", "agent_program":
		return cli.StatusUsage
	case "rate_limit", "unavailable", "timeout":
		return cli.StatusTryAgain
	case "sandbox_engine", "sandbox_image":
		return cli.StatusUnavailable
	}
	return cli.StatusRunFailed
}

// shownTrials is how many trials a run may have for its scorecard to follow at
// once; a longer list is one command away.
const shownTrials = 50

// printStart writes the run's document or its summary. A followed NDJSON
// stream has said everything already.
func printStart(ctx context.Context, a *cli.App, planned *plan.Plan, result engine.Result, o StartOptions) error {
	if o.Follow && a.Output == "json" {
		return nil
	}
	d := view.StartDocument{
		RunID: planned.RunID, RunName: planned.Name, Status: result.Status, Reason: result.Reason, Code: result.Code,
		Pack: view.Pack{Slug: planned.Pack.Slug, Version: planned.Pack.Version}, InputSet: planned.InputSet, Shard: planned.Options.Shard.Share(),
	}
	if Missed(result) {
		d.Code = record.CodeMiss
	}
	for _, agent := range result.Agents {
		ref := view.AgentRef{Label: agent.Label, RunAgentID: agent.RunAgentID, Status: agent.Status, PricesAsOf: planned.Prices.AsOf}
		d.Agents = append(d.Agents, view.NewAgent(ref, agent.Scorecard, agent.Invalid))
	}
	err := a.Print(d, func(w io.Writer, v view.Options) error {
		if len(result.Agents) == 1 && result.Status == "completed" && result.Agents[0].Scorecard.Trials <= shownTrials {
			return verdict.ScorecardOf(ctx, a, w, v, result.Agents[0].RunAgentID, o.against)
		}
		return view.Start(w, d, v)
	})
	if err != nil || a.Output != "table" {
		return err
	}
	switch {
	case len(result.Agents) > 1:
		a.Say("next: agentclash eval scorecard %s --agent %q", cli.Short(planned.RunID), result.Agents[0].Label)
	case result.Agents[0].Scorecard.Trials > shownTrials:
		a.Say("next: agentclash eval scorecard %s", cli.Short(planned.RunID))
	}
	if slices.ContainsFunc(result.Agents, func(r engine.AgentResult) bool { return r.Scorecard.FailedTrials+r.Scorecard.InvalidTrials > 0 }) {
		a.Say("next: agentclash replay triage %s", cli.Short(planned.RunID))
	}
	if planned.Session != "" || planned.Options.Repetitions > 1 && planned.Options.Shard == nil && planned.RetryOf == "" {
		a.Say("next: agentclash eval session get %s", cli.Short(planned.RunID))
	}
	if result.Status == "interrupted" {
		gate := ""
		if planned.Until != nil && o.Gate {
			gate = " --gate"
		}
		a.Say("next: agentclash run resume %s%s", cli.Short(planned.RunID), gate)
	}
	return nil
}
