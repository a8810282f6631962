package ci

import (
	"cmp"

	"github.com/agentclash/agentclash/pack"
)

// DefaultPath is where a repository keeps its manifest.
const DefaultPath = ".agentclash/ci.yaml"

// Version is the version of the manifests that this program reads.
const Version = 1

// Manifest is a checked manifest. Its paths are relative to the repository's root.
// Fields that only the hosted product has are read so that they can be refused
// with a reason.
type Manifest struct {
	Version     int         `json:"version"`
	Trigger     Trigger     `json:"trigger"`
	Candidate   Candidate   `json:"candidate"`
	Evaluation  Evaluation  `json:"evaluation"`
	Baseline    Baseline    `json:"baseline"`
	Gate        Gate        `json:"gate"`
	Regressions Regressions `json:"regressions"`
}

// Trigger says which changes want an evaluation.
type Trigger struct {
	Paths  []string `json:"paths"`            // doublestar patterns
	Labels []string `json:"labels,omitempty"` // of pull requests; case does not matter
}

// Candidate is the agent that is judged.
type Candidate struct {
	Build      Build      `json:"build,omitzero"`
	Deployment Deployment `json:"deployment,omitzero"`
}

// Build is an agent whose description is a file.
type Build struct {
	// AgentBuildID is a build as NAME or NAME@N, for a deployment that is written out.
	AgentBuildID string `json:"agent_build_id,omitempty"`
	// SpecFile holds the fields of a deployment, as `deployment create --from-file`
	// reads them.
	SpecFile string `json:"spec_file,omitempty"`
}

// Deployment is a stored deployment by its name, or one that is written out here:
// then it has a model.
type Deployment struct {
	Name              string `json:"name,omitempty"`
	RuntimeProfileID  string `json:"runtime_profile_id,omitempty"` // by name
	ProviderAccountID string `json:"provider_account_id,omitempty"`
	Model             string `json:"model,omitempty"` // provider/model
	System            string `json:"system,omitempty"`
	SystemFile        string `json:"system_file,omitempty"`
}

// Evaluation is what the candidate has to do.
type Evaluation struct {
	// Pack and ChallengePackVersionID are two names of one thing: a pack's file, or
	// a stored pack by slug, slug@number or id.
	Pack                   string   `json:"pack,omitempty"`
	ChallengePackVersionID string   `json:"challenge_pack_version_id,omitempty"`
	InputSet               string   `json:"input_set,omitempty"`
	InputSetID             string   `json:"input_set_id,omitempty"`
	Mode                   string   `json:"mode,omitempty"` // refused
	RegressionSuites       []string `json:"regression_suites,omitempty"`
	RegressionCases        []string `json:"regression_cases,omitempty"` // SUITE/ID
	Repetitions            *int     `json:"repetitions,omitempty"`
	UntilDecided           bool     `json:"until_decided,omitempty"` // repeat until the gate's test decides
	MaxTrials              *int     `json:"max_trials,omitempty"`    // of that test
	Replay                 string   `json:"replay,omitempty"`        // directory of a recording
	BudgetUSD              *float64 `json:"budget_usd,omitempty"`
	MinPassRate            *float64 `json:"min_pass_rate,omitempty"`
}

// Baseline is what the candidate is compared with: exactly one of the first four.
type Baseline struct {
	File         string   `json:"file,omitempty"`
	Name         string   `json:"name,omitempty"`
	RunID        string   `json:"run_id,omitempty"`        // a run, or a baseline's file
	DeploymentID string   `json:"deployment_id,omitempty"` // its newest completed run
	RunAgentID   string   `json:"run_agent_id,omitempty"`
	Refresh      string   `json:"refresh,omitempty"`
	MaxAgeDays   *float64 `json:"max_age_days,omitempty"`
}

// Gate says which verdicts fail a job, and by which policy.
type Gate struct {
	FailOn     string `json:"fail_on"`
	PolicyFile string `json:"policy_file,omitempty"`
}

// Regressions says what becomes of failures.
type Regressions struct {
	PromoteFailures string `json:"promote_failures"`
}

// The values of gate.fail_on.
const (
	FailOnRegression   = "regression"
	FailOnWarning      = "warning"
	FailOnInsufficient = "insufficient_evidence"
)

// The values of regressions.promote_failures; AutoOnMain is one of
// baseline.refresh, too.
const (
	Disabled   = "disabled"
	Proposed   = "proposed"
	AutoOnMain = "auto_on_main"
)

// The other values of baseline.refresh.
const (
	Manual  = "manual"
	Propose = "propose"
)

// PackRef is the pack as the manifest names it.
func (e Evaluation) PackRef() string { return cmp.Or(e.Pack, e.ChallengePackVersionID) }

// InputSetRef is the input set as the manifest names it, "" for the only one.
func (e Evaluation) InputSetRef() string { return cmp.Or(e.InputSet, e.InputSetID) }

// Parse reads a manifest; name stands for the file in problems. The manifest is
// nil when there are any: they are all there is, each with its place.
func Parse(name string, src []byte) (*Manifest, pack.Problems) {
	m := &Manifest{}
	d := pack.DecodeSettings(name, "manifest", src, m)
	if !d.Unread() {
		m.defaults()
		checks{d, m}.all()
	}
	if problems := d.Problems(); problems.Err() != nil {
		return nil, problems
	}
	return m, nil
}

func (m *Manifest) defaults() {
	m.Gate.FailOn = cmp.Or(m.Gate.FailOn, FailOnRegression)
	m.Regressions.PromoteFailures = cmp.Or(m.Regressions.PromoteFailures, Disabled)
	m.Baseline.Refresh = cmp.Or(m.Baseline.Refresh, Manual)
}
