package compare

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/sequential"
)

// Identity says what one side of a comparison is and what it was run on.
type Identity struct {
	RunID         string `json:"run_id"`
	RunName       string `json:"run_name"`
	RunStatus     string `json:"run_status"`
	RunAgentID    string `json:"run_agent_id"` // empty: no run agent was resolved
	RunAgentLabel string `json:"run_agent_label"`
	// RunAgentStatus is how this run agent ended: completed, failed or
	// cancelled. Where it is empty RunStatus stands in. Only a run agent that
	// completed or failed has a final scorecard.
	RunAgentStatus string  `json:"run_agent_status"`
	Model          string  `json:"model"` // provider/model
	Pack           PackRef `json:"pack"`
	InputSet       string  `json:"input_set"`
	// EvaluationSpecDigest identifies the rules the trials were scored by.
	EvaluationSpecDigest string `json:"evaluation_spec_digest"`
	// MinPassRate and MaxInvalid are the run's own options of that name.
	MinPassRate float64 `json:"min_pass_rate"`
	MaxInvalid  int     `json:"max_invalid"`
	// RanAt is when the run was started, zero when that is not known.
	RanAt time.Time `json:"ran_at,omitzero"`
}

// PackRef names the exact pack a run used.
type PackRef struct {
	Slug    string `json:"slug"`
	Version int32  `json:"version"`
	Digest  string `json:"digest"` // sha256 hex of manifest and assets
}

// Snapshot is one side of a comparison: all that comparing and gating read of
// a run agent. It is plain data, its JSON reads back to an equal value, and it
// holds no prompt, no output and no error text.
type Snapshot struct {
	Identity
	// Dimensions are those the evaluation spec declares, in its order.
	Dimensions []DeclaredDimension `json:"dimensions"`
	// Scorecard is nil while the run agent has none.
	Scorecard *scoring.AgentScorecard `json:"scorecard"`
	// InvalidCauses explains the invalid trials, by code and phase.
	InvalidCauses []InvalidCause `json:"invalid_causes"`
	// Cases are in the order of the run's plan, each key once.
	Cases []CaseResult `json:"cases"`
	// Sequential is of a run that its own results ended; nil for any other.
	Sequential *Sequential `json:"sequential,omitempty"`
}

// DeclaredDimension is what the evaluation spec says of a dimension.
// BetterDirection is that of the raw value; the score is always better higher.
type DeclaredDimension struct {
	Key             string `json:"key"`
	Source          string `json:"source"`
	BetterDirection string `json:"better_direction,omitempty"`
}

// InvalidCause counts the invalid trials of one code in one phase.
type InvalidCause struct {
	Code   string `json:"code"`
	Phase  string `json:"phase"`
	Trials int    `json:"trials"`
}

// Record is what a store keeps of one run agent: what a snapshot is made of.
type Record struct {
	Spec      scoring.Spec            // normalized
	Scorecard *scoring.AgentScorecard // nil: there is none
	Cases     []CaseRef               // the planned cases, in order
	Trials    []scoring.Trial         // every attempt, in any order
	Until     *sequential.Test        // by which the run was stopped; nil: it was not
}

// CaseRef names a planned case and what its content was.
type CaseRef struct {
	Key         string
	Digest      string
	Regressions []scoring.Regression // the cases of regression suites that it is
}

// NewSnapshot makes a side out of a run agent's rows. Of the attempts at a
// trial, the last finished one decides; an attempt without an outcome is not
// finished. The result does not depend on the order of the trials.
func NewSnapshot(id Identity, rec Record) Snapshot {
	deciding := decidingTrials(rec.Trials)
	s := Snapshot{
		Identity:      id,
		Dimensions:    make([]DeclaredDimension, 0, len(rec.Spec.Scorecard.Dimensions)),
		Scorecard:     rec.Scorecard,
		InvalidCauses: invalidCauses(deciding),
	}
	for _, d := range rec.Spec.Scorecard.Dimensions {
		s.Dimensions = append(s.Dimensions,
			DeclaredDimension{Key: d.Key, Source: d.Source, BetterDirection: d.BetterDirection})
	}
	s.Cases, s.Sequential = caseResults(s.Dimensions, rec.Cases, deciding), newSequential(rec, deciding)
	return s
}

// decidingTrials keeps the last finished attempt of each (case, repetition),
// sorted by both.
func decidingTrials(trials []scoring.Trial) []scoring.Trial {
	var finished []scoring.Trial
	for _, t := range trials {
		switch t.Outcome {
		case scoring.OutcomePassed, scoring.OutcomeFailed, scoring.OutcomeInvalid:
			finished = append(finished, t)
		}
	}
	slices.SortStableFunc(finished, func(a, b scoring.Trial) int {
		return cmp.Or(cmp.Compare(a.CaseKey, b.CaseKey), cmp.Compare(a.Repetition, b.Repetition),
			cmp.Compare(b.Attempt, a.Attempt))
	})
	return slices.CompactFunc(finished, func(a, b scoring.Trial) bool {
		return a.CaseKey == b.CaseKey && a.Repetition == b.Repetition
	})
}

// invalidCauses counts invalid trials by code and phase, sorted by both.
func invalidCauses(trials []scoring.Trial) []InvalidCause {
	causes := []InvalidCause{}
	for _, t := range trials {
		if t.Outcome != scoring.OutcomeInvalid {
			continue
		}
		i := slices.IndexFunc(causes, func(c InvalidCause) bool { return c.Code == t.Code && c.Phase == t.Phase })
		if i < 0 {
			i = len(causes)
			causes = append(causes, InvalidCause{Code: t.Code, Phase: t.Phase})
		}
		causes[i].Trials++
	}
	slices.SortFunc(causes, func(a, b InvalidCause) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Phase, b.Phase))
	})
	return causes
}

// final says whether the scorecard will not change by itself any more.
func (s Snapshot) final() bool {
	status := cmp.Or(s.RunAgentStatus, s.RunStatus)
	return s.Scorecard != nil && (status == statusCompleted || status == statusFailed)
}

// failed says whether the run agent ended as failed, as opposed to having
// trials that failed.
func (s Snapshot) failed() bool {
	return cmp.Or(s.RunAgentStatus, s.RunStatus) == statusFailed
}

// passed is the scorecard's verdict, nil when it has none.
func (s Snapshot) passed() *bool {
	if s.Scorecard == nil || s.Scorecard.PassRate == nil {
		return nil
	}
	return new(s.Scorecard.Passed)
}

// declares says whether the side's evaluation spec has the dimension.
func (s Snapshot) declares(key string) bool {
	return slices.ContainsFunc(s.Dimensions, func(d DeclaredDimension) bool { return d.Key == key })
}

const (
	statusCompleted = "completed"
	statusFailed    = "failed"
)
