package plan

import (
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// Charges adds up what a stored run has taken of its budget, from its events in
// the order in which they were stored. A call that was begun and whose end is
// not known counts for what was set aside for it.
type Charges struct {
	plan    *Plan
	usd     float64
	open    map[string]float64 // set aside, by call
	last    map[string]float64 // set aside for the last try of an agent's or a user's call
	asked   map[string]string  // the model of that call
	queued  map[string]time.Time
	carried map[string]bool // attempts whose agent's part is another's
	heard   map[string]bool // judges' replies that have been counted
}

// ChargeTypes are the kinds of facts that Apply looks at.
func ChargeTypes() []string {
	return []string{string(event.TrialQueued), string(event.CallStarted), string(event.CallFailed), string(event.CallRetried), string(event.CallDone), string(event.TurnAsked), string(event.TurnSimulated),
		string(event.JudgeStarted), string(event.JudgeDone)}
}

// NewCharges is a sum of nothing. The plan prices calls that were made before
// the run had a budget; it must have its pack.
func NewCharges(p *Plan) *Charges {
	return &Charges{plan: p, open: map[string]float64{}, last: map[string]float64{}, asked: map[string]string{}, queued: map[string]time.Time{},
		carried: map[string]bool{}, heard: map[string]bool{}}
}

// USD is the sum.
func (c *Charges) USD() float64 {
	sum := c.usd
	for _, usd := range c.open {
		sum += usd
	}
	return sum
}

// Apply counts one event.
func (c *Charges) Apply(e event.Event) error {
	attempt := fmt.Sprint(e.TrialID, " ", e.Attempt)
	if e.Type == event.TrialQueued {
		q, err := event.Decode[event.Queue](e)
		c.queued[attempt], c.carried[attempt] = e.OccurredAt, q.Judging != nil
		return err
	}
	if e.OccurredAt.Before(c.queued[attempt]) {
		return nil // stated again, at the time when it was a fact of another attempt
	}
	if e.Type == event.JudgeStarted || e.Type == event.JudgeDone {
		return c.judge(e)
	}
	if c.carried[attempt] && e.Source != event.SourceScoring {
		return nil // the facts are another attempt's, stated again
	}
	switch e.Type {
	case event.CallStarted:
		v, err := event.Decode[event.Call](e)
		c.begin(attempt, v.Model, v.ReservedUSD)
		return err
	case event.TurnAsked:
		v, err := event.Decode[event.SimulatorCall](e)
		c.begin(user(attempt), v.Model, v.ReservedUSD)
		return err
	case event.CallDone:
		v, err := event.Decode[event.CallEnd](e)
		if v.Cached { // nobody is paid for it again
			v.Usage = nil
		}
		c.close(attempt, c.orPrice(v.ChargedUSD, v.ProviderKey, c.asked[attempt], provider.Response{Model: v.ProviderModelID, Usage: v.Usage}))
		return err
	case event.TurnSimulated:
		v, err := event.Decode[event.SimulatedTurn](e)
		if v.Cached {
			v.Usage = nil
		}
		of := user(attempt)
		c.close(of, c.orPrice(v.ChargedUSD, v.ProviderKey, c.asked[of], provider.Response{Model: v.ProviderModelID, Usage: v.Usage}))
		return err
	case event.CallFailed, event.CallRetried:
		v, err := event.Decode[event.CallError](e)
		of := attempt
		if v.PhaseID != "" {
			of = user(attempt)
		}
		switch {
		case v.JudgeKey != "": // its question stays open
			c.usd += v.ChargedUSD
		case e.Type == event.CallFailed:
			c.close(of, v.ChargedUSD)
		default:
			c.open[of] = c.last[of]
		}
		return err
	}
	return nil
}

// user names the call of an attempt that is to a user's model.
func user(attempt string) string { return "user " + attempt }

// begin takes down what is set aside for a call.
func (c *Charges) begin(call, model string, usd float64) {
	c.open[call], c.last[call], c.asked[call] = usd, usd, model
}

// orPrice is what a call was charged, or costs by its usage.
func (c *Charges) orPrice(usd float64, providerKey, asked string, res provider.Response) float64 {
	if usd > 0 || res.Usage == nil {
		return usd
	}
	return c.plan.UseOf(providerKey, asked, res).USD
}

func (c *Charges) close(call string, usd float64) {
	delete(c.open, call)
	c.usd += usd
}

// judge counts a judge's question. Each has one reply that stands, which later
// attempts state again; one that was given about several trials is counted as
// the run's fact.
func (c *Charges) judge(e event.Event) error {
	if e.Type == event.JudgeStarted {
		v, err := event.Decode[event.JudgeCall](e)
		c.open[asking(e, v.QuestionID, v.JudgeKey, v.JudgeModel, v.SampleIndex, v.CaseKey, v.Repetition)] = v.Reserved.CostUSD
		return err
	}
	v, err := event.Decode[event.JudgeReply](e)
	if err != nil || v.Shared {
		return err
	}
	of := asking(e, v.QuestionID, v.JudgeKey, v.JudgeModel, v.SampleIndex, v.CaseKey, v.Repetition)
	if c.heard[of] {
		delete(c.open, of)
		return nil
	}
	c.heard[of] = v.Status == scoring.JudgeAnswered
	if v.Cached {
		v.Usage = nil
	}
	c.close(of, c.orPrice(v.ChargedUSD, v.ProviderKey, c.plan.Judge(v.JudgeModel).Model, provider.Response{Model: v.ProviderModelID, Usage: v.Usage}))
	return nil
}

// asking names a judge's question, whichever attempt of a trial asks it.
func asking(e event.Event, parts ...any) string {
	return fmt.Sprint(append([]any{"judge ", e.TrialID, " "}, fmt.Sprintf("%q", parts))...)
}
