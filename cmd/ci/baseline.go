package ci

import (
	"cmp"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/scoring/compare"
)

// The ways a manifest's baseline is found.
const (
	StrategyFile       = "snapshot_file"
	StrategyNamed      = "named_baseline"
	StrategyRun        = "locked_run"
	StrategyDeployment = "deployment_latest_completed"
)

// Strategy is how the baseline is found.
func (b Baseline) Strategy() string {
	switch {
	case b.Snapshot() != "":
		return StrategyFile
	case b.Name != "":
		return StrategyNamed
	case b.DeploymentID != "":
		return StrategyDeployment
	}
	return StrategyRun
}

// Source is what the manifest calls the baseline.
func (b Baseline) Source() string {
	return cmp.Or(b.File, b.Name, b.RunID, b.DeploymentID)
}

// The reasons for which there is nothing to compare with, beside those of
// [compare.Comparison].
const (
	ReasonNoBaseline      = "baseline_missing"
	ReasonBadBaseline     = "baseline_invalid"
	ReasonStaleBaseline   = "baseline_stale"
	ReasonUnknownAge      = "baseline_age_unknown"
	ReasonNothingMeasured = "baseline_not_measured"
)

// Resolution is what a manifest's baseline is, and whether a run of the pack as it
// is now can be compared with it.
type Resolution struct {
	Strategy      string     `json:"strategy"`
	Source        string     `json:"source"`
	PackSlug      string     `json:"pack_slug,omitempty"`
	InputSet      string     `json:"input_set,omitempty"`
	RunID         string     `json:"run_id,omitempty"`
	RunName       string     `json:"run_name,omitempty"`
	RunAgentID    string     `json:"run_agent_id,omitempty"`
	RunAgentLabel string     `json:"run_agent_label,omitempty"`
	RanAt         *time.Time `json:"ran_at"`
	AgeDays       *float64   `json:"age_days"`
	MaxAgeDays    *float64   `json:"max_age_days"`
	Refresh       string     `json:"refresh"`
	// Cases are those of the pack's input set, Shared those of them that the
	// baseline has with the same content and measured.
	Cases      int  `json:"case_count"`
	Shared     int  `json:"shared_case_count"`
	Compatible bool `json:"compatible"`
	// ReasonCode and Reason say why it cannot be used, or are empty.
	ReasonCode string `json:"reason_code,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Refuse says why the baseline cannot be used.
func (r *Resolution) Refuse(code, format string, args ...any) {
	r.Compatible, r.ReasonCode, r.Reason = false, code, fmt.Sprintf(format, args...)
}

// Target is what a run of the pack would be, as far as comparing depends on it.
type Target struct {
	Slug, InputSet, SpecDigest string
	Digests                    map[string]string // of the cases, by key
}

// Unresolved is a baseline of which nothing is known yet.
func (b Baseline) Unresolved() Resolution {
	return Resolution{Strategy: b.Strategy(), Source: b.Source(), MaxAgeDays: b.MaxAgeDays, Refresh: b.Refresh}
}

// Resolve describes a baseline that was found. A gate asks the same again when
// the candidate has run; what it can only refuse is told before that costs anything.
func (b Baseline) Resolve(s compare.Snapshot, t Target, now time.Time) Resolution {
	r := b.Unresolved()
	r.PackSlug, r.InputSet, r.RunID, r.RunName, r.RunAgentID, r.RunAgentLabel = s.Pack.Slug, s.InputSet, s.RunID, s.RunName, s.RunAgentID, s.RunAgentLabel
	r.Compatible, r.Cases = true, len(t.Digests)
	for _, c := range s.Cases {
		if c.Valid > 0 && t.Digests[c.CaseKey] != "" && t.Digests[c.CaseKey] == c.Digest {
			r.Shared++
		}
	}
	if !s.RanAt.IsZero() {
		days := max(now.Sub(s.RanAt).Hours()/24, 0)
		r.RanAt, r.AgeDays = &s.RanAt, &days
	}
	switch {
	case s.Pack.Slug != t.Slug:
		r.Refuse(compare.ReasonPackMismatch, "the baseline is of the pack %q, the manifest's is %q", s.Pack.Slug, t.Slug)
	case s.InputSet != t.InputSet:
		r.Refuse(compare.ReasonInputSetMismatch, "the baseline is of the input set %q, the manifest's is %q", s.InputSet, t.InputSet)
	case s.EvaluationSpecDigest != t.SpecDigest:
		r.Refuse(compare.ReasonSpecMismatch, "the pack's evaluation spec has changed since the baseline: scores would not mean the same")
	case s.Scorecard == nil || s.Scorecard.PassedTrials+s.Scorecard.FailedTrials == 0:
		r.Refuse(ReasonNothingMeasured, "no trial of the baseline could be judged")
	case r.Shared == 0:
		r.Refuse(compare.ReasonCoverageMismatch, "no case of the pack is in the baseline with the same content")
	case b.MaxAgeDays != nil && r.AgeDays == nil:
		r.Refuse(ReasonUnknownAge, "when the baseline was run is not known, and it may be at most %v days old", *b.MaxAgeDays)
	case b.MaxAgeDays != nil && *r.AgeDays > *b.MaxAgeDays:
		r.Refuse(ReasonStaleBaseline, "the baseline is %.0f days old, and may be at most %v", *r.AgeDays, *b.MaxAgeDays)
	}
	return r
}
