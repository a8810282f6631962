package event

import "time"

// Facts about how a run is steered while it goes on: what a person changed, and
// how many calls its providers let be under way.
const (
	RunAdjusted Type = "run.adjusted"
	RunPaced    Type = "run.paced"
)

// The actions of an [Adjustment].
const (
	ActionPaused      = "paused"
	ActionResumed     = "resumed"
	ActionConcurrency = "concurrency_changed"
	ActionCancelTrial = "trial_cancelled"
	ActionRetry       = "invalid_retried"
)

// Adjustment is the payload of run.adjusted: what a person changed in a run that
// goes on, and how the run stands after it.
type Adjustment struct {
	Action      string `json:"action"`
	Paused      bool   `json:"paused"`             // no trial is begun
	Concurrency int    `json:"concurrency"`        // trials at once, at most
	TrialID     string `json:"trial_id,omitempty"` // that was cancelled
	Trials      int    `json:"trials,omitempty"`   // that are run again
}

// Pacing is the payload of run.paced: how many calls with one key may be under
// way at once, as it changes with what the provider answers.
type Pacing struct {
	Provider  string     `json:"provider"`
	Model     string     `json:"model"`
	Account   string     `json:"account,omitempty"` // the reference, never the key
	Window    int        `json:"window"`            // calls that may be under way
	UnderWay  int        `json:"under_way"`
	HeldUntil *time.Time `json:"held_until,omitempty"` // the provider asked for it
}
