package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

// ErrTimeUp is the cause of a trial's own deadline. It is recorded as such, and
// is what a recorded call that it ended fails with.
var ErrTimeUp error = timeUp{}

type timeUp struct{}

func (timeUp) Error() string { return "the trial's time is up" }

// Is makes a call that this ends one that timed out.
func (timeUp) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrLastTry is in the chain of a recorded failure that no other try of the same
// call followed, for whatever reason.
var ErrLastTry = errors.New("no other try was recorded")

// Answer is what a tool call came to.
type Answer struct {
	Result []byte // JSON, nil when the call left none
	Lost   *Lost
	TookMS int64
}

// The callers of a run agent's own calls and of those of models that play its
// users; JudgeOf is that of a judge's.
const (
	Agents     = "agent"
	Simulators = "simulator"
)

// JudgeOf names a judge by its model, as the evaluation spec has it.
func JudgeOf(model string) string { return "judge " + model }

// Tape is a recording as an engine uses it: [Recorder] or [Player]. Its calls for
// one trial come from one goroutine.
type Tape interface {
	// Replays says that what was recorded is given, and nothing is asked.
	Replays() bool
	// Tool takes what a call came to and returns what the agent is told.
	Tool(ref provider.Ref, name string, now Answer) (Answer, error)
	// Wait takes the wait between two tries of a call of who, and returns the one
	// that is stated and passes on the clock.
	Wait(ref provider.Ref, who string, now time.Duration) (time.Duration, error)
	// HTTP is an http_request: asked and its answer are JSON. ask makes it.
	HTTP(ref provider.Ref, asked []byte, ask func() ([]byte, error)) ([]byte, error)
	// Egress takes what was decided about the network since it was called last.
	Egress(ref provider.Ref, now []event.Egress) ([]event.Egress, error)
	// Called takes what came of a call of a program that is the agent.
	Called(ref provider.Ref, c ProgramCall) error
	// Program yields all that the program asked in the attempt that is played.
	Program(ref provider.Ref, yield func(ProgramCall) error) error
	// Play gives what a program's request was answered. With over, one after the
	// last is [ErrOver].
	Play(ref provider.Ref, endpoint string, request []byte, over bool) (ProgramCall, error)
	// Unlike is a miss of what cannot be as it was recorded.
	Unlike(ref provider.Ref, what, why string) error
	// Forget lets go of a trial that is over.
	Forget(ref provider.Ref)
	// End ends an attempt, or the rankings of a case. What is not kept is as if
	// it had not been.
	End(ref provider.Ref, keep bool) error
}

// CodeMiss is the code of a run that asked for what is not recorded.
const CodeMiss = "replay_miss"

// Miss is a request that is not in the recording.
type Miss struct {
	Place   Place  `json:"place"`
	What    string `json:"what"`    // such as: call 3 of the agent
	Nearest string `json:"nearest"` // where the nearest recording stands, "" for none
	Differs *Difference
	Why     string // without a Difference
}

func (m *Miss) Error() string {
	s := fmt.Sprintf("%s: %s (%s) ", CodeMiss, m.What, m.Place)
	if m.Differs != nil {
		return s + fmt.Sprintf("is not what was recorded: %s; the nearest recording is %s", m.Differs, m.Nearest)
	}
	s += "is not recorded: " + m.Why
	if m.Nearest != "" {
		s += "; the nearest recording is " + m.Nearest
	}
	return s
}
