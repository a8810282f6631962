package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/scoring"
)

// Trial is a trial that failed or was invalid, with what is known of it. Texts
// are as they are stored: bounded, and without real secrets.
type Trial struct {
	RunID      string
	RunAgentID string
	Agent      string // the run agent's label
	// ChallengeKey is empty when the pack does not say.
	ChallengeKey string
	Result       scoring.Trial
	// Hosted says that the agent is a program or an endpoint.
	Hosted bool
	// BlackBox says that nothing of a hosted agent's work is seen but its answer.
	BlackBox bool
	Facts    []Fact
}

// Fact is an event of the deciding attempt.
type Fact struct {
	Sequence int64
	Type     string // such as tool.call.failed
	Kind     string // what kind of step of the replay it is
}

// Item is one reviewed failure.
type Item struct {
	RunID      string `json:"run_id"`
	RunAgentID string `json:"run_agent_id"`
	Agent      string `json:"agent"`
	TrialID    string `json:"trial_id"`
	Repetition int    `json:"repetition"`
	Attempt    int    `json:"attempt"`
	Outcome    string `json:"outcome"` // failed or invalid
	Code       string `json:"code,omitempty"`
	Phase      string `json:"phase,omitempty"`

	ChallengeKey string `json:"challenge_key"`
	CaseKey      string `json:"case_key"`
	ItemKey      string `json:"item_key"`

	Fingerprint string `json:"failure_fingerprint"` // frf_ and SHA-256 in hex: this failure
	ClusterKey  string `json:"failure_cluster_key"` // frc_ and SHA-256 in hex: the same in every run

	State            string        `json:"failure_state"`
	FailedDimensions []string      `json:"failed_dimensions"`
	FailedChecks     []string      `json:"failed_checks"`
	Class            string        `json:"failure_class"`
	Taxonomy         Taxonomy      `json:"failure_taxonomy"`
	Headline         string        `json:"headline"`
	Detail           string        `json:"detail"`
	Action           string        `json:"recommended_action"`
	Remediation      Remediation   `json:"remediation"`
	Promotable       bool          `json:"promotable"`
	PromotionModes   []string      `json:"promotion_mode_available"`
	ReplayRefs       []ReplayRef   `json:"replay_step_refs"`
	ArtifactRefs     []ArtifactRef `json:"artifact_refs"` // the captures that failed checks read
	JudgeRefs        []JudgeRef    `json:"judge_refs"`
	MetricRefs       []MetricRef   `json:"metric_refs"`
	Tier             string        `json:"evidence_tier"`
	Severity         string        `json:"severity"`
}

// ReplayRef names an event of the trial's replay.
type ReplayRef struct {
	Sequence  int64  `json:"sequence_number"`
	EventType string `json:"event_type"`
	Kind      string `json:"kind"`
}

// ArtifactRef is a captured file.
type ArtifactRef struct {
	Key string `json:"key"`
}

// JudgeRef is a judge that was not content.
type JudgeRef struct {
	Key       string   `json:"key"`
	Kind      string   `json:"kind"`
	State     string   `json:"state"`
	Score     *float64 `json:"normalized_score"`
	Reason    string   `json:"reason,omitempty"`
	Sequence  int64    `json:"sequence_number,omitempty"`
	EventType string   `json:"event_type,omitempty"`
}

