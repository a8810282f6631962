package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine/event"
)

// What a bundle says of itself.
const (
	Format  = "agentclash-run"
	Version = 1
	Suffix  = ".acb"
)

// Head is the first entry.
type Head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Program string `json:"program"` // the version of agentclash that wrote it
	RunID   string `json:"run_id"`
	RunName string `json:"run_name"`
}

// Record is one of [Run], [Pack], [Blob], [Trial], [Event], [Rescoring],
// [Rescored] and [Gate], which come in this order. A rescoring is followed by its
// trials.
type Record interface {
	// place says which record it is, for people.
	place() string
}

// Sink takes the records of one run in their order. What it is handed is its own.
type Sink interface{ Put(r Record) error }

// SinkFunc makes a function a Sink.
type SinkFunc func(r Record) error

// Put calls f.
func (f SinkFunc) Put(r Record) error { return f(r) }

// Run is the run itself. Its workspace and its owner are matters of the store.
type Run struct {
	ID          string          `json:"run_id"`
	Name        string          `json:"name"`
	Status      string          `json:"status"`
	Reason      string          `json:"reason,omitempty"`
	Mode        string          `json:"execution_mode"`
	InputSet    string          `json:"input_set"`
	Pack        event.PackRef   `json:"pack"`
	SpecDigest  string          `json:"evaluation_spec_digest"`
	EventSchema string          `json:"event_schema"`
	CreatedAt   time.Time       `json:"created_at"`
	StartedAt   time.Time       `json:"started_at,omitzero"`
	FinishedAt  time.Time       `json:"finished_at,omitzero"`
	Trials      int             `json:"trials"`
	Agents      []Agent         `json:"agents"`
	Plan        json.RawMessage `json:"plan"`
	Others      []Other         `json:"other_runs,omitempty"`
}

// Agent is a run agent, in the plan's order.
type Agent struct {
	ID         string          `json:"run_agent_id"`
	Label      string          `json:"label"`
	Deployment json.RawMessage `json:"deployment"`
	Status     string          `json:"status"`
	Reason     string          `json:"reason,omitempty"`
	StartedAt  time.Time       `json:"started_at,omitzero"`
	FinishedAt time.Time       `json:"finished_at,omitzero"`
	Scorecard  json.RawMessage `json:"scorecard,omitempty"`
}

// What another run is to a run.
const (
	Reused   = "reused"      // its trials stand for some of the run's
	RetryOf  = "retry_of"    // its failed trials were run again
	MergedOf = "merged_from" // it is a shard that the run was merged from
)

// Other is a run that a run has to do with, which is not in its bundle.
type Other struct {
	As    string `json:"as"`
	RunID string `json:"run_id"`
	Name  string `json:"name,omitempty"` // "" when it was not there any more
}

// Pack is the content of a pack version: the run's, or that of a rescoring.
type Pack struct {
	Slug       string   `json:"slug"`
	Name       string   `json:"name"`
	Family     string   `json:"family"`
	Version    int32    `json:"version"`
	Mode       string   `json:"execution_mode"`
	Digest     string   `json:"digest"`
	SpecDigest string   `json:"evaluation_spec_digest"`
	InputSets  []string `json:"input_sets"`
	Referenced bool     `json:"reference"` // it has a reference agent
	Paths      []string `json:"assets"`    // in order

	Manifest  []byte            `json:"-"`
	Reference []byte            `json:"-"`
	Assets    map[string][]byte `json:"-"`
}

// Blob is content that records refer to by its digest.
type Blob struct {
	Sum     [sha256.Size]byte
	Content []byte
	Of      string // what refers to it first, for people; not in the file
}

// NewBlob is content with its digest.
func NewBlob(content []byte, of string) Blob {
	return Blob{Sum: sha256.Sum256(content), Content: content, Of: of}
}

// Name is the digest as records refer to it: hex.
func (b Blob) Name() string { return hex.EncodeToString(b.Sum[:]) }

