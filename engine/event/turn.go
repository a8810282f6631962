package event

import "github.com/agentclash/agentclash/engine/provider"

// The payloads of conversations. Turns are numbered from 0 in a conversation.

// PhaseDecision is the payload of turn.phase.decided: whether a phase runs, and
// why.
type PhaseDecision struct {
	PhaseID    string `json:"phase_id"`
	PhaseIndex int    `json:"phase_index"` // from 0
	Actor      string `json:"actor"`
	Trigger    string `json:"trigger"`
	Runs       bool   `json:"runs"`
	Reason     string `json:"reason"`
	NextTurn   int    `json:"next_turn_index"`
}

// UserTurn is the payload of turn.user.message.
type UserTurn struct {
	TurnIndex int    `json:"turn_index"`
	PhaseID   string `json:"phase_id"`
	Actor     string `json:"actor"` // scripted, llm or human
	Content   string `json:"content"`
}

// SimulatorCall is the payload of turn.user.asked: a model is asked what the user
// says next. ReservedUSD is what was set aside for it of the run's budget, where
// there is one, WaitedMS how long the call waited for its pace.
type SimulatorCall struct {
	TurnIndex   int     `json:"turn_index"`
	PhaseID     string  `json:"phase_id"`
	Actor       string  `json:"actor"` // llm
	ProviderKey string  `json:"provider_key"`
	Model       string  `json:"model"`
	WaitedMS    int64   `json:"waited_ms,omitempty"`
	ReservedUSD float64 `json:"reserved_usd,omitempty"`
}

// SimulatedTurn is the payload of turn.user.simulated: a model has said what the
// user says next, which follows as turn.user.message.
type SimulatedTurn struct {
	TurnIndex       int             `json:"turn_index"`
	PhaseID         string          `json:"phase_id"`
	Actor           string          `json:"actor"` // llm
	ProviderKey     string          `json:"provider_key"`
	ProviderModelID string          `json:"provider_model_id"`
	FinishReason    string          `json:"finish_reason"`
	Usage           *provider.Usage `json:"usage,omitempty"` // absent: unknown
	Timing          Timing          `json:"timing"`
	ChargedUSD      float64         `json:"charged_usd,omitempty"` // to the run's budget
	CacheUse
}

// AssistantTurn is the payload of turn.assistant.message.
type AssistantTurn struct {
	TurnIndex int    `json:"turn_index"`
	PhaseID   string `json:"phase_id"`
	Content   string `json:"content"`
}

// TurnEnd is the payload of turn.completed.
type TurnEnd struct {
	TurnIndex int    `json:"turn_index"`
	PhaseID   string `json:"phase_id"`
	Actor     string `json:"actor"`
	Mismatch  bool   `json:"mismatch"`
	// Expectations are how the answer compares with what a scripted turn expects.
	Expectations []Expected `json:"expectations,omitempty"`
}

// Expected is how an answer compares with one thing that its turn expects.
type Expected struct {
	Key    string `json:"key"`
	Kind   string `json:"kind"`
	Met    bool   `json:"met"`
	Reason string `json:"reason,omitempty"` // why it is not met
}

// HumanWait is the payload of turn.awaiting_human, and of turn.human.expired when
// nobody answered.
type HumanWait struct {
	TurnIndex  int    `json:"turn_index"`
	PhaseID    string `json:"phase_id"`
	Actor      string `json:"actor"` // human
	PromptHint string `json:"prompt_hint,omitempty"`
	TimeoutMS  int64  `json:"timeout_ms"`       // 0: there is nobody to wait for
	OnTimeout  string `json:"on_timeout"`       // stop or fail
	Reason     string `json:"reason,omitempty"` // of an expired one
}

// ConversationEnd is the payload of conversation.completed.
type ConversationEnd struct {
	TurnCount      int      `json:"turn_count"`
	ActorsUsed     []string `json:"actors_used"`
	MismatchTurns  []int    `json:"mismatch_turns"`
	HumanTurnCount int      `json:"human_turn_count"`
	StopReason     string   `json:"stop_reason"`
	FinalOutput    *string  `json:"final_output"` // null: the agent never answered
	// Calibration says that people are to look at this conversation.
	Calibration bool `json:"calibration,omitempty"`
}

// PeerStandings is the payload of race.standings.injected: the agent was told how
// the other agents of its run stand on the same case.
type PeerStandings struct {
	TokensAdded   int64          `json:"tokens_added"` // about
	Snapshot      []PeerStanding `json:"standings_snapshot"`
	TriggeredBy   string         `json:"triggered_by"` // cadence, peer_submitted, peer_failed or peer_timed_out
	SelfStepIndex int            `json:"self_step_index"`
	MinStepGap    int            `json:"min_step_gap"`
}

// PeerStanding is how one agent stands.
type PeerStanding struct {
	LaneIndex     int    `json:"lane_index"`
	Name          string `json:"name"`
	State         string `json:"state"` // not_started, running, submitted, failed or timed_out
	StepIndex     int    `json:"step_index"`
	ToolCallCount int    `json:"tool_call_count"`
	TotalTokens   int64  `json:"total_tokens"`
	TookMS        int64  `json:"took_ms,omitempty"` // until it submitted
}
