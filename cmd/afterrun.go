package cmd

import (
	"context"
	"io"
	"math"
	"strconv"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/record"
)

// afterRun prints what came of a run and works out the exit status.
func (a *app) afterRun(ctx context.Context, planned *plan.Plan, result engine.Result, o startOptions) error {
	if err := a.printStart(ctx, planned, result, o); err != nil {
		return err
	}
	if planned.Options.Shard != nil && len(planned.Cases) == 0 {
		a.say("note: no case fell to shard %s: the run is empty, and run merge wants it all the same", planned.Options.Shard)
	}
	a.mentionCache(ctx, planned)
	if status := runStatus(result); status != statusOK {
		if result.Status == "failed" {
			a.warn("agentclash: the run failed: %s", result.Reason)
			if missed(result) {
				a.say("next: %s", recordAnew(planned.Recording.Dir))
			}
		}
		if o.gate && planned.Until != nil && result.Code != "" { // it has not decided within its limits
			return a.gateUntil(ctx, planned, result, o.against)
		}
		switch result.Code {
		case engine.CodeBudget:
			a.say("next: agentclash run resume %s --budget-usd %s or more", short(planned.RunID), dollarsUp(result.NeedsUSD))
		case engine.CodeDeadline:
			a.say("next: agentclash run resume %s --deadline TIME", short(planned.RunID))
		}
		a.mendable(planned, result)
		return verdict(status)
	}
	switch {
	case o.gate && planned.Until != nil:
		return a.gateUntil(ctx, planned, result, o.against)
	case o.gate:
		return a.gateRun(ctx, planned.RunID, o.against)
	case o.exitCode:
		return verdict(exitCode(result, planned.Options.MaxInvalid))
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
func (a *app) mendable(planned *plan.Plan, result engine.Result) {
	for i, agent := range result.Agents {
		code := provider.Code(agent.Cause)
		if code != provider.Auth && code != provider.UnknownModel && code != provider.InvalidRequest {
			continue
		}
		d := planned.Agents[i].Deployment
		a.say("next: agentclash infra provider-account test ACCOUNT --model %s says what %s answers; once that is mended, agentclash run resume %s",
			d.Model, d.Provider, short(planned.RunID))
		return
	}
}

// missed says that a replay asked for what is not recorded.
func missed(result engine.Result) bool {
	return len(result.Agents) > 0 && result.Agents[0].Cause == record.CodeMiss
}

// exitCode is the status of --exit-code.
func exitCode(result engine.Result, maxInvalid int) int {
	status := statusOK
	for _, agent := range result.Agents {
		if agent.Scorecard.Trials == 0 && agent.Status == "completed" { // a shard that no case fell to
			continue
		}
		if agent.Scorecard.InvalidTrials > maxInvalid {
			return 3
		}
		if !agent.Scorecard.Passed {
			status = statusError
		}
	}
	return status
}

// runStatus is the status of a run that did not complete.
func runStatus(result engine.Result) int {
	switch result.Status {
	case "completed":
		return statusOK
	case "interrupted":
		return statusInterrupted
	case "cancelled":
		return statusRunFailed
	}
	status := -1
	for _, agent := range result.Agents {
		if agent.Status != "failed" {
			continue
		}
		s := causeStatus(agent.Cause)
		if status >= 0 && s != status {
			return statusRunFailed
		}
		status = s
	}
	return max(status, statusError)
}

// causeStatus is the status that one cause of a failed run stands for.
func causeStatus(code string) int {
	switch code {
	case record.CodeMiss:
		return statusError
	case "auth":
		return statusNoPermission
	case "unknown_model", "invalid_request", "agent_program":
		return statusUsage
	case "rate_limit", "unavailable", "timeout":
		return statusTryAgain
	case "sandbox_engine", "sandbox_image":
		return statusUnavailable
	}
	return statusRunFailed
}

// shownTrials is how many trials a run may have for its scorecard to follow at
// once; a longer list is one command away.
const shownTrials = 50

// printStart writes the run's document or its summary. A followed NDJSON
// stream has said everything already.
func (a *app) printStart(ctx context.Context, planned *plan.Plan, result engine.Result, o startOptions) error {
	if o.follow && a.output == "json" {
		return nil
	}
	d := view.StartDocument{
		RunID: planned.RunID, RunName: planned.Name, Status: result.Status, Reason: result.Reason, Code: result.Code,
		Pack: view.Pack{Slug: planned.Pack.Slug, Version: planned.Pack.Version}, InputSet: planned.InputSet, Shard: planned.Options.Shard.Share(),
	}
	if missed(result) {
		d.Code = record.CodeMiss
	}
	for _, agent := range result.Agents {
		ref := view.AgentRef{Label: agent.Label, RunAgentID: agent.RunAgentID, Status: agent.Status, PricesAsOf: planned.Prices.AsOf}
		d.Agents = append(d.Agents, view.NewAgent(ref, agent.Scorecard, agent.Invalid))
	}
	err := a.print(d, func(w io.Writer, v view.Options) error {
		if len(result.Agents) == 1 && result.Status == "completed" && result.Agents[0].Scorecard.Trials <= shownTrials {
			return a.scorecardOf(ctx, w, v, result.Agents[0].RunAgentID, o.against)
		}
		return view.Start(w, d, v)
	})
	if err != nil || a.output != "table" {
		return err
	}
	switch {
	case len(result.Agents) > 1:
		a.say("next: agentclash eval scorecard %s --agent %q", short(planned.RunID), result.Agents[0].Label)
	case result.Agents[0].Scorecard.Trials > shownTrials:
		a.say("next: agentclash eval scorecard %s", short(planned.RunID))
	}
	if planned.Session != "" || planned.Options.Repetitions > 1 && planned.Options.Shard == nil && planned.RetryOf == "" {
		a.say("next: agentclash eval session get %s", short(planned.RunID))
	}
	if result.Status == "interrupted" {
		gate := ""
		if planned.Until != nil && o.gate {
			gate = " --gate"
		}
		a.say("next: agentclash run resume %s%s", short(planned.RunID), gate)
	}
	return nil
}
