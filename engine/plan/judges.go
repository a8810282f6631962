package plan

import (
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// JudgeModel is a model that judges ask, and where it is reached.
type JudgeModel struct {
	Name     string `json:"name"` // as the evaluation spec has it
	Provider string `json:"provider"`
	Model    string `json:"model"`
	BaseURL  string `json:"base_url,omitempty"`
	Account  string `json:"account,omitempty"`
	// MaxConcurrent is how many calls the account may have under way; 0: any.
	MaxConcurrent int `json:"max_concurrent,omitempty"`
	// ContentDigest is the SHA-256, in hex, of a script when the run was planned.
	ContentDigest string `json:"content_digest,omitempty"`
}

// asAsked is what of the model can change its replies: not whose key it is.
func (m JudgeModel) asAsked() JudgeModel {
	m.Account, m.MaxConcurrent = "", 0
	return m
}

// otherJudges names the plan's judges' models that an earlier plan reached
// elsewhere, or whose scripts said something else.
func (p *Plan) otherJudges(earlier *Plan) []string {
	var list []string
	for _, m := range p.Judges {
		if earlier.Judge(m.Name).asAsked() != m.asAsked() {
			list = append(list, m.Name)
		}
	}
	return list
}

// judgeModels resolves the models of a spec's judges. A judge is reached as the
// first deployment of its provider is.
func judgeModels(names []string, agents []RunAgent) ([]JudgeModel, error) {
	var models []JudgeModel
	var errs []error
	for _, name := range names {
		key, model, err := provider.ParseModel(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("judge: %w", err))
			continue
		}
		m := JudgeModel{Name: name, Provider: key, Model: model}
		for _, a := range agents {
			if d := a.Deployment; d.Provider == key {
				m.BaseURL, m.Account, m.MaxConcurrent = d.BaseURL, d.Account, d.MaxConcurrent
				break
			}
		}
		models = append(models, m)
	}
	return models, errors.Join(errs...)
}

// Pace is what the calls to the model are paced by.
func (m JudgeModel) Pace() provider.PaceKey {
	return provider.PaceKey{Provider: m.Provider, BaseURL: m.BaseURL, Account: m.Account, Model: m.Model}
}

// judges resolves the judges' models, and takes down today's prices of all that
// the run asks.
func (p *Plan) judges() (err error) {
	p.Judges, err = judgeModels(p.Scorer.JudgeModels(), p.Agents)
	if err != nil {
		return err
	}
	p.Prices = p.listPrices()
	p.Scorer = p.Scorer.WithPrices(p.Prices)
	return nil
}

// Judge finds the model of a judge.
func (p *Plan) Judge(name string) JudgeModel {
	for _, m := range p.Judges {
		if m.Name == name {
			return m
		}
	}
	return JudgeModel{Name: name}
}

// MostJudgeUse is what a call can use at most. A model without a price costs nothing
// here: it is refused beforehand where there is a limit in dollars.
func (p *Plan) MostJudgeUse(m JudgeModel, q scoring.Question) event.JudgeUse {
	usd, _ := p.Scorer.Cost(m.Provider, m.Model, q.MaxInputTokens(), q.MaxOutputTokens)
	return event.JudgeUse{Tokens: q.MaxInputTokens() + q.MaxOutputTokens, CostUSD: usd}
}

// TooDear says which of the judges' limits a call could pass, of which used is used
// up, "" for none. What a call can come to at most is set aside before it is made,
// so that no limit is ever passed.
func (p *Plan) TooDear(used event.JudgeUse, m JudgeModel, q scoring.Question) string {
	l := p.Scorer.JudgeLimits()
	most, limits := p.MostJudgeUse(m, q), budget.Limits{Tokens: l.MaxTokens, USD: l.MaxCallsUSD}
	key, spent, allowed, each := "max_tokens", float64(used.Tokens), float64(limits.Tokens), float64(most.Tokens)
	switch limits.Over(budget.Use{Tokens: used.Tokens, USD: used.CostUSD}, budget.Use{Tokens: most.Tokens, USD: most.CostUSD}) {
	case budget.None:
		return ""
	case budget.USD:
		key, spent, allowed, each = "max_calls_usd", used.CostUSD, limits.USD, most.CostUSD
	}
	return fmt.Sprintf("judge_limits.%s: %s of %s is used, and a call can come to %s", key, budget.Decimal(spent), budget.Decimal(allowed), budget.Decimal(each))
}

// JudgeUse is what a reply says that it used.
func (p *Plan) JudgeUse(m JudgeModel, u *provider.Usage) (use event.JudgeUse, priced bool) {
	usd, priced := p.Scorer.Cost(m.Provider, m.Model, u.Input, u.Output)
	return event.JudgeUse{Tokens: max(u.Total, u.Input+u.Output), CostUSD: usd}, priced
}

// JudgedNow is the plan with the judges of the pack that it is bound to, at today's
// prices. Calls may wait for their provider for maxWaitMS; nil: by default.
func (p *Plan) JudgedNow(maxWaitMS *int64) (*Plan, error) {
	now := *p
	now.Options.MaxWaitMS = maxWaitMS
	var err error
	if now.Judges, err = judgeModels(now.Scorer.JudgeModels(), now.Agents); err != nil {
		return nil, err
	}
	today := now
	today.Prices = scoring.ListPrices{}
	now.Scorer = now.Scorer.WithPrices(today.listPrices())
	return &now, now.checkJudges()
}