// MetricRef is a metric that could not be worked out.
type MetricRef struct {
	Key    string `json:"key"`
	Type   string `json:"metric_type"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
}

const (
	maxRefs   = 12  // of one kind
	maxDetail = 600 // bytes
	maxReason = 300 // bytes
)

// New reviews a trial whose outcome is failed or invalid.
func New(t Trial) Item {
	f := newFindings(t)
	r := t.Result
	item := Item{
		RunID: t.RunID, RunAgentID: t.RunAgentID, Agent: t.Agent,
		TrialID: r.TrialID, Repetition: r.Repetition, Attempt: r.Attempt,
		Outcome: string(r.Outcome), Code: r.Code, Phase: r.Phase,
		ChallengeKey: t.ChallengeKey, CaseKey: r.CaseKey, ItemKey: r.CaseKey,
		FailedDimensions: f.dimensions, FailedChecks: f.checkKeys(),
		ReplayRefs: f.replayRefs(), ArtifactRefs: f.artifactRefs(), JudgeRefs: f.judges, MetricRefs: f.metrics,
		Tier: f.tier, PromotionModes: []string{},
	}
	item.Class = f.class()
	k := kindOf(item.Class)
	item.Taxonomy = k.taxonomy
	item.State = f.state(item.Class)
	if r.Outcome == scoring.OutcomeInvalid {
		item.Taxonomy.AgentFault = false
	}
	item.Severity = severity(k, item)
	item.Headline = headline(k, item)
	item.Detail = clip(f.detail(), maxDetail)
	item.Action = k.action
	item.Remediation = Remediation{Area: k.area, Label: areaLabel(k.area), Summary: k.action, Evidence: f.evidence(item)}
	item.promotion(f)
	item.Fingerprint, item.ClusterKey = fingerprint(item, f.stable), clusterKey(item, f.stable)
	return item
}

// severity is that of the class where the evidence can carry it.
func severity(k kind, item Item) string {
	thin := item.Tier == TierHostedBlackBox || item.Tier == TierDerived || item.Tier == TierNone
	switch {
	case item.State == StateIncomplete, k.class == Insufficient:
		return Info
	case k.blocking && !thin:
		return Blocking
	}
	return Warning
}

// headline is the class in words, and what it hangs on in this trial.
func headline(k kind, item Item) string {
	switch {
	case item.Outcome == string(scoring.OutcomeInvalid):
		return k.headline + ": " + item.Code + " in " + cmp.Or(item.Phase, "an unknown phase")
	case item.Code != "":
		return k.headline + ": " + item.Code
	case len(item.FailedChecks) > 0:
		return k.headline + ": " + shown(item.FailedChecks)
	case len(item.JudgeRefs) > 0:
		return k.headline + ": " + item.JudgeRefs[0].Key
	}
	return k.headline
}

// promotion says in which ways the failure can become a regression case. An
// invalid trial in none: it says nothing of the agent.
func (i *Item) promotion(f findings) {
	i.Promotable = i.Outcome == string(scoring.OutcomeFailed) && i.ChallengeKey != "" && i.Tier != TierNone
	if !i.Promotable {
		return
	}
	if i.Tier == TierNative || i.Tier == TierHostedStructured {
		i.PromotionModes = append(i.PromotionModes, FullExecutable)
	}
	if f.result.FinalOutput != nil {
		i.PromotionModes = append(i.PromotionModes, OutputOnly)
	}
}

// PromotionSeverity is what a regression case of such a failure has when nobody
// says another. It is not the failure's own severity.
func PromotionSeverity(class string) string {
	if class == PolicyViolation || class == SandboxFailure {
		return Blocking
	}
	return Warning
}

// MarkFlaky gives failed trials of cases that the same agent also passed in the
// run the state flaky. passed says so of a run agent's id and a case key.
func MarkFlaky(items []Item, passed func(runAgentID, caseKey string) bool) {
	for i := range items {
		if items[i].State == StateFailed && items[i].Outcome == string(scoring.OutcomeFailed) && passed(items[i].RunAgentID, items[i].CaseKey) {
			items[i].State = StateFlaky
		}
	}
}

// Compare orders items by agent, challenge, case, repetition and trial.
func Compare(a, b Item) int {
	return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(a.ChallengeKey, b.ChallengeKey),
		strings.Compare(a.CaseKey, b.CaseKey), cmp.Compare(a.Repetition, b.Repetition), strings.Compare(a.TrialID, b.TrialID))
}

// shown lists at most four names.
func shown(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}

// clip bounds a text, on a character boundary.
func clip(text string, limit int) string {
	text = strings.TrimSpace(text)
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
