package plan

import (
	"slices"

	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/pack"
)

// steering is what of the evaluation spec decides which phases of a case's
// conversation run, besides the case's expectations; none for most cases. There
// it changes what the agent is asked, and not its score alone: the other
// triggers, and until, read the conversation and its phases only.
func (p *Plan) steering(c pack.Case) map[string]any {
	reads := map[string]any{}
	for _, phase := range phasesOf(c) {
		switch phase.Trigger {
		case turn.OnValidatorFail:
			reads["validators"] = p.Spec.Validators
		case turn.OnJudgeBelow:
			reads["llm_judges"], reads["scorecard"], reads["models"] = p.Spec.LLMJudges, p.Spec.Scorecard, p.judgesAsked()
			if p.Scorer.JudgeLimits().MaxCallsUSD > 0 { // then prices decide who is asked
				reads["usd_per_million_tokens"] = p.judgePrices()
			}
		}
	}
	return reads
}

// judgesAsked are the judges' models as far as replies depend on them.
func (p *Plan) judgesAsked() []JudgeModel {
	list := slices.Clone(p.Judges)
	for i, m := range list {
		list[i] = m.asAsked()
	}
	return list
}

// judgePrices are dollars a million tokens into and out of each judge's model, by
// name.
func (p *Plan) judgePrices() map[string][2]float64 {
	list := map[string][2]float64{}
	for _, m := range p.Judges {
		in, _ := p.Scorer.Cost(m.Provider, m.Model, 1_000_000, 0)
		out, _ := p.Scorer.Cost(m.Provider, m.Model, 0, 1_000_000)
		list[m.Name] = [2]float64{in, out}
	}
	return list
}
