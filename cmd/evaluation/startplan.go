package evaluation

import (
	"io"
	"slices"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
)

func printPlan(a *cli.App, p *plan.Plan) error {
	d := view.PlanDocument{
		Name: p.Name, Pack: view.Pack{Slug: p.Pack.Slug, Version: p.Pack.Version}, Digest: p.Pack.Digest,
		InputSet: p.InputSet, Shard: p.Options.Shard.Share(), Mode: p.Mode, Sandbox: p.Sandbox.Kind, Image: p.Sandbox.Image,
		Repetitions: p.Options.Repetitions, Trials: len(p.Trials), Reused: p.Reused(), Concurrency: p.Options.Concurrency, Seed: p.Options.Seed,
		RetryInvalid: p.Options.RetryInvalid, MinPassRate: p.Options.MinPassRate, MaxInvalid: p.Options.MaxInvalid,
	}
	d.Until = p.Until
	total, known := 0.0, true
	for lane, agent := range p.Agents {
		caps := p.Caps(lane)
		row := view.PlanAgent{
			Label: agent.Label, Model: agent.Deployment.Target(),
			MaxIterations: caps.MaxIterations, MaxToolCalls: caps.MaxToolCalls, RunTimeoutSecs: caps.RunTimeoutSeconds,
		}
		usd, why := p.Ceiling(lane)
		if why == "" {
			row.MaxCostUSD = &usd
		}
		row.CostReason, known, total = why, known && why == "", total+usd
		d.Agents = append(d.Agents, row)
	}
	calls, usd, why := p.JudgeCeiling()
	for _, m := range p.Judges {
		d.Judges = append(d.Judges, judgeAt(m))
	}
	d.MaxJudgeQuestions, d.JudgeCostReason = calls, why
	if why == "" {
		d.MaxJudgeCostUSD = &usd
	}
	users, reason := planSimulators(p, &d)
	if known && why == "" && reason == "" {
		d.MaxCostUSD = new(total + usd + users)
	}
	if most := p.Options.BudgetUSD; most > 0 {
		d.BudgetUSD = &most
		if d.MaxCostUSD == nil || *d.MaxCostUSD > most {
			d.MaxCostUSD = &most
		}
	}
	if !p.Options.Deadline.IsZero() {
		d.Deadline = &p.Options.Deadline
	}
	for _, c := range p.Cases {
		d.Cases = append(d.Cases, c.Key)
	}
	return a.Print(d, func(w io.Writer, v view.Options) error { return view.Plan(w, d, v) })
}

// planSimulators says in the plan's document what its simulated users can cost, and
// returns it, or why nobody knows.
func planSimulators(p *plan.Plan, d *view.PlanDocument) (usd float64, why string) {
	if len(p.Simulators) == 0 {
		return 0, ""
	}
	d.MaxSimulatorMessages, usd, why = p.SimulatorCeiling()
	d.SimulatorCostReason = why
	if why == "" {
		d.MaxSimulatorCostUSD = &usd
	}
	for _, m := range p.Simulators {
		at := judgeAt(plan.JudgeModel{Provider: m.Provider, Model: m.Model, BaseURL: m.BaseURL})
		if !slices.Contains(d.Simulators, at) {
			d.Simulators = append(d.Simulators, at)
		}
	}
	return usd, why
}

// judgeAt is a judge's model, and its address when that is not the provider's.
func judgeAt(m plan.JudgeModel) string {
	if m.BaseURL == "" {
		return m.Provider + "/" + m.Model
	}
	return m.Provider + "/" + m.Model + " at " + m.BaseURL
}
