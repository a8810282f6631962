package turn

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/pack"
)

// DefaultMaxTurns is how many turns a conversation has at most when its pack
// does not say.
const DefaultMaxTurns = 50

// The triggers that need somebody else to say whether a phase runs; the others
// are decided by the conversation itself.
const (
	OnValidatorFail = "on_validator_fail"
	OnJudgeBelow    = "on_judge_below"
	OnAgentLoop     = "on_agent_loop"
	Manual          = "manual"
)

// The other triggers.
const (
	Always              = "always"
	Never               = "never"
	OnAssistantMismatch = "on_assistant_mismatch"
	OnMaxLLMTurns       = "on_max_llm_turns"
)

// The stop reasons of a conversation that came to its end.
const (
	StopCompleted = "completed"
	StopMaxTurns  = "max_turns"
)

// Kind says what a [Move] is.
type Kind int

// The kinds of moves.
const (
	Decide Kind = iota // say by [Talk.Begin] whether Phase runs
	Speak              // have the user of Phase say something and the agent answer: [Talk.Took]
	End                // the conversation is over, for the reason in Stop
)

// Move is what comes next.
type Move struct {
	Kind  Kind
	Phase pack.Phase // with its id, actor and trigger trimmed
	// Place is the phase's among all, and Turn the turn's in the conversation, both
	// from 0.
	Place, Turn int
	// Script is what a scripted user says next.
	Script pack.Turn
	Stop   string
}

// Line is one thing that was said.
type Line struct{ Actor, Text string }

// Assistant is the actor of what the agent says.
const Assistant = "assistant"

// Talk is a conversation on its way. It is for one goroutine.
type Talk struct {
	phases []pack.Phase
	most   int // turns of the conversation

	place   int  // of the phase that is on, or to be decided
	begun   bool // it runs
	inPhase int  // turns that it has had
	over    bool // its until conditions hold
	turns   int

	mismatched bool // the last turn that was held against what it expects
	capped     bool // the last simulated user's phase ended by a cap
	lines      []Line
	actors     []string
	mismatches []int
	humans     int
}

// New begins a conversation.
func New(u pack.UserSimulator) *Talk {
	t := &Talk{most: cmp.Or(int(u.MaxTurns), DefaultMaxTurns)}
	for _, p := range u.Phases {
		p.ID, p.Actor, p.Trigger = strings.TrimSpace(p.ID), strings.TrimSpace(p.Actor), strings.TrimSpace(p.Trigger)
		p.Trigger = cmp.Or(p.Trigger, Always)
		t.phases = append(t.phases, p)
	}
	return t
}

// Next is what comes next. It changes nothing but the place: asked again before
// anything is reported, it gives the same move.
func (t *Talk) Next() Move {
	for t.place < len(t.phases) {
		p := t.phases[t.place]
		m := Move{Phase: p, Place: t.place, Turn: t.turns}
		switch {
		case !t.begun:
			m.Kind = Decide
			return m
		case t.ended(p):
			t.leave(p)
			continue
		case t.turns >= t.most:
			m.Kind, m.Stop = End, StopMaxTurns
			return m
		}
		m.Kind = Speak
		if p.Actor == pack.ScriptedActor {
			m.Script = p.Turns[t.inPhase]
		}
		return m
	}
	return Move{Kind: End, Stop: StopCompleted, Turn: t.turns}
}

// ended says that a phase has had its turns. That of a simulated user ends at the
// caps; the others end the conversation when it has no turn left for them.
func (t *Talk) ended(p pack.Phase) bool {
	switch p.Actor {
	case pack.ScriptedActor:
		return t.inPhase >= len(p.Turns)
	case pack.HumanActor:
		return t.inPhase >= 1
	}
	return t.over || t.atCap(p)
}

// atCap says that a simulated user has said all that it may.
func (t *Talk) atCap(p pack.Phase) bool {
	return t.turns >= t.most || t.inPhase >= cmp.Or(int(p.MaxTurns), t.most)
}

func (t *Talk) leave(p pack.Phase) {
	if p.Actor == pack.LLMActor {
		t.capped = t.atCap(p) && (!t.over || slices.ContainsFunc(p.Until, func(c string) bool { return strings.TrimSpace(c) == untilMaxTurns }))
	}
	t.place, t.begun, t.inPhase, t.over = t.place+1, false, 0, false
}

// Decided is whether the phase that is to be decided runs, and why, as far as the
// conversation itself can say; ok is false when somebody else must be asked.
func (t *Talk) Decided() (run bool, why string, ok bool) {
	switch t.phases[t.place].Trigger {
	case Always:
		return true, "the first phase always runs", true
	case Never:
		return false, "it never runs", true
	case OnAssistantMismatch:
		if t.mismatched {
			return true, "the last answer was not what was expected", true
		}
		return false, "the last answer was what was expected", true
	case OnMaxLLMTurns:
		if t.capped {
			return true, "the last simulated user ended at its cap", true
		}
		return false, "no simulated user ended at its cap", true
	}
	return false, "", false
}

// Begin reports whether the phase that was to be decided runs.
func (t *Talk) Begin(run bool) {
	if run {
		t.begun = true
		return
	}
	t.place++
}

// Exchange is a turn that was taken.
type Exchange struct {
	User, Assistant string
	Mismatch        bool // of a scripted turn
}

// Took reports the turn that the last move asked for.
func (t *Talk) Took(e Exchange) {
	p := t.phases[t.place]
	switch p.Actor {
	case pack.ScriptedActor:
		t.mismatched = e.Mismatch
	case pack.LLMActor:
		t.mismatched = false
	case pack.HumanActor:
		t.humans++
	}
	if e.Mismatch {
		t.mismatches = append(t.mismatches, t.turns)
	}
	if !slices.Contains(t.actors, p.Actor) {
		t.actors = append(t.actors, p.Actor)
	}
	t.lines = append(t.lines, Line{p.Actor, e.User}, Line{Assistant, e.Assistant})
	t.turns++
	t.inPhase++
	if p.Actor == pack.LLMActor {
		t.over = untilHolds(p.Until, e, t.atCap(p))
	}
}

// Summary is what a conversation has come to.
type Summary struct {
	Turns      int
	Actors     []string // who played the user, in the order of their first turn
	Mismatches []int    // turns, from 0
	Humans     int      // turns of people
}

// Summary is what the conversation has come to so far.
func (t *Talk) Summary() Summary {
	return Summary{t.turns, slices.Clone(t.actors), slices.Clone(t.mismatches), t.humans}
}

// Lines are what was said so far.
func (t *Talk) Lines() []Line { return t.lines }
