package ci

import (
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring/compare"
)

// SchemaVersion is that of all documents of this package. Fields may be added.
const SchemaVersion = 1

// Header begins a document that is kept.
type Header struct {
	Kind          string `json:"kind"`
	SchemaVersion int    `json:"schema_version"`
}

// NewHeader is the header of a kind of document: "result" is agentclash.ci.result.
func NewHeader(kind string) Header { return Header{"agentclash.ci." + kind, SchemaVersion} }

// Result is what `ci run` prints, and the document result.json.
type Result struct {
	Header
	ManifestPath string          `json:"manifest_path"`
	WorkspaceID  string          `json:"workspace_id,omitempty"`
	Candidate    CandidateResult `json:"candidate"`
	Resolution   *Resolution     `json:"baseline_resolution"`
	Baseline     *view.Bookmark  `json:"baseline"`
	// ReleaseGate is nil when no gate was reached, and GateVerdict empty, unless it
	// is known beforehand that evidence would be missing.
	ReleaseGate *compare.GateResult `json:"release_gate"`
	GateVerdict compare.Verdict     `json:"gate_verdict"`
	FailOn      string              `json:"fail_on,omitempty"`
	State       string              `json:"state"`
	// FailureReason is a code: what decided the verdict, or kept it from being reached.
	FailureReason string `json:"failure_reason,omitempty"`
	// Regressions are how the run did on the cases of its suites, left out without any.
	Regressions view.List[view.RegressionResult] `json:"regression_cases,omitempty"`
	Reports     view.List[Report]                `json:"reports"`
	Promotions  *Promotions                      `json:"regression_promotions"`
	Refresh     *Refresh                         `json:"baseline_refresh"`
	ExitCode    int                              `json:"exit_code"`
	Errors      view.List[Error]                 `json:"errors"`
}

// CandidateResult is what was run.
type CandidateResult struct {
	RunID          string   `json:"run_id,omitempty"`
	RunName        string   `json:"run_name,omitempty"`
	RunAgentID     string   `json:"run_agent_id,omitempty"`
	RunStatus      string   `json:"run_status,omitempty"`
	DeploymentName string   `json:"deployment_name,omitempty"`
	Metadata       Metadata `json:"ci_metadata"`
}

// Report is a file that was written, or could not be.
type Report struct {
	Kind  string `json:"kind"`
	Path  string `json:"path"`
	Error string `json:"error,omitempty"`
}

// Error is something that went wrong, and what to do about it.
type Error struct {
	Code     string         `json:"code"`
	Message  string         `json:"message"`
	NextStep string         `json:"next_step,omitempty"`
	Problems []view.Problem `json:"problems,omitempty"`
}

// Promotions are the failures of a run that became regression cases.
type Promotions struct {
	Policy     string                    `json:"policy"`
	CaseStatus string                    `json:"case_status,omitempty"` // of those that were made
	Created    view.List[view.Promotion] `json:"created"`
	Existing   view.List[view.Promotion] `json:"existing"` // the suite had them
	Skipped    view.List[Unpromoted]     `json:"skipped"`
	Blocked    view.List[Unpromoted]     `json:"blocked"` // the policy, or the job's branch
	Errors     view.List[Unpromoted]     `json:"errors"`
}

// Unpromoted is a failure that became no case, or with no key all of them.
type Unpromoted struct {
	CaseKey string `json:"case_key,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// The reasons for which a failure becomes no case, beside those of
// [Metadata.OnMain].
const (
	ReasonPolicyDisabled   = "policy_disabled"
	ReasonNoFailures       = "no_failure_review_items"
	ReasonNotPromotable    = "not_promotable"
	ReasonFailedOnBaseline = "failed_on_baseline"
	ReasonSameFailure      = "same_failure"
	ReasonTooMany          = "too_many_failures"
)

// PromotionStatus is the state that promoted cases get, or why there are none.
func (r Regressions) PromotionStatus(m Metadata) (status, blocked string) {
	switch r.PromoteFailures {
	case Proposed:
		return "proposed", ""
	case AutoOnMain:
		if why := m.OnMain(); why != "" {
			return "", why
		}
		return "active", ""
	}
	return "", ReasonPolicyDisabled
}

// Refresh is what became of the baseline after a pass.
type Refresh struct {
	Policy string `json:"policy"`
	Status string `json:"status"` // written, proposed, skipped or failed
	Reason string `json:"reason,omitempty"`
	File   string `json:"file,omitempty"`
}

// The values of [Refresh.Status].
const (
	RefreshWritten  = "written"
	RefreshProposed = "proposed"
	RefreshSkipped  = "skipped"
	RefreshFailed   = "failed"
)

// Plan says what may become of the baseline: written, proposed or skipped, with a
// reason. Only a pass renews it.
func (b Baseline) Plan(v compare.Verdict, m Metadata) Refresh {
	r := Refresh{Policy: b.Refresh, Status: RefreshSkipped}
	switch {
	case b.Refresh == Manual:
		r.Reason = "policy_manual"
	case v != compare.Pass:
		r.Reason = "not_passed"
	case b.Refresh == Propose:
		r.Status = RefreshProposed
	default:
		if r.Reason = m.OnMain(); r.Reason == "" {
			r.Status, r.File = RefreshWritten, b.Snapshot()
		}
	}
	return r
}

// Validation is what `ci validate` prints of a manifest.
type Validation struct {
	Path     string                  `json:"path"`
	Valid    bool                    `json:"valid"`
	Errors   view.List[view.Problem] `json:"errors"`
	Manifest *Manifest               `json:"manifest"`
	Checks   view.List[Check]        `json:"checks"`
}

// Check is a look at something that the manifest names.
type Check struct {
	Field    string `json:"field"`
	Resource string `json:"resource"`
	ID       string `json:"id"` // as the manifest names it
	Valid    bool   `json:"valid"`
	Code     string `json:"code,omitempty"`
	Message  string `json:"message,omitempty"`
}
