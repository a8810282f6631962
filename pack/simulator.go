package pack

import (
	"slices"
	"strings"
)

// UserSimulator says who plays the user of a multi_turn case, phase by phase.
// Agents never see it. Its text is kept as it was written.
type UserSimulator struct {
	SchemaVersion int32        `json:"schema_version"`
	Kind          string       `json:"kind"`
	MaxTurns      int32        `json:"max_turns,omitempty"` // of the conversation; 0 is 50
	Phases        []Phase      `json:"phases"`
	Calibration   *Calibration `json:"calibration,omitempty"`
	PostRun       *PostRun     `json:"post_run,omitempty"`
}

// Phase is a stretch of a conversation in which one actor plays the user.
type Phase struct {
	ID        string   `json:"id"`
	Actor     string   `json:"actor"`
	Trigger   string   `json:"trigger,omitempty"`    // "" is always, for the first phase only
	Turns     []Turn   `json:"turns,omitempty"`      // of a scripted user
	Persona   string   `json:"persona,omitempty"`    // of a simulated user
	MaxTurns  int32    `json:"max_turns,omitempty"`  // of a simulated user; 0 is no limit of its own
	Until     []string `json:"until,omitempty"`      // ends a simulated user's phase when all hold
	TimeoutMS int64    `json:"timeout_ms,omitempty"` // how long a human is waited for; 0 is 30 minutes
	OnTimeout string   `json:"on_timeout,omitempty"` // stop, or fail
	Model     string   `json:"model,omitempty"`      // of a simulated user
}

// Turn is one message of a scripted user and what the reply must hold.
type Turn struct {
	Message string        `json:"message"`
	Expects []Expectation `json:"expects,omitempty"`
}

// Calibration asks people to look at a share of the conversations.
type Calibration struct {
	Enabled    bool    `json:"enabled"`
	SampleRate float64 `json:"sample_rate,omitempty"`
}

// PostRun is what happens with conversations after a run.
type PostRun struct {
	Arena *Arena `json:"arena,omitempty"`
}

// Arena compares conversations with each other.
type Arena struct {
	Enabled    bool   `json:"enabled"`
	Comparison string `json:"comparison,omitempty"` // "" is pairwise
}

// The actors of a [Phase].
const (
	ScriptedActor = "scripted"
	LLMActor      = "llm"
	HumanActor    = "human"
)

// AsksPeople says whether a person takes a turn in the case's conversation.
func (c Case) AsksPeople() bool {
	return c.UserSimulator != nil && slices.ContainsFunc(c.UserSimulator.Phases, func(p Phase) bool { return strings.TrimSpace(p.Actor) == HumanActor })
}
