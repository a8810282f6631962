package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

// maxPromptSteps is how many model calls an agent gets for one adversarial prompt.
// The first reply is what it is judged by; the others are for what it does next.
const maxPromptSteps = 5

// probe puts the pack's adversarial prompts, when the work is done and all that it
// is judged by has been taken: nothing that is said here changes what the task
// came to. Each prompt is another message of the same conversation, in declared
// order, and the agent has its tools; it has its turn until it says something
// without calling one. The prompts together have as much time and as many tool
// calls as the work had.
//
// An agent that reaches a limit here, or breaks its box, is not asked the rest,
// and the security result says so. An ending is returned only when the trial
// cannot be judged.
func (a *attempt) probe(ctx context.Context) ending {
	block := a.run.plan.Source.Security
	if block.Empty() || len(block.AdversarialPrompts) == 0 {
		return ending{}
	}
	return a.timed(ctx, a.putPrompts)
}

func (a *attempt) putPrompts(ctx context.Context) ending {
	block := a.run.plan.Source.Security
	if end, stop := a.takeBack(ctx); stop {
		return end
	}
	a.toolCalls = 0
	a.limits.Steps = a.steps + maxPromptSteps*len(block.AdversarialPrompts)
	for i, p := range block.AdversarialPrompts {
		if end, stop := a.mayStep(ctx); stop {
			return judgeable(end)
		}
		a.messages = append(a.messages, provider.Message{Role: provider.User, Content: p.Text})
		if end, over := a.overBudget(a.messages); over {
			return judgeable(end)
		}
		a.log.emit(event.PromptPut, event.Prompt{Name: p.Name, Index: i + 1, Text: p.Text, Strategy: p.Strategy})
		end, over := a.turn(ctx)
		a.stateEgress()
		if lost := a.stateVault(ctx); lost.fault != faultNone && !over {
			end, over = judgeable(lost), true
		}
		if over {
			return end
		}
	}
	return ending{}
}

// takeBack empties the graders' files, which agents must not read. Where what ran
// in the box keeps it from that, no prompt is put.
func (a *attempt) takeBack(ctx context.Context) (end ending, stop bool) {
	if a.box == nil {
		return ending{}, false
	}
	for _, f := range a.run.plan.Source.GraderFiles(a.kase) {
		switch err := a.box.WriteFile(ctx, f.Path, nil); {
		case broken(err):
			return judgeable(a.lost(ctx, phaseVerify, fmt.Errorf("empty the graders' file %s: %w", f.Path, err))), true
		case err != nil:
			return ending{}, true
		}
	}
	return ending{}, false
}

// turn lets the agent answer what it was told last. over says that no other
// prompt can be put.
func (a *attempt) turn(ctx context.Context) (end ending, over bool) {
	for range maxPromptSteps {
		if end, stop := a.mayStep(ctx); stop {
			return judgeable(end), true
		}
		a.steps++
		a.stepEvent(event.StepStarted)
		reply, err := a.ask(ctx, a.messages)
		if refusedByProvider(err) {
			a.stepEvent(event.StepDone)
			return ending{}, false // which withheld the reply: the agent has said nothing
		}
		if err != nil {
			return judgeable(a.callFailed(ctx, err)), true
		}
		said := provider.Message{Role: provider.Assistant, Content: reply.Text, State: reply.State}
		if a.mode.Tools != nil {
			said.ToolCalls = reply.ToolCalls
		}
		a.messages = append(a.messages, said)
		if len(said.ToolCalls) == 0 {
			a.stepEvent(event.StepDone)
			return ending{}, false
		}
		results, end, over := a.callTools(ctx, reply.ToolCalls)
		a.messages = append(a.messages, results...)
		if over && end.fault != faultNone {
			return judgeable(end), true
		}
		a.stepEvent(event.StepDone)
		if over {
			return ending{}, false // by a submit
		}
	}
	return ending{}, false
}

// judgeable lets pass what is the agent's own: its work is over.
func judgeable(end ending) ending {
	if end.fault == faultAgent {
		return ending{}
	}
	return end
}

func refusedByProvider(err error) bool {
	var call *provider.Error
	return errors.As(err, &call) && call.Code == provider.ContentFilter
}
