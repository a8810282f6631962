package plan

import (
	"cmp"
	"fmt"

	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/pack"
)

// Ceiling is the most that a run agent can cost in US dollars, retries of
// invalid trials included. why says what is missing when there is none.
func (p *Plan) Ceiling(lane int) (usd float64, why string) {
	d := p.Agents[lane].Deployment
	if !d.AsksModels() {
		return 0, ""
	}
	if why := p.Unbounded(d); why != "" {
		return 0, why
	}
	attempts := 0.0
	for _, t := range p.Trials {
		if t.Agent == lane && t.Reuse == nil {
			attempts += float64(1 + p.Options.RetryInvalid)
		}
	}
	if most := p.Spec.RuntimeLimits.MaxCostUSD; most != nil {
		return *most * attempts, ""
	}
	tokens := p.Spec.RuntimeLimits.MaxTotalTokens
	if tokens == nil {
		return 0, "the pack sets neither runtime_limits.max_cost_usd nor max_total_tokens"
	}
	for _, model := range d.Models() {
		if _, ok := p.Scorer.Cost(d.Provider, model, 1, 1); !ok {
			return 0, fmt.Sprintf("no price is known for %s/%s", d.Provider, model)
		}
		price := p.MostPrice(d, model)
		usd = max(usd, price(*tokens, 0), price(0, *tokens))
	}
	return usd * attempts, ""
}

// JudgeCeiling is how many questions the run's judges can be asked and what these
// can cost, retries of invalid trials included. why says what is missing when there
// is no ceiling.
func (p *Plan) JudgeCeiling() (calls int, usd float64, why string) {
	each, ranked := p.Scorer.JudgeCalls(len(p.Agents))
	groups := len(p.Cases) * p.Options.Repetitions
	attempts := 1 + p.Options.RetryInvalid
	calls = attempts * (groups*(each*len(p.Agents)+ranked) + p.Options.Repetitions*p.judgedPhases()*each*len(p.Agents))
	most := p.Scorer.JudgeLimits().MaxCallsUSD
	if calls > 0 && most <= 0 {
		return calls, 0, "the pack sets no judge_limits.max_calls_usd"
	}
	budgets := 0
	if each > 0 {
		budgets += len(p.Agents)
	}
	if ranked > 0 {
		budgets++
	}
	return calls, most * float64(attempts*groups*budgets), ""
}

// judgedPhases counts the phases of conversations before which judges are asked.
func (p *Plan) judgedPhases() (n int) {
	for _, c := range p.Cases {
		for _, phase := range phasesOf(p.cases[c.Key]) {
			if phase.Trigger == turn.OnJudgeBelow {
				n++
			}
		}
	}
	return n
}

// SimulatorCeiling is how many messages simulated users can be asked for and what
// these can cost, retries of invalid trials included. why says what is missing when
// there is no ceiling.
func (p *Plan) SimulatorCeiling() (calls int, usd float64, why string) {
	attempts := p.Options.Repetitions * (1 + p.Options.RetryInvalid)
	for _, m := range p.Simulators {
		for _, c := range p.Cases {
			kase := p.cases[c.Key]
			for _, phase := range phasesOf(kase) {
				if phase.Actor != pack.LLMActor || phase.Model != m.Name {
					continue
				}
				most := cmp.Or(int(kase.UserSimulator.MaxTurns), turn.DefaultMaxTurns)
				n := attempts * min(cmp.Or(int(phase.MaxTurns), most), most)
				input, err := turn.MaxPrompt(phase.Persona, p.Source.AgentView(kase).Case.Payload)
				each, ok := p.Scorer.Cost(m.Provider, m.Model, int64(input), SimulatorMaxOutput)
				if !ok || err != nil {
					why = fmt.Sprintf("no price is known for %s/%s", m.Provider, m.Model)
				}
				calls, usd = calls+n, usd+each*float64(n)
			}
		}
	}
	return calls, usd, why
}

// Caps are the limits of one trial of a run agent, on a case that sets none of
// its own.
func (p *Plan) Caps(lane int) Limits {
	l := LimitsOf(p.Spec, pack.Case{}, p.Agents[lane].Deployment)
	return Limits{
		MaxIterations: l.Steps, MaxToolCalls: l.ToolCalls, StepTimeoutSeconds: int(l.Step.Seconds()),
		RunTimeoutSeconds: int(l.Trial.Seconds()), MaxOutputTokens: l.Output,
	}
}
