package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

// tapedResult is a tool's result as it is recorded.
type tapedResult struct {
	Content          string   `json:"content"`
	IsError          bool     `json:"is_error,omitempty"`
	Origin           string   `json:"failure_origin,omitempty"`
	Limit            string   `json:"limit,omitempty"`
	Category         string   `json:"tool_category,omitempty"`
	Answer           *string  `json:"answer,omitempty"`
	Chain            []string `json:"resolution_chain,omitempty"`
	ResolvedName     string   `json:"resolved_tool_name,omitempty"`
	ResolvedCategory string   `json:"resolved_tool_category,omitempty"`
}

func (a *attempt) ref() provider.Ref {
	return provider.Ref{Agent: a.agent.Label, Case: a.trial.CaseKey, Repetition: a.trial.Repetition, Attempt: a.number}
}

// useTool runs a call for its effect. With a recording, the clock goes on by the
// time that was recorded, and on a replay the agent is told what was recorded,
// whatever the tool says now.
func (a *attempt) useTool(ctx context.Context, call provider.ToolCall) (tool.Result, error) {
	tape := a.run.deps.Tape
	if tape == nil {
		return a.tools.Call(ctx, a.bench, call)
	}
	began := a.run.deps.Now()
	result, err := a.tools.Call(ctx, a.bench, call)
	if isMiss(err) || tape.Replays() && err != nil && ctx.Err() != nil {
		return tool.Result{}, err
	}
	now, err := a.tapedAnswer(ctx, result, err)
	if err != nil {
		return tool.Result{}, err
	}
	if a.deployment.Provider != provider.Scripted { // whose trials have no time of their own
		now.TookMS = a.run.deps.Now().Sub(began).Milliseconds()
	}
	was, err := tape.Tool(a.ref(), strings.TrimSpace(call.Name), now)
	if err != nil {
		return tool.Result{}, err
	}
	a.log.clock.pass(time.Duration(was.TookMS) * time.Millisecond)
	switch {
	case was.Lost != nil:
		if tape.Replays() && was.Lost.Kind != "" {
			a.closeBox(ctx) // as it was, nothing more can be got from it
		}
		return tool.Result{}, recordedLoss{*was.Lost}
	case now.Lost != nil:
		return tool.Result{}, recordedLoss{*now.Lost} // the box is gone, whatever was recorded
	}
	var told tapedResult
	if err := json.Unmarshal(was.Result, &told); err != nil {
		return tool.Result{}, fmt.Errorf("read the recorded result of %s: %w", call.Name, err)
	}
	if d, differ := record.Drift(was.Result, now.Result); tape.Replays() && differ {
		a.drifts = append(a.drifts, event.Drift{
			ToolCallID: call.ID, ToolName: strings.TrimSpace(call.Name), Field: d.Field, Recorded: d.Recorded, Now: d.Now,
		})
	}
	return tool.Result(told), nil
}

// stateDrifts states what tools said otherwise than when they were recorded. That
// is last, so that all other facts have the numbers that they had then.
func (a *attempt) stateDrifts() {
	for _, d := range a.drifts {
		a.log.emit(event.ToolDrift, d)
	}
	a.drifts = nil
}

func (a *attempt) tapedAnswer(ctx context.Context, result tool.Result, err error) (record.Answer, error) {
	if err != nil {
		lost := record.Lost{Error: a.run.redact.Text(err.Error()), TimeUp: errors.Is(context.Cause(ctx), errTrialTimeout)}
		var box *sandbox.BoxError
		if errors.As(err, &box) {
			lost.Kind, lost.Limit, lost.Detail = string(box.Kind), box.Limit, event.Clip(box.Detail, maxReason)
		}
		return record.Answer{Lost: &lost}, nil
	}
	raw, err := event.Marshal(tapedResult(result))
	return record.Answer{Result: a.run.redact.JSON(raw)}, err
}

// recordedLoss is a call that left no answer when it was recorded.
type recordedLoss struct{ record.Lost }

func (l recordedLoss) Error() string { return l.Lost.Error }

func (l recordedLoss) Unwrap() error {
	switch {
	case l.TimeUp:
		return errTrialTimeout
	case l.Kind != "":
		return &sandbox.BoxError{Kind: sandbox.Kind(l.Kind), Limit: l.Limit, Detail: l.Detail, Err: errors.New("as recorded")}
	}
	return nil
}

// tapeHTTP is an http_request: recorded, or answered from the recording.
func (a *attempt) tapeHTTP(asked tool.HTTPRequest, ask func() (tool.HTTPAnswer, error)) (tool.HTTPAnswer, error) {
	question, err := event.Marshal(asked)
	if err != nil {
		return tool.HTTPAnswer{}, err
	}
	raw, err := a.run.deps.Tape.HTTP(a.ref(), question, func() ([]byte, error) {
		answer, err := ask()
		if err != nil {
			return nil, err
		}
		return event.Marshal(answer)
	})
	if err != nil {
		return tool.HTTPAnswer{}, err
	}
	var answer tool.HTTPAnswer
	return answer, json.Unmarshal(raw, &answer)
}

// tapeWait is the wait between two tries of the agent's calls, as it is stated.
func (a *attempt) tapeWait(now time.Duration) time.Duration { return a.tapeWaitOf(record.Agents, now) }

func (a *attempt) tapeWaitOf(who string, now time.Duration) time.Duration {
	if a.run.deps.Tape == nil {
		return now
	}
	wait, err := a.run.deps.Tape.Wait(a.ref(), who, now)
	if err != nil && a.log.err == nil {
		a.log.err = err
	}
	return wait
}

// tapeWait is the wait between two tries of a call to a judge. What goes wrong
// with the recording ends the attempt when its part of it does.
func (p *panel) tapeWait(q scoring.Question, now time.Duration) time.Duration {
	if p.tape == nil {
		return now
	}
	if wait, err := p.tape.Wait(p.ref, record.JudgeOf(q.Model), now); err == nil {
		return wait
	}
	return now
}

// tapeEgress takes what was decided about the network and returns what is stated
// of it: on a replay what was recorded, for nothing is permitted then.
func (a *attempt) tapeEgress(now []event.Egress) []event.Egress {
	if a.run.deps.Tape == nil {
		return now
	}
	was, err := a.run.deps.Tape.Egress(a.ref(), now)
	if err != nil && a.log.err == nil {
		a.log.err = err
	}
	return was
}

// endTape ends the attempt's part of a recording. What was lost to this machine
// and not to a model is left out: a replay could not lose it again.
func (a *attempt) endTape(end ending) error {
	if a.run.deps.Tape == nil {
		return nil
	}
	return a.run.deps.Tape.End(a.ref(), end.scored() || end.call != nil || end.fault == faultPack)
}

// triedAgain says whether a recorded call was tried again.
func triedAgain(t provider.FailedTry) bool { return !errors.Is(t.Err, record.ErrLastTry) }

// isMiss says that a replay asked for what is not recorded.
func isMiss(err error) bool {
	var miss *record.Miss
	return errors.As(err, &miss)
}