// Trial is a trial with its attempts. Its place among the trials, from 1, is what
// events refer to it by.
type Trial struct {
	ID         string    `json:"trial_id"`
	Agent      int       `json:"agent"` // place among the run's agents, from 1
	CaseKey    string    `json:"case_key"`
	Repetition int       `json:"repetition"`
	Status     string    `json:"status"`
	Attempt    int       `json:"attempt"` // the last one that was begun
	Code       string    `json:"code,omitempty"`
	Phase      string    `json:"phase,omitempty"`
	Score      *float64  `json:"overall_score,omitempty"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	Attempts   []Attempt `json:"attempts"`
}

// Attempt is one attempt of a trial. Result, or the blob, is the payload of its
// trial.finished event.
type Attempt struct {
	Number     int             `json:"attempt"`
	Status     string          `json:"status"`
	StartedAt  time.Time       `json:"started_at,omitzero"`
	FinishedAt time.Time       `json:"finished_at,omitzero"`
	Result     json.RawMessage `json:"result,omitempty"`
	Blob       string          `json:"result_blob,omitempty"`
}

// Event is one fact. That of a trial's end has no payload here: it is the
// attempt's result.
type Event struct {
	Trial    int             `json:"trial,omitempty"` // place from 1; 0: a fact of the run
	Attempt  int             `json:"attempt,omitempty"`
	Agent    int             `json:"agent,omitempty"` // of a fact of the run about one agent: place from 1
	Sequence int64           `json:"sequence_number"`
	Type     event.Type      `json:"event_type"`
	Source   string          `json:"source"`
	At       time.Time       `json:"occurred_at,omitzero"`
	ID       string          `json:"event_id,omitempty"` // when it is not made of the rest
	Payload  json.RawMessage `json:"payload,omitempty"`
	Blob     string          `json:"payload_blob,omitempty"`
}

// Rescoring is a finished rescoring, without its trials.
type Rescoring struct {
	ID         string            `json:"rescoring_id"`
	PackDigest string            `json:"pack_digest"`
	SpecDigest string            `json:"evaluation_spec_digest"`
	Program    string            `json:"program"`
	Trials     int               `json:"rescored"`
	Flipped    int               `json:"flipped"`
	Kept       int               `json:"kept"`
	LeftOut    int               `json:"left_out"`
	CreatedAt  time.Time         `json:"created_at"`
	FinishedAt time.Time         `json:"finished_at"`
	Scorecards []json.RawMessage `json:"scorecards"` // by place of the agent; null for none
}

// Rescored is a trial of the rescoring before it. Without a result it is what the
// attempt came to.
type Rescored struct {
	Trial   int             `json:"trial"`
	Attempt int             `json:"attempt"`
	Result  json.RawMessage `json:"result,omitempty"`
	Blob    string          `json:"result_blob,omitempty"`
}

// Gate is the record of a gate that judged the run.
type Gate struct {
	ID                string          `json:"gate_id"`
	BaselineRunID     string          `json:"baseline_run_id"`
	BaselineAgentID   string          `json:"baseline_run_agent_id"`
	CandidateAgentID  string          `json:"candidate_run_agent_id"`
	Verdict           string          `json:"verdict"`
	ReasonCode        string          `json:"reason_code"`
	PolicyKey         string          `json:"policy_key"`
	PolicyVersion     int             `json:"policy_version"`
	PolicyFingerprint string          `json:"policy_fingerprint"`
	GeneratedAt       time.Time       `json:"generated_at"`
	Document          json.RawMessage `json:"document"`
}

func (r Run) place() string       { return "the run and its plan" }
func (p Pack) place() string      { return fmt.Sprintf("pack %s@%d+%.12s", p.Slug, p.Version, p.Digest) }
func (b Blob) place() string      { return b.Of }
func (r Rescoring) place() string { return "rescoring " + r.ID }
func (g Gate) place() string      { return "gate " + g.ID }

func (t Trial) place() string {
	return fmt.Sprintf("the result of trial %s (case %q, repetition %d)", t.ID, t.CaseKey, t.Repetition)
}

func (e Event) place() string {
	if e.Trial == 0 {
		return fmt.Sprintf("fact %d of the run (%s)", e.Sequence, e.Type)
	}
	return fmt.Sprintf("event %d (%s) of attempt %d of trial number %d", e.Sequence, e.Type, e.Attempt, e.Trial)
}

func (r Rescored) place() string {
	return fmt.Sprintf("the rescored result of trial number %d", r.Trial)
}
