package view

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
)

func describeTurn(e event.Event) (string, error) {
	switch e.Type {
	case event.PhaseDecided:
		return told(e, func(v event.PhaseDecision) string {
			what := "is skipped"
			if v.Runs {
				what = "begins"
			}
			return because(fmt.Sprintf("%s (%s, %s) %s", v.PhaseID, v.Actor, v.Trigger, what), excerpt(v.Reason))
		})
	case event.TurnUser:
		return told(e, func(v event.UserTurn) string {
			return because(turnAt(v.TurnIndex, v.PhaseID, v.Actor), excerpt(v.Content))
		})
	case event.TurnAsked:
		return told(e, func(v event.SimulatorCall) string {
			return fmt.Sprintf("%s, %s/%s", turnAt(v.TurnIndex, v.PhaseID, v.Actor), v.ProviderKey, v.Model)
		})
	case event.TurnSimulated:
		return told(e, func(v event.SimulatedTurn) string {
			tokens := "tokens unknown"
			if v.Usage != nil {
				tokens = Tokens(v.Usage.Input) + " in, " + Tokens(v.Usage.Output) + " out"
			}
			return fmt.Sprintf("%s by %s/%s, %s, %s", turnAt(v.TurnIndex, v.PhaseID, v.Actor), v.ProviderKey, v.ProviderModelID, tokens,
				Duration(ms(v.Timing.TotalLatencyMS)))
		})
	case event.TurnAssistant:
		return told(e, func(v event.AssistantTurn) string {
			return because(turnAt(v.TurnIndex, v.PhaseID, ""), excerpt(v.Content))
		})
	case event.TurnDone:
		return told(e, turnEnd)
	case event.TurnAwaiting, event.TurnExpired:
		return told(e, func(v event.HumanWait) string {
			what := turnAt(v.TurnIndex, v.PhaseID, "")
			if v.TimeoutMS > 0 {
				what += " for " + Duration(ms(v.TimeoutMS))
			}
			return because(what, excerpt(cmp.Or(v.Reason, v.PromptHint)))
		})
	}
	return told(e, func(v event.ConversationEnd) string {
		s := fmt.Sprintf("%s, %s", or(v.StopReason), count(v.TurnCount, "turn"))
		if n := len(v.MismatchTurns); n > 0 {
			s += ", " + count(n, "mismatch")
		}
		if v.Calibration {
			s += ", to be looked at by people"
		}
		return s
	})
}

// turnAt names a turn.
func turnAt(index int, phase, actor string) string {
	s := "turn " + strconv.Itoa(index) + " of " + or(phase)
	if actor != "" {
		s += " (" + actor + ")"
	}
	return s
}

func turnEnd(v event.TurnEnd) string {
	s := turnAt(v.TurnIndex, v.PhaseID, v.Actor)
	if !v.Mismatch {
		return s
	}
	var missed []string
	for _, x := range v.Expectations {
		if !x.Met {
			missed = append(missed, x.Key+": "+x.Reason)
		}
	}
	return because(s+", mismatch", excerpt(strings.Join(missed, "; ")))
}

// conversation writes what was said, a turn at a time.
func (p *printer) conversation(steps []event.ReplayStep) {
	titled := false
	for _, s := range steps {
		if s.Type != "turn" {
			continue
		}
		if !titled {
			p.blank()
			p.title("Conversation")
			titled = true
		}
		p.line("  " + SanitizeLine(s.Headline) + " (" + SanitizeLine(s.PhaseID) + ")")
		p.block(4, shownLines, "user: "+s.UserMessage)
		if s.AssistantMessage != "" {
			p.block(4, shownLines, "assistant: "+s.AssistantMessage)
		}
	}
}

// HumanTurn is a turn that a person was, or is to be, asked for.
type HumanTurn struct {
	RunID         string     `json:"run_id"`
	RunAgentID    string     `json:"run_agent_id"`
	RunAgentLabel string     `json:"run_agent_label"`
	TrialID       string     `json:"trial_id"`
	CaseKey       string     `json:"case_key"`
	Repetition    int        `json:"repetition"`
	Attempt       int        `json:"attempt"`
	PhaseID       string     `json:"phase_id"`
	TurnIndex     int        `json:"turn_index"`
	State         string     `json:"state"` // awaiting, submitted or expired
	PromptHint    string     `json:"prompt_hint"`
	AskedAt       time.Time  `json:"asked_at"`
	ExpiresAt     time.Time  `json:"expires_at"`
	AnsweredAt    *time.Time `json:"answered_at,omitempty"`
}

// HumanTurns writes the turns of people, the newest last.
func HumanTurns(w io.Writer, turns []HumanTurn, o Options) error {
	p := newPrinter(w, o)
	t := Table{Columns: []Column{whole("TRIAL"), left("AGENT"), left("CASE"), left("PHASE"), right("TURN"), whole("STATE"), right("LEFT"), left("HINT")}}
	for _, h := range turns {
		rest := absent
		if h.State == "awaiting" {
			rest = Duration(max(h.ExpiresAt.Sub(o.Now), 0).Round(time.Second))
		}
		t.Add(Text(o.ID(h.TrialID)), Text(h.RunAgentLabel), Text(trialName(h.CaseKey, h.Repetition)), Text(h.PhaseID),
			Text(strconv.Itoa(h.TurnIndex)), Status(h.State), Text(rest), Text(excerpt(h.PromptHint)))
	}
	p.table(&t)
	return p.flush()
}

// CalibrationTrial is a trial whose conversation people are to look at.
type CalibrationTrial struct {
	RunAgentID    string `json:"run_agent_id"`
	RunAgentLabel string `json:"run_agent_label"`
	TrialID       string `json:"trial_id"`
	CaseKey       string `json:"case_key"`
	Repetition    int    `json:"repetition"`
	Outcome       string `json:"outcome"`
	Turns         int    `json:"turn_count"`
	StopReason    string `json:"stop_reason"`
}

// CalibrationTrials writes the trials that people are to look at.
func CalibrationTrials(w io.Writer, trials []CalibrationTrial, o Options) error {
	p := newPrinter(w, o)
	t := Table{Columns: []Column{whole("TRIAL"), left("AGENT"), left("CASE"), right("TURNS"), left("STOP REASON"), whole("OUTCOME")}}
	for _, c := range trials {
		t.Add(Text(o.ID(c.TrialID)), Text(c.RunAgentLabel), Text(trialName(c.CaseKey, c.Repetition)), Text(strconv.Itoa(c.Turns)),
			Text(c.StopReason), Status(c.Outcome))
	}
	p.table(&t)
	return p.flush()
}
