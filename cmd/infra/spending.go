package infra

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/filelock"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
)

// UnderPolicies bounds the budget of a run by the workspace's spend policies, or
// refuses it. Before is what a run that goes on has spent so far; one that plays a
// recording spends nothing.
func UnderPolicies(ctx context.Context, a *cli.App, p *plan.Plan, before float64) error {
	if r := p.Recording; r != nil && r.Mode == plan.Replayed {
		return nil
	}
	rows, err := agents.Resources(ctx, a, store.SpendPolicy)
	if err != nil || len(rows) == 0 {
		return err
	}
	db, _, err := a.Reading(ctx)
	if err != nil {
		return err
	}
	budget, by := p.Options.BudgetUSD, ""
	if budget == 0 {
		budget = math.Inf(1)
	}
	for _, r := range rows {
		policy, err := agents.Document[spec.SpendPolicy](r)
		if err != nil {
			return err
		}
		left, err := leftOf(ctx, a, db, policy, p, before)
		if err != nil {
			return err
		}
		if left-before < dust {
			return (&cli.Failure{Status: cli.StatusUsage, Code: "budget_exceeded", Err: fmt.Errorf("spend policy %s: nothing is left of its %s in a %s",
				policy.Name, view.USD(&policy.LimitUSD), policy.Window)}).
				Hint("agentclash infra spend-policy list; raise it: agentclash infra spend-policy delete %s, then create it anew", policy.Name)
		}
		if left < budget {
			budget, by = left, fmt.Sprintf("spend policy %s (%s in a %s)", policy.Name, view.USD(&policy.LimitUSD), policy.Window)
		}
	}
	if by == "" {
		return nil
	}
	if err := p.Renew(plan.Options{BudgetUSD: budget}, a.Process.Now()); err != nil {
		return cli.Usage("%s gives this run a budget: %w", by, err).Hint("agentclash infra spend-policy list")
	}
	a.Say("note: %s gives this run a budget of %s", by, view.USD(&budget))
	return nil
}

// Reserve has a run counted while nobody else is: begin makes it one that goes on,
// once policies have been asked again, since others may have begun after it was
// planned. Resumed says that it goes on with what it has spent.
func Reserve(ctx context.Context, a *cli.App, p *plan.Plan, resumed bool, begin func() error) error {
	home, err := a.Home()
	if err != nil {
		return err
	}
	release, err := filelock.Hold(ctx, filepath.Join(home, "spending"))
	if err != nil {
		return fmt.Errorf("count run %s among those that spend: %w", p.Name, err)
	}
	defer release()
	before := 0.0
	if resumed {
		db, err := a.Store(ctx)
		if err == nil {
			before, err = ChargedSoFar(ctx, db, p)
		}
		if err != nil {
			return err
		}
	}
	if err := UnderPolicies(ctx, a, p, before); err != nil {
		return err
	}
	if resumed && p.Options.BudgetUSD > 0 {
		p.SetCharged(before)
	}
	return begin()
}

// dust is what sums of dollars are wrong by, and more.
const dust = 1e-9

// leftOf is what a policy leaves a run as its whole budget, what it has spent before
// included.
func leftOf(ctx context.Context, a *cli.App, db *store.DB, policy spec.SpendPolicy, p *plan.Plan, before float64) (float64, error) {
	switch {
	case policy.Window == spec.WindowDay:
		others, err := spentSince(ctx, a, db, p.Workspace, a.Process.Now(), "", p.RunID)
		left := policy.LimitUSD - others
		if p.CreatedAt.Before(midnight(a.Process.Now())) {
			left += before // which was another day's
		}
		return left, err
	case policy.Window == spec.WindowSession && p.Session != "":
		others, err := spentSince(ctx, a, db, p.Workspace, time.Time{}, p.Session, p.RunID)
		return policy.LimitUSD - others, err
	}
	return policy.LimitUSD, nil
}

// midnight is when the day of a time began, in UTC.
func midnight(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// spentSince adds up what runs have cost, but for one of them: those of a session,
// or those of the day of a time when none is named.
func spentSince(ctx context.Context, a *cli.App, db *store.DB, workspace string, day time.Time, session, except string) (float64, error) {
	list, err := db.Spending(ctx, workspace, midnight(day), session)
	sum := 0.0
	for _, s := range list {
		if err != nil || s.RunID == except {
			continue
		}
		var usd float64
		usd, err = spentBy(ctx, a, db, s)
		sum += usd
	}
	return sum, err
}

// spentBy is what one run has cost. One that was played from a recording cost
// nothing, one that was put together costs what its parts did. One that is going on
// counts with its budget, or with what it has been charged where it has none.
func spentBy(ctx context.Context, a *cli.App, db *store.DB, s store.Spent) (float64, error) {
	planned, err := db.Plan(ctx, s.RunID)
	if err != nil {
		return 0, err
	}
	if r := planned.Recording; r != nil && r.Mode == plan.Replayed || len(planned.Merged) > 0 {
		return 0, nil
	}
	if s.Ended {
		return s.USD, nil
	}
	run, err := db.Run(ctx, planned.Workspace, s.RunID)
	if err != nil {
		return 0, err
	}
	if run.Active() && planned.Options.BudgetUSD > 0 && a.OwnerLives(run.Owner, run.Heartbeat) {
		return planned.Options.BudgetUSD, nil
	}
	src, err := selector.PackOf(ctx, db, run.PackID)
	if err == nil {
		err = planned.Bind(src)
	}
	if err != nil {
		return 0, err
	}
	return ChargedSoFar(ctx, db, &planned)
}

// ChargedSoFar is what a stored run's calls have been charged.
func ChargedSoFar(ctx context.Context, db *store.DB, p *plan.Plan) (float64, error) {
	charges := plan.NewCharges(p)
	filter := store.EventFilter{RunID: p.RunID, Types: plan.ChargeTypes()}
	err := db.Events(ctx, filter, func(_ int64, e event.Event) error { return charges.Apply(e) })
	return charges.USD(), err
}
