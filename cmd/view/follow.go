package view

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// Follow is a sink that writes one plain line for each fact worth one: time,
// agent and trial, what happened. It is what `--follow` shows where there is
// no screen, so its lines are made to be searched:
//
//	15:04:05 gpt fizzbuzz#1 tool exec {"command":"pytest"}, 812ms
//	15:04:09 gpt fizzbuzz#1 passed 1.00 [3/6]
//
// Colour, when o permits it, is on the words for an outcome or for trouble.
func Follow(w io.Writer, o Options) event.Sink {
	f := &follower{w: w, o: o}
	return event.SinkFunc(f.emit)
}

type follower struct {
	mu    sync.Mutex
	w     io.Writer
	o     Options
	lanes lanes
	total int // trials this process will run
	done  int
	ended map[scoring.Outcome]int
	again map[string]bool // trials that ended invalid, and may run again
}

func (f *follower) emit(_ context.Context, e event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lanes.learn(e)
	what := f.what(e)
	if what == "" {
		return nil
	}
	return writeLine(f.w, f.o, clock(e.OccurredAt, f.o)+" "+f.lanes.subject(e)+" "+what)
}

// what is the line's end, or "" for a fact that gets no line.
func (f *follower) what(e event.Event) string {
	switch e.Type {
	case event.RunStarted:
		if v, err := event.Decode[event.RunStart](e); err == nil {
			f.total = v.Trials
		}
		return "started: " + Describe(e)
	case event.RunFinished:
		return f.runEnd(e)
	case event.TrialDone:
		return f.trialEnd(e)
	case event.TrialQueued:
		return because(joined("queued", attempt(e.Attempt)), Describe(e))
	case event.Started:
		return "started " + Describe(e)
	case event.CallDone:
		return "model call: " + Describe(e)
	case event.JudgeDone:
		if v, err := event.Decode[event.JudgeReply](e); err == nil && v.Shared {
			return "" // the run's own fact has said it
		}
		return "judge " + Describe(e)
	case event.CallRetried:
		return Waiting.Paint("retry", f.o.Color) + ": " + Describe(e)
	case event.CallFailed:
		return Bad.Paint("model call failed", f.o.Color) + ": " + Describe(e)
	case event.CallRefused:
		return Bad.Paint("model call refused", f.o.Color) + ": " + Describe(e)
	case event.ToolDone, event.ToolFailed:
		return "tool " + Describe(e)
	case event.ToolDrift:
		return Waiting.Paint("tool drift", f.o.Color) + ": " + Describe(e)
	case event.PhaseDecided, event.TurnUser, event.TurnAssistant, event.TurnAwaiting, event.TurnExpired, event.ConversationDone:
		return f.turn(e)
	case event.Standings:
		return "peer standings " + Describe(e)
	case event.SandboxLost:
		return Bad.Paint("sandbox lost", f.o.Color) + ": " + Describe(e)
	case event.BudgetReach:
		return "limit reached: " + Describe(e)
	case event.Decided:
		return "decided: " + Describe(e)
	case event.RunAdjusted:
		return Waiting.Paint("steered", f.o.Color) + ": " + Describe(e)
	case event.RunPaced:
		if v, err := event.Decode[event.Pacing](e); err == nil && v.HeldUntil == nil {
			return "" // that it goes faster or slower is nothing to wait for
		}
		return "pace: " + Describe(e)
	case event.ScoringFail:
		return Bad.Paint("scoring failed", f.o.Color) + ": " + Describe(e)
	}
	return ""
}

// turn is what a conversation says. Waiting for a person stands out: it is for the
// reader.
func (f *follower) turn(e event.Event) string {
	switch e.Type {
	case event.PhaseDecided:
		return "phase " + Describe(e)
	case event.TurnUser:
		return "user " + Describe(e)
	case event.TurnAssistant:
		return "answer " + Describe(e)
	case event.TurnAwaiting:
		if v, err := event.Decode[event.HumanWait](e); err == nil && v.TimeoutMS == 0 {
			return "" // nobody is waited for, as the next fact says
		}
		return Waiting.Paint("awaiting a person", f.o.Color) + ": " + Describe(e) + "; answer: agentclash run turn submit " + ShortID(e.TrialID) + " --message TEXT"
	case event.TurnExpired:
		return Waiting.Paint("nobody answered", f.o.Color) + ": " + Describe(e)
	}
	return "conversation over: " + Describe(e)
}

// trialEnd counts the trial and says how far the run is. A trial that will be
// tried again is not done, and one that was run again counts once.
func (f *follower) trialEnd(e event.Event) string {
	v, err := event.Decode[event.TrialEnd](e)
	if err != nil {
		return "finished: " + Describe(e)
	}
	what := Describe(e)
	word := SanitizeLine(string(v.Outcome))
	if len(what) >= len(word) && what[:len(word)] == word {
		what = StatusStyle(word).Paint(word, f.o.Color) + what[len(word):]
	}
	if v.WillRetry {
		return what
	}
	if f.ended == nil {
		f.ended, f.again = map[scoring.Outcome]int{}, map[string]bool{}
	}
	if f.again[e.TrialID] {
		f.done--
		f.ended[scoring.OutcomeInvalid]--
		delete(f.again, e.TrialID)
	}
	f.done++
	f.ended[v.Outcome]++
	if v.Outcome == scoring.OutcomeInvalid {
		f.again[e.TrialID] = true
	}
	return what + " " + f.progress()
}

func (f *follower) progress() string {
	if f.total == 0 {
		return fmt.Sprintf("[%d]", f.done)
	}
	return fmt.Sprintf("[%d/%d]", f.done, f.total)
}

func (f *follower) runEnd(e event.Event) string {
	what := Describe(e)
	if v, err := event.Decode[event.RunEnd](e); err == nil {
		what = because(StatusStyle(v.Status).Paint(SanitizeLine(v.Status), f.o.Color), SanitizeLine(v.Reason))
	}
	return fmt.Sprintf("%s: %d passed, %d failed, %d invalid %s", what,
		f.ended[scoring.OutcomePassed], f.ended[scoring.OutcomeFailed], f.ended[scoring.OutcomeInvalid], f.progress())
}

func joined(a, b string) string {
	if b == "" {
		return a
	}
	return a + ", " + b
}

// FollowJSON is a sink that writes newline-delimited JSON: first one line
// {"type":"run.created","run":{...}} that names the run, then every stored
// fact as it is. The run's fields are those of run.started.
func FollowJSON(w io.Writer) event.Sink {
	f := &jsonFollower{w: w}
	return event.SinkFunc(f.emit)
}

type jsonFollower struct {
	mu     sync.Mutex
	w      io.Writer
	opened bool
}

// runCreated is the first line of the stream.
type runCreated struct {
	Type string      `json:"type"`
	Run  followedRun `json:"run"`
}

type followedRun struct {
	RunID  string `json:"run_id"`
	Status string `json:"status"`
	event.RunStart
}

func (f *jsonFollower) emit(_ context.Context, e event.Event) error {
	if e.Transient {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.opened {
		first := runCreated{Type: "run.created", Run: followedRun{RunID: e.RunID, Status: "running"}}
		if e.Type == event.RunStarted {
			first.Run.RunStart, _ = event.Decode[event.RunStart](e) // the fact itself follows, whatever it holds
		}
		if err := writeJSONLine(f.w, first); err != nil {
			return err
		}
		f.opened = true
	}
	return writeJSONLine(f.w, e)
}
