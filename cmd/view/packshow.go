package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// PublishedDocument is what `challenge-pack publish` prints.
type PublishedDocument struct {
	ChallengePackID string       `json:"challenge_pack_id"`
	VersionID       string       `json:"challenge_pack_version_id"`
	SpecID          string       `json:"evaluation_spec_id"`
	InputSets       List[string] `json:"input_set_ids"`
	BundleID        string       `json:"bundle_artifact_id,omitempty"`
	Slug            string       `json:"slug"`
	Version         int32        `json:"version"`
	Digest          string       `json:"digest"`
}

// PublishedPack writes the ids of a published pack.
func PublishedPack(w io.Writer, d PublishedDocument, o Options) error {
	var block Details
	block.Add("Challenge pack", o.ID(d.ChallengePackID))
	block.Add("Version", fmt.Sprintf("%s (%s)", o.ID(d.VersionID), d.Slug+"@"+strconv.Itoa(int(d.Version))))
	block.Add("Evaluation spec", o.ID(d.SpecID))
	for _, id := range d.InputSets {
		block.Add("Input set", o.ID(id))
	}
	block.Add("Bundle", o.ID(d.BundleID))
	block.Add("Digest", shortDigest(d.Digest, o))
	return block.Write(w, o)
}

// PackDocument is what `challenge-pack show` prints. The ids are those of the
// stored pack with the same content, if there is one.
type PackDocument struct {
	ChallengePackID string              `json:"challenge_pack_id,omitempty"`
	VersionID       string              `json:"challenge_pack_version_id,omitempty"`
	SpecID          string              `json:"evaluation_spec_id,omitempty"`
	BundleID        string              `json:"bundle_artifact_id,omitempty"`
	Slug            string              `json:"slug"`
	Name            string              `json:"name"`
	Family          string              `json:"family"`
	Description     string              `json:"description,omitempty"`
	Version         int32               `json:"version"`
	Mode            string              `json:"execution_mode"`
	Digest          string              `json:"digest"`
	Published       bool                `json:"published"`
	EvaluationSpec  string              `json:"evaluation_spec"`
	SpecDigest      string              `json:"evaluation_spec_digest"`
	Reference       bool                `json:"reference_agent"`
	Challenges      List[PackChallenge] `json:"challenges"`
	InputSets       List[PackInputSet]  `json:"input_sets"`
	Validators      List[string]        `json:"validators"`
	// Blockers keep this version from running the pack.
	Blockers List[Problem] `json:"blockers"`
}

// PackChallenge is a challenge of a pack.
type PackChallenge struct {
	Key        string `json:"key"`
	Title      string `json:"title"`
	Difficulty string `json:"difficulty"`
}

// PackInputSet is an input set of a pack and the keys of its cases.
type PackInputSet struct {
	ID    string       `json:"input_set_id,omitempty"`
	Key   string       `json:"key"`
	Name  string       `json:"name"`
	Cases List[string] `json:"cases"`
}

// ShowPack writes what a pack holds.
func ShowPack(w io.Writer, d PackDocument, o Options) error {
	var block Details
	block.Add("Pack", d.Slug+"@"+strconv.Itoa(int(d.Version)))
	block.Add("Name", d.Name)
	block.Add("Family", d.Family)
	if d.Description != "" {
		block.Add("Description", strings.Join(strings.Fields(d.Description), " "))
	}
	block.Add("Execution mode", d.Mode)
	block.Add("Version id", o.ID(d.VersionID))
	block.Add("Published", yesNo(d.Published))
	block.Add("Digest", shortDigest(d.Digest, o))
	block.Add("Reference agent", yesNo(d.Reference))
	for _, c := range d.Challenges {
		block.Add("Challenge", fmt.Sprintf("%s: %s (%s)", c.Key, c.Title, c.Difficulty))
	}
	for _, s := range d.InputSets {
		block.Add("Input set", fmt.Sprintf("%s, %d cases: %s", s.Key, len(s.Cases), strings.Join(s.Cases, ", ")))
	}
	block.Add("Evaluation spec", d.EvaluationSpec)
	for _, v := range d.Validators {
		block.Add("Validator", v)
	}
	for _, b := range d.Blockers {
		block.Add("Not run yet", b.Field+": "+b.Message)
	}
	return block.Write(w, o)
}
