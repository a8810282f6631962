package engine

import "github.com/agentclash/agentclash/scoring"

// Result is how a run ended.
type Result struct {
	Status string `json:"status"` // completed, failed, cancelled or interrupted
	Reason string `json:"reason,omitempty"`
	// Code is CodeBudget or CodeDeadline for a run that one of these ended: it is
	// failed, and what it left can be resumed.
	Code string `json:"code,omitempty"`
	// NeedsUSD is the smallest budget that has room for the call that the run's
	// budget had none for; 0: none ended it.
	NeedsUSD float64 `json:"needs_usd,omitempty"`
	// Over says that the plan's test has decided, or never will, so that trials that
	// were not begun are not needed.
	Over   bool          `json:"over,omitempty"`
	Agents []AgentResult `json:"agents"`
}

// AgentResult is how one run agent ended.
type AgentResult struct {
	RunAgentID string                 `json:"run_agent_id"`
	Label      string                 `json:"label"`
	Status     string                 `json:"status"` // completed, failed, cancelled or interrupted
	Reason     string                 `json:"reason,omitempty"`
	Cause      string                 `json:"cause,omitempty"` // the one code that explains a failure
	Scorecard  scoring.AgentScorecard `json:"scorecard"`
	// Invalid holds the invalid trials that nothing replaced, without their
	// scorecards.
	Invalid []scoring.Trial `json:"-"`
}
