package regression

import (
	"time"

	"github.com/agentclash/agentclash/pack"
)

// SchemaVersion is the schema_version of the files this version reads and
// writes.
const SchemaVersion = 1

// The states of suites and cases.
const (
	Proposed = "proposed"
	Active   = "active"
	Muted    = "muted"
	Archived = "archived"
	Rejected = "rejected"
)

// Manual is the mode of cases that no failure was promoted to: written by hand, or
// taken over from another tool.
const Manual = "manual"

// Suite is a file of regression cases of one pack.
type Suite struct {
	SchemaVersion   int    `json:"schema_version"`
	Name            string `json:"suite"`
	Description     string `json:"description,omitempty"`
	Status          string `json:"status"`                // active or archived
	Pack            string `json:"pack"`                  // slug
	DefaultSeverity string `json:"default_gate_severity"` // of cases that say none
	CreatedAt       string `json:"created_at,omitempty"`  // RFC 3339
	Cases           []Case `json:"cases"`
}

// Case is a case that an agent once failed.
type Case struct {
	ID       string `json:"id"` // unique in the suite
	Title    string `json:"title"`
	Status   string `json:"status"`
	Severity string `json:"severity,omitempty"` // "" is the suite's
	Mode     string `json:"promotion_mode"`
	Class    string `json:"failure_class,omitempty"`
	Tier     string `json:"evidence_tier,omitempty"`
	Summary  string `json:"failure_summary,omitempty"`
	// Document is the case as the pack had it, Challenge the task it belongs to at
	// that time: it is run with the pack's challenge of that key.
	Document  pack.Case       `json:"case"`
	Challenge *pack.Challenge `json:"challenge,omitempty"`
	Files     []File          `json:"files,omitempty"`
	Expects   *Expects        `json:"expects,omitempty"`
	// Output is what the agent gave when it failed, of a case in the mode
	// output_only.
	Output *string `json:"output,omitempty"`
	Source *Source `json:"source,omitempty"` // of a failure that was promoted
	Import *Import `json:"import,omitempty"` // of what was taken over from another tool
}

// File is an asset that the case needs, as it was. A file that comes with the
// case has its bytes, as text or in base64; one of the pack has its digest alone.
type File struct {
	Path   string  `json:"path"`
	SHA256 string  `json:"sha256"`
	Text   *string `json:"text,omitempty"`
	Base64 string  `json:"base64,omitempty"`
}

// Expects names what judged the case when it failed: the pack must still have it.
type Expects struct {
	Validators []Validator `json:"validators,omitempty"`
	Judges     []string    `json:"judges,omitempty"`
}

// Validator is a validator of the pack and what it said of the failure.
type Validator struct {
	Key     string `json:"key"`
	Type    string `json:"type,omitempty"`
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Source is where a case was promoted from.
type Source struct {
	PackVersion int32  `json:"pack_version"`
	PackDigest  string `json:"pack_digest"`
	InputSet    string `json:"input_set"`
	CaseDigest  string `json:"case_digest"`
	RunID       string `json:"run_id"`
	RunName     string `json:"run_name,omitempty"`
	RunAgent    string `json:"run_agent"` // label
	TrialID     string `json:"trial_id"`
	Repetition  int    `json:"repetition"`
	Attempt     int    `json:"attempt"`
	Fingerprint string `json:"failure_fingerprint"`
	ClusterKey  string `json:"failure_cluster_key"`
	Reason      string `json:"reason"`
	PromotedAt  string `json:"promoted_at"` // RFC 3339
}

// SeverityOf is the severity of one of the suite's cases.
func (s *Suite) SeverityOf(c Case) string {
	if c.Severity != "" {
		return c.Severity
	}
	return s.DefaultSeverity
}

// New is a suite without cases.
func New(name, packSlug, severity, description string, now time.Time) *Suite {
	return &Suite{SchemaVersion: SchemaVersion, Name: name, Description: description, Status: Active, Pack: packSlug,
		DefaultSeverity: severity, CreatedAt: now.UTC().Format(time.RFC3339)}
}

// Find is the place of a case by its id, -1 when there is none.
func (s *Suite) Find(id string) int {
	for i, c := range s.Cases {
		if c.ID == id {
			return i
		}
	}
	return -1
}

// Same is the place of the case that a promoted one would only repeat, -1 for
// none: one of the same challenge and key, whose content is the same or was when
// it was promoted. A case that has changed in the pack since is another one.
func (s *Suite) Same(c Case) int {
	content := contentOf(c.Document.Normalized())
	for i, other := range s.Cases {
		if other.Document.ChallengeKey != c.Document.ChallengeKey || other.Document.Key() != c.Document.Key() {
			continue
		}
		was := c.Source != nil && other.Source != nil && c.Source.CaseDigest != "" && c.Source.CaseDigest == other.Source.CaseDigest
		if was || contentOf(other.Document.Normalized()) == content {
			return i
		}
	}
	return -1
}
