package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
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
