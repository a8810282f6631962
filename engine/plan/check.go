package plan

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/peers"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

func (p *Plan) checkOptions() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	o := p.Options
	check(o.Repetitions >= 1 && o.Repetitions <= MaxRepetitions, "repetitions must be 1 to %d, not %d", MaxRepetitions, o.Repetitions)
	check(o.Concurrency >= 1 && o.Concurrency <= MaxConcurrency, "concurrency must be 1 to %d, not %d", MaxConcurrency, o.Concurrency)
	check(o.MinPassRate >= 0 && o.MinPassRate <= 1, "min-pass-rate must be 0 to 1, not %g", o.MinPassRate)
	check(o.RetryInvalid >= 0, "retry-invalid must not be negative")
	check(o.MaxInvalid >= 0, "max-invalid must not be negative")
	if o.Shard != nil {
		check(o.Shard.Of >= 1 && o.Shard.Of <= MaxShards && o.Shard.Index >= 1 && o.Shard.Index <= o.Shard.Of,
			"shard %s: the parts are counted from 1, and there are 1 to %d", o.Shard, MaxShards)
		check(!o.PeerStandings, "peer standings need all cases of a run in one process: leave out --shard or --peer-standings")
	}
	if o.PeerStandings {
		check(len(p.Agents) >= 2, "peer standings are of the other agents of a run, and this one has a single agent: give a second --model or --deployment")
		check(o.PeerGap >= peers.MinGap && o.PeerGap <= peers.MaxGap, "peer-standings-gap must be %d to %d, not %d", peers.MinGap, peers.MaxGap, o.PeerGap)
		check(p.Mode == pack.Native || p.Mode == pack.MultiTurn, "peer standings are for packs of the modes %s and %s, not %s: its agents make no steps", pack.Native, pack.MultiTurn, p.Mode)
		check(o.Concurrency >= len(p.Agents), "peer standings need the %d agents of a case side by side: concurrency is %d", len(p.Agents), o.Concurrency)
	}
	n := len(p.Cases) * len(p.Agents) * o.Repetitions
	check(n <= MaxTrials, "the run would have %d trials, more than %d", n, MaxTrials)
	return errors.Join(errs...)
}

// checkPrices refuses a cost cap that could not be kept: without a price
// nobody knows what a call costs.
func (p *Plan) checkPrices() error {
	if p.Spec.RuntimeLimits.MaxCostUSD == nil {
		return nil
	}
	return errors.Join(p.priced("runtime_limits.max_cost_usd")...)
}

// priced are the agents that nobody prices, for whom a limit could not be kept.
// A provider that is free has none.
func (p *Plan) priced(limit string, free ...string) (errs []error) {
	for _, a := range p.Agents {
		if !a.Deployment.AsksModels() {
			continue // nothing that could cost anything goes through us
		}
		for _, model := range a.Deployment.Models() {
			if _, ok := p.Scorer.Cost(a.Deployment.Provider, model, 1, 1); !ok && !slices.Contains(free, a.Deployment.Provider) {
				errs = append(errs, unpriced(limit, fmt.Sprintf("%q", a.Label), a.Deployment.Provider, model))
			}
		}
	}
	return errs
}

// Unbounded says why nobody can tell before a deployment's call what it can use at
// most; "" when that is known.
func (p *Plan) Unbounded(d Deployment) string {
	switch {
	case d.IsHTTP():
		return "what an endpoint spends is its own, and is known afterwards only"
	case p.Mode == pack.Responses && d.Provider != provider.Scripted:
		return "a call of the mode responses searches the web, and what it finds is billed as input, so that its cost is known afterwards only"
	}
	return ""
}

// unbounded are the agents for whom a budget could not be kept, since their calls
// have no bound.
func (p *Plan) unbounded() (errs []error) {
	for _, a := range p.Agents {
		if why := p.Unbounded(a.Deployment); why != "" {
			errs = append(errs, fmt.Errorf("--budget-usd cannot be kept for %q: %s; leave --budget-usd out, and set runtime_limits.max_cost_usd in the pack, which ends each trial that is found to have passed it",
				a.Label, why))
		}
	}
	return errs
}

func unpriced(limit, who, providerKey, model string) error {
	return fmt.Errorf("%s cannot be kept for %s: add a row for provider_key %q, provider_model_id %q to evaluation_spec.pricing.models",
		limit, who, providerKey, model)
}

