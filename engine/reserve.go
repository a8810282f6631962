package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

// minOutput is the least output bound, in tokens, that a call is cut down to so
// that it fits a trial's limits. A shorter reply helps nobody.
const minOutput = 256

// forecaster is a client that knows what its next reply uses: a script.
type forecaster interface {
	Forecast(req provider.Request) provider.Usage
}

// spending counts what a trial's calls have used against its limits.
type spending struct {
	used budget.Use
	// unheard is the part of it that is assumed of calls without an answer.
	unheard budget.Use
	// known is what the provider has said of the conversation so far.
	known budget.Conversation
	// short is the limit that the last call's output bound was cut down for.
	short budget.Limit
	// charged is what the last try counts for, in dollars.
	charged float64
}

// overLimit is a call that a limit of the trial has no room for.
type overLimit struct{ ending }

func (o *overLimit) Error() string { return o.err.Error() }

// begin sets the most that a try can use aside: of the trial's limits, then of
// the run's budget. A try that does not fit the limits is given a smaller output
// bound, or is not made. The try is stated, and counted when it has ended.
func (a *attempt) begin(ctx context.Context, req *provider.Request, state func(usd float64)) (func(provider.Response, *provider.Error), error) {
	most, err := a.fit(req)
	if err != nil {
		return nil, err
	}
	hold, err := a.hold(ctx, most.USD)
	if err != nil {
		return nil, err
	}
	a.spent.charged = most.USD // until it is counted, whatever happens
	stated := false
	defer func() {
		if !stated {
			hold.Settle(0)
		}
	}()
	state(most.USD)
	stated = true
	return func(res provider.Response, failure *provider.Error) {
		defer func() { hold.Settle(a.spent.charged) }()
		a.count(*req, most, res, failure)
	}, nil
}

// overBudget ends a trial whose limits have no room for the next call.
func (a *attempt) overBudget(messages []provider.Message) (ending, bool) {
	if a.limits.Budget == (budget.Limits{}) {
		return ending{}, false
	}
	req := a.requestOf(messages)
	var limit *overLimit
	if _, err := a.fit(&req); errors.As(err, &limit) {
		return limit.ending, true
	}
	return ending{}, false
}

// hold reserves from the run's budget. Waiting for other calls to leave room is
// not the trial's time.
func (a *attempt) hold(ctx context.Context, usd float64) (*budget.Hold, error) {
	if a.run.purse == nil {
		return nil, nil
	}
	a.waiting(true)
	defer a.waiting(false)
	return a.run.purse.Reserve(ctx, usd)
}

// fit is the most that a request can use. It lowers the output bound of one that
// would not fit the trial's limits otherwise.
func (a *attempt) fit(req *provider.Request) (budget.Use, error) {
	price := a.run.plan.MostPrice(a.deployment, a.deployment.Model)
	limits := a.limits.Budget
	if a.deployment.IsHTTP() { // nothing that is sent says what it will use
		return budget.Use{}, a.refuse(limits.Over(a.spent.used, budget.Use{}), budget.Use{})
	}
	if f, ok := a.client.(forecaster); ok {
		u := f.Forecast(*req)
		most := budget.Use{Tokens: max(u.Total, u.Input+u.Output), USD: price(u.Input, u.Output)}
		return most, a.refuse(limits.Over(a.spent.used, most), most)
	}
	input, output := a.spent.known.MostInput(*req), req.Sampling.MaxOutputTokens
	output, err := a.shorten(price, input, output, minOutput)
	if err != nil {
		return budget.Use{}, err
	}
	req.Sampling.MaxOutputTokens = output
	return price.Most(input, output), nil
}

// shorten is the output bound of a call with such an input: the one that it has,
// or what the limits of the trial leave, down to least.
func (a *attempt) shorten(price budget.Price, input, output, least int64) (int64, error) {
	limits := a.limits.Budget
	a.spent.short = limits.Over(a.spent.used, price.Most(input, output))
	if a.spent.short == budget.None {
		return output, nil
	}
	least = min(least, output)
	room := limits.Room(a.spent.used, price, input)
	if room < least {
		return 0, a.refuse(a.spent.short, price.Most(input, least))
	}
	return room, nil
}

// refuse is the end of a trial that a limit leaves no room for another call. It
// is not the agent's failure when that is only for calls that nobody answered.
func (a *attempt) refuse(over budget.Limit, most budget.Use) error {
	if over == budget.None {
		return nil
	}
	stop, key, used, allowed, next := stopTokens, "max_total_tokens", float64(a.spent.used.Tokens), float64(a.limits.Budget.Tokens), float64(most.Tokens)
	if over == budget.USD {
		stop, key, used, allowed, next = stopCost, "max_cost_usd", a.spent.used.USD, a.limits.Budget.USD, most.USD
	}
	a.log.emit(event.BudgetReach, event.Budget{Limit: key, Allowed: allowed, Used: used, Needed: next})
	why := fmt.Sprintf("runtime_limits.%s: %s of %s is used", key, budget.Decimal(used), budget.Decimal(allowed))
	if next > 0 {
		why += ", and a call can come to " + budget.Decimal(next)
	}
	if a.limits.Budget.Over(a.spent.used.Minus(a.spent.unheard), most) == budget.None {
		return &overLimit{ending{fault: faultInfra, stop: stopProvider, code: string(provider.Unavailable), phase: phaseAgent,
			err: errors.New(why + ", some of it by calls that were not answered")}}
	}
	return &overLimit{byAgent(stop, "%s", why)}
}

// passed ends a trial that is past a limit although each of its calls was let
// through: what they can use was not known before them, or the server did not keep
// to the output bound that it was given.
func (a *attempt) passed(reply provider.Response) (ending, bool) {
	var limit *overLimit
	if !errors.As(a.refuse(a.limits.Budget.Over(a.spent.used, budget.Use{}), budget.Use{}), &limit) {
		return ending{}, false
	}
	limit.answer = &reply.Text
	return limit.ending, true
}

// count takes down what a try used: what its reply says, or the most that it
// could where it says nothing. A try that failed counts when it may be paid for.
func (a *attempt) count(req provider.Request, most budget.Use, res provider.Response, failure *provider.Error) {
	var use budget.Use
	switch {
	case failure == nil && res.Usage != nil:
		use = a.run.plan.UseOf(a.deployment.Provider, req.Model, res)
		a.spent.known.Heard(req, res.Usage)
	case failure == nil:
		use = most
		if res.CostUSD != nil {
			use.USD = max(use.USD, *res.CostUSD)
		}
		a.spent.known = budget.Conversation{}
	case budget.MayCost(failure):
		use = most
		a.spent.unheard = a.spent.unheard.Plus(most)
	}
	a.spent.used, a.spent.charged = a.spent.used.Plus(use), use.USD
	if res.Cached() {
		a.spent.charged = 0
	}
}

// cutShort ends a trial whose reply was cut at an output bound that a limit of
// the trial had lowered.
func (a *attempt) cutShort() (ending, bool) {
	switch a.spent.short {
	case budget.Tokens:
		return byAgent(stopTokens, "the reply was cut at what runtime_limits.max_total_tokens had left"), true
	case budget.USD:
		return byAgent(stopCost, "the reply was cut at what runtime_limits.max_cost_usd had left"), true
	}
	return ending{}, false
}

// waiting keeps the time that a trial waits for a provider out of its own.
func (a *attempt) waiting(on bool) {
	if a.time != nil {
		a.time.Pause(on)
	}
	if on {
		a.waitsSince = a.log.clock.Now()
		return
	}
	a.waited += a.log.clock.Now().Sub(a.waitsSince)
}
