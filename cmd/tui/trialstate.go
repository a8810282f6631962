package tui

import (
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// What a trial can be doing, where more than one place has to know.
const (
	writing = "model writing" // text comes in
	waiting = "waits for a person"
)

// The parts of payloads that are read here. The rest of them, such as the
// messages of a call, can be large and is left alone.
type (
	usagePart struct {
		Usage *scoring.Usage `json:"usage"`
		chargePart
	}
	chargePart struct {
		ChargedUSD float64 `json:"charged_usd"`
		Code       string  `json:"code"`
	}
	toolPart struct {
		Name string `json:"tool_name"`
	}
	endPart struct {
		Outcome   scoring.Outcome `json:"outcome"`
		CostUSD   *float64        `json:"cost_usd"`
		WillRetry bool            `json:"will_retry"`
	}
)

func (s *State) trialFact(e event.Event, at time.Time) {
	r := s.running(e, at)
	r.Heard = at
	r.tail.Apply(e)
	s.charge(r, e)
	if phase := phaseOf(e.Type); phase != "" {
		r.Phase = phase
	}
	if doing := s.doing(r, e, at); doing != "" {
		r.Doing = doing
	}
	if e.Type == event.ScoringStart {
		r.carried = false // what is stated from here on is new
	}
}

// phaseOf is the phase of a trial that a fact begins, "" for none.
func phaseOf(kind event.Type) string {
	switch kind {
	case event.Started:
		return "agent"
	case event.Completed, event.Failed:
		return "verification"
	case event.ScoringStart:
		return "scoring"
	}
	return ""
}

// charge counts what calls use.
func (s *State) charge(r *Running, e event.Event) {
	if r.carried {
		return
	}
	switch e.Type {
	case event.CallStarted:
		s.Calls++
	case event.CallDone:
		v, _ := event.Decode[usagePart](e)
		if v.Usage != nil {
			s.InputTokens += v.Usage.InputTokens
			s.OutputTokens += v.Usage.OutputTokens
		}
		s.ChargedUSD += v.ChargedUSD
	case event.CallFailed:
		v, _ := event.Decode[chargePart](e)
		if s.ChargedUSD += v.ChargedUSD; v.Code == "rate_limit" {
			s.RateLimits++
		}
	case event.CallRetried:
		s.Retries++
	case event.JudgeDone, event.TurnSimulated:
		v, _ := event.Decode[chargePart](e)
		s.ChargedUSD += v.ChargedUSD
	}
}

// doing is what a trial does from a fact on, "" when that is no news.
func (s *State) doing(r *Running, e event.Event, at time.Time) string {
	switch e.Type {
	case event.Started:
		return "starting"
	case event.StepStarted:
		v, _ := event.Decode[event.Step](e)
		r.Step = v.StepIndex
	case event.CallStarted:
		return "model"
	case event.JudgeStarted:
		return "judge"
	case event.OutputDelta:
		return writing
	case event.CallRetried:
		return "waiting to call again"
	case event.CallDone:
		return "next step"
	case event.ToolStarted:
		v, _ := event.Decode[toolPart](e)
		r.LastTool = clean(v.Name)
		return "tool " + r.LastTool
	case event.ToolDone, event.ToolFailed:
		return "next step"
	case event.TurnAwaiting:
		s.awaiting(r, e, at)
		return waiting
	case event.TurnAssistant:
		s.awaiting(r, e, at)
	case event.TurnUser, event.TurnExpired:
		s.awaiting(r, e, at)
		return "next step"
	case event.TurnAsked:
		return "simulated user"
	case event.CommandStart:
		if r.Phase == "agent" {
			return "program"
		}
		return "checks"
	case event.Completed, event.Failed, event.FileCaptured, event.DirListed, event.CodeExecuted:
		return "checks"
	case event.ScoringStart:
		return "scoring"
	}
	return ""
}
