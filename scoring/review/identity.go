package review

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

const identitySchema = "failure_review_identity.v1"

// identity is what makes two failures the same. Only a fingerprint names ids and
// events; dimensions that a clock or a bill decides are in neither, so that a
// slower machine has the same failures.
type identity struct {
	Schema       string      `json:"schema_version"`
	Scope        string      `json:"scope"`
	RunID        string      `json:"run_id,omitempty"`
	RunAgentID   string      `json:"run_agent_id,omitempty"`
	Repetition   int         `json:"repetition,omitempty"`
	ChallengeKey string      `json:"challenge_key"`
	CaseKey      string      `json:"case_key"`
	ItemKey      string      `json:"item_key"`
	State        string      `json:"failure_state"`
	Class        string      `json:"failure_class"`
	Code         string      `json:"code"`
	Dimensions   []string    `json:"failed_dimensions"`
	Checks       []string    `json:"failed_checks"`
	Tier         string      `json:"evidence_tier"`
	ReplayRefs   []ReplayRef `json:"replay_step_refs,omitempty"`
}

func identityOf(i Item, stable []string) identity {
	return identity{
		Schema: identitySchema, ChallengeKey: i.ChallengeKey, CaseKey: i.CaseKey, ItemKey: i.ItemKey,
		State: i.State, Class: i.Class, Code: i.Code, Dimensions: sorted(stable), Checks: sorted(i.FailedChecks), Tier: i.Tier,
	}
}

func fingerprint(i Item, stable []string) string {
	id := identityOf(i, stable)
	id.Scope, id.RunID, id.RunAgentID, id.Repetition, id.ReplayRefs = "run_failure", i.RunID, i.RunAgentID, i.Repetition, i.ReplayRefs
	return "frf_" + id.digest()
}

func clusterKey(i Item, stable []string) string {
	id := identityOf(i, stable)
	id.Scope = "failure_cluster"
	return "frc_" + id.digest()
}

// digest cannot fail: an identity holds nothing but text and numbers.
func (id identity) digest() string {
	doc, err := json.Marshal(id)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:])
}