// checkEnds refuses a budget or a deadline that could not be kept.
func (p *Plan) checkEnds() error {
	var errs []error
	o := p.Options
	if o.BudgetUSD < 0 || o.BudgetUSD > MaxBudgetUSD {
		errs = append(errs, fmt.Errorf("budget-usd must be more than 0 and at most %d, not %g", MaxBudgetUSD, o.BudgetUSD))
	}
	if !o.Deadline.IsZero() && !o.Deadline.After(p.CreatedAt) {
		errs = append(errs, fmt.Errorf("the deadline %s has passed", o.Deadline.Format(time.RFC3339)))
	}
	if o.MaxWaitMS != nil && *o.MaxWaitMS < 0 {
		errs = append(errs, errors.New("max-wait must not be negative"))
	}
	if o.BudgetUSD > 0 {
		if unknown := p.unbounded(); len(unknown) > 0 {
			return errors.Join(append(errs, unknown...)...)
		}
		errs = append(errs, p.priced("--budget-usd", provider.Scripted)...)
		for _, m := range p.Judges {
			if _, ok := p.Scorer.Cost(m.Provider, m.Model, 1, 1); !ok && m.Provider != provider.Scripted {
				errs = append(errs, unpriced("--budget-usd", "the judge "+m.Name, m.Provider, m.Model))
			}
		}
		for _, m := range p.Simulators {
			if _, ok := p.Scorer.Cost(m.Provider, m.Model, 1, 1); !ok && m.Provider != provider.Scripted {
				errs = append(errs, unpriced("--budget-usd", "the users' model", m.Provider, m.Model))
			}
		}
	}
	return errors.Join(errs...)
}

// The APIs of OpenAI's protocol that a deployment may name.
const (
	APIChat      = "chat"
	APIResponses = "responses"

	surfaceResponses = APIResponses
)

// CheckSurface refuses settings that the deployment's provider does not have.
func (d Deployment) CheckSurface() error {
	var errs []error
	own := d.Provider == provider.Anthropic || d.Provider == provider.Gemini || d.Provider == provider.Scripted
	switch {
	case d.API == "" || d.API == APIChat && !own || d.API == APIResponses && !own:
	case d.API != APIChat && d.API != APIResponses:
		errs = append(errs, fmt.Errorf("api: %q is neither %s nor %s", d.API, APIChat, APIResponses))
	default:
		errs = append(errs, fmt.Errorf("api: %s has one API: leave it out", d.Provider))
	}
	if d.PromptCache != nil && d.Provider != provider.Anthropic {
		errs = append(errs, fmt.Errorf("prompt_cache: only anthropic is asked to cache prompts; %s does as it does: leave it out", d.Provider))
	}
	return errors.Join(errs...)
}

// checkSurface refuses agents whose provider cannot be asked as the plan's mode,
// or they themselves, want.
func (p *Plan) checkSurface() error {
	var errs []error
	for _, a := range p.Agents {
		d := a.Deployment
		if err := d.CheckSurface(); err != nil {
			errs = append(errs, fmt.Errorf("deployment %q: %w", a.Label, err))
		}
		if p.Mode != pack.Responses {
			continue
		}
		other := d.Provider == provider.Anthropic || d.Provider == provider.Gemini
		if d.Provider != provider.OpenAI && d.Provider != provider.Scripted && (d.BaseURL == "" || other) {
			errs = append(errs, fmt.Errorf("deployment %q: responses packs need OpenAI's Responses API, which %s does not have: use openai, scripted, or a deployment with the base_url of a server that has it",
				a.Label, d.Provider))
		}
		if bounded := p.Spec.RuntimeLimits.MaxTotalTokens != nil || p.Spec.RuntimeLimits.MaxCostUSD != nil; bounded &&
			d.Sampling.MaxOutputTokens == 0 && d.Limits.MaxOutputTokens == 0 && d.Provider != provider.Scripted {
			errs = append(errs, fmt.Errorf("deployment %q: a responses call has no output bound of its own, so that it could pass runtime_limits without end: set limits.max_output_tokens",
				a.Label))
		}
		if d.API == APIChat {
			errs = append(errs, fmt.Errorf("deployment %q: api is chat, and the pack's execution_mode is responses: use a deployment without it", a.Label))
		}
	}
	return errors.Join(errs...)
}

// checkJudges refuses what no judge could do: a ranking of one agent, and
// budgets that cannot be kept or that hold no call.
func (p *Plan) checkJudges() error {
	var errs []error
	if p.Scorer.Ranks() && len(p.Agents) < 2 {
		errs = append(errs, errors.New("a judge of the mode n_wise ranks the agents of a run, and this one has a single agent: give a second --model or --deployment"))
	}
	if p.Scorer.JudgeLimits().MaxCallsUSD > 0 {
		for _, m := range p.Judges {
			if _, ok := p.Scorer.Cost(m.Provider, m.Model, 1, 1); !ok {
				errs = append(errs, fmt.Errorf("judge_limits.max_calls_usd cannot be kept for the judge %q: add a row for provider_key %q, provider_model_id %q to evaluation_spec.pricing.models",
					m.Name, m.Provider, m.Model))
			}
		}
	}
	if len(errs) == 0 {
		errs = p.tightLimits()
	}
	return errors.Join(errs...)
}

// tightLimits are the judges that a limit keeps from ever being asked.
func (p *Plan) tightLimits() (errs []error) {
	for _, q := range p.Scorer.SmallestQuestions() {
		if why := p.TooDear(event.JudgeUse{}, p.Judge(q.Model), q); why != "" {
			errs = append(errs, fmt.Errorf("judge %q could not be asked a single time: %s; raise the limit", q.JudgeKey, why))
		}
	}
	return errs
}
