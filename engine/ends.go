package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

// until ends a run's context at the run's deadline.
func (r *run) until(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline := r.plan.Options.Deadline
	if deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, deadline.Sub(r.deps.Now()), fmt.Errorf("%w: it was %s", ErrDeadline, deadline.Format(time.RFC3339)))
}

// stopCode is the code of what ended a run, "" when it was no limit of the run's
// own.
func stopCode(cause error) string {
	var reached *budget.Reached
	switch {
	case errors.As(cause, &reached):
		return CodeBudget
	case errors.Is(cause, ErrDeadline):
		return CodeDeadline
	}
	return ""
}

// reached states which limit of the run's own has ended it.
func (r *run) reached(ctx context.Context, cause error) error {
	switch code := stopCode(cause); code {
	case CodeBudget:
		var reached *budget.Reached
		errors.As(cause, &reached)
		return r.emit(ctx, event.BudgetReach, event.Budget{
			Limit: "budget_usd", Allowed: reached.AllowedUSD, Used: reached.UsedUSD, Needed: reached.NeededUSD,
		})
	case CodeDeadline:
		allowed := r.plan.Options.Deadline.Sub(r.plan.CreatedAt).Seconds()
		return r.emit(ctx, event.BudgetReach, event.Budget{Limit: "deadline_seconds", Allowed: allowed, Used: r.deps.Now().Sub(r.plan.CreatedAt).Seconds()})
	}
	return nil
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
		errs = append(errs, p.priced("--budget-usd", provider.Scripted)...)
		for _, m := range p.Judges {
			if _, ok := p.scorer.Cost(m.Provider, m.Model, 1, 1); !ok && m.Provider != provider.Scripted {
				errs = append(errs, unpriced("--budget-usd", "the judge "+m.Name, m.Provider, m.Model))
			}
		}
		for _, m := range p.Simulators {
			if _, ok := p.scorer.Cost(m.Provider, m.Model, 1, 1); !ok && m.Provider != provider.Scripted {
				errs = append(errs, unpriced("--budget-usd", "the users' model", m.Provider, m.Model))
			}
		}
	}
	return errors.Join(errs...)
}

// Charge says what a stored plan's run has taken of its budget: see [Charges].
func (p *Plan) Charge(usd float64) { p.before.ChargedUSD = usd }

// Renew gives a stored plan that was reopened another budget, deadline or
// waiting time, where the options say one.
func (p *Plan) Renew(o Options, now time.Time) error {
	if o.BudgetUSD != 0 {
		p.Options.BudgetUSD = o.BudgetUSD
	}
	if !o.Deadline.IsZero() {
		p.Options.Deadline = o.Deadline
	}
	if o.MaxWaitMS != nil {
		p.Options.MaxWaitMS = o.MaxWaitMS
	}
	if d := p.Options.Deadline; !d.IsZero() && !d.After(now) {
		return fmt.Errorf("the run's deadline %s has passed: give it another with --deadline", d.Format(time.RFC3339))
	}
	return p.checkEnds()
}
