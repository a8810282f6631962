package pack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

func indexed(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

func checkChallenges(c *checker) {
	if len(c.Challenges) == 0 {
		c.fail("challenges", "must hold at least one challenge")
	}
	seen := c.keys()
	for i, ch := range c.Challenges {
		field := indexed("challenges", i)
		seen.check(field+".key", ch.Key)
		c.require(field+".title", ch.Title)
		c.require(field+".category", ch.Category)
		if difficulties := []string{"easy", "medium", "hard", "expert"}; !slices.Contains(difficulties, ch.Difficulty) {
			c.fail(field+".difficulty", "%s", c.oneOf(ch.Difficulty, difficulties))
		}
		checkAssets(c, field+".assets", ch.Assets)
		checkRefs(c, field+".artifact_refs", ch.ArtifactRefs, ch.Key)
	}
}

func checkVersionAssets(c *checker) { checkAssets(c, "version.assets", c.Version.Assets) }

// maxAssets bounds a list of assets: each of them is staged for every case.
const maxAssets = 1000

func checkAssets(c *checker, field string, assets []Asset) {
	if len(assets) > maxAssets {
		c.fail(field, "must hold at most %d assets", maxAssets)
		return
	}
	seen := c.keys()
	for i, a := range assets {
		at := indexed(field, i)
		seen.check(at+".key", a.Key)
		if a.ArtifactID != "" && uuid.Validate(a.ArtifactID) != nil {
			c.fail(at+".artifact_id", "must be a UUID")
		}
		if c.require(at+".path", a.Path) && escapes(a.Path) {
			c.fail(at+".path", "must be relative and stay inside the directory of the pack file")
		}
	}
}

func checkRefs(c *checker, field string, refs []ArtifactRef, challenge string) {
	seen := c.keys()
	for i, ref := range refs {
		at := indexed(field, i) + ".key"
		if seen.check(at, ref.Key) {
			c.artifact(at, ref.Key, challenge)
		}
	}
}

// artifact sees that a reference names an asset of the version or of the
// challenge it is used for.
func (c *checker) artifact(field, key, challenge string) {
	if key == "" || c.rep.full || c.rep.incomplete("version.assets") {
		return
	}
	if _, ok := c.artifactFor(key, challenge); ok {
		return
	}
	if i, ok := c.index.challenges[challenge]; ok && c.rep.incomplete(indexed("challenges", i)+".assets") {
		return
	}
	var declared []string
	for _, a := range c.Version.Assets[:min(len(c.Version.Assets), maxCandidates)] {
		declared = append(declared, a.Key)
	}
	c.fail(field, "is not an asset of the version or of the challenge%s", c.hint(key, declared))
}

func checkInputSets(c *checker) {
	if len(c.InputSets) == 0 {
		c.fail("input_sets", "must hold at least one input set")
	}
	seen := c.keys()
	for i, set := range c.InputSets {
		field := indexed("input_sets", i)
		seen.check(field+".key", set.Key)
		c.require(field+".name", set.Name)
		if len(set.Cases) == 0 {
			c.fail(field+".cases", "must hold at least one case")
		}
		checkCaseIdentity(c, field, set)
		for j, kase := range set.Cases {
			checkCase(c, indexed(field+".cases", j), kase)
		}
	}
}

// checkCaseIdentity sees that a set has one challenge and every case a name.
func checkCaseIdentity(c *checker, set string, s InputSet) {
	one := ""
	for _, kase := range s.Cases {
		if one = kase.ChallengeKey; one != "" {
			break
		}
	}
	type identity struct{ challenge, key string }
	seen := map[identity]bool{}
	for j, kase := range s.Cases {
		field := indexed(set+".cases", j)
		checkChallengeKey(c, field+".challenge_key", kase.ChallengeKey, one)
		if kase.Key() == "" && c.rep.isBroken(field+".item_key") || !c.require(field+".case_key", kase.Key()) {
			continue
		}
		id := identity{kase.ChallengeKey, kase.Key()}
		if seen[id] {
			c.fail(field+".case_key", "must be unique in its input set; %s is used above", quote(kase.Key()))
		}
		seen[id] = true
	}
}

func checkChallengeKey(c *checker, field, key, one string) {
	if !c.require(field, key) {
		return
	}
	if key != one {
		c.fail(field, "must be %s like the cases above: an input set has one challenge", quote(one))
	}
	if _, ok := c.Challenge(key); ok || c.rep.full || c.rep.incomplete("challenges") {
		return
	}
	var declared []string
	for _, ch := range c.Challenges[:min(len(c.Challenges), maxCandidates)] {
		declared = append(declared, ch.Key)
	}
	c.fail(field, "is not the key of a challenge%s", c.hint(key, declared))
}

func checkCase(c *checker, field string, kase Case) {
	checkAssets(c, field+".assets", kase.Assets)
	checkRefs(c, field+".artifacts", kase.Artifacts, kase.ChallengeKey)
	if kase.CaseTimeoutSeconds < 0 {
		c.warn(field+".case_timeout_seconds", "is negative and is ignored")
	}
	seen := c.keys()
	for k, in := range kase.Inputs {
		at := indexed(field+".inputs", k)
		seen.check(at+".key", in.Key)
		c.require(at+".kind", in.Kind)
		c.artifact(at+".artifact_key", in.ArtifactKey, kase.ChallengeKey)
	}
	c.expectations(field+".expectations", kase.Expectations, c.sourcesOf(field, kase))
}

func (c *checker) expectations(field string, list []Expectation, from source) {
	seen := c.keys()
	for k, e := range list {
		at := indexed(field, k)
		seen.check(at+".key", strings.TrimSpace(e.Key))
		c.require(at+".kind", strings.TrimSpace(e.Kind))
		c.artifact(at+".artifact_key", strings.TrimSpace(e.ArtifactKey), from.challenge)
		checkSource(c, at+".source", e, from)
	}
}

// source is what an expectation's source may name.
type source struct {
	inputs    map[string]bool
	open      bool // there may be more inputs
	challenge string
}

func (c *checker) sourcesOf(field string, kase Case) source {
	s := source{map[string]bool{}, c.rep.incomplete(field + ".inputs"), kase.ChallengeKey}
	for _, in := range kase.Inputs {
		s.inputs[in.Key] = true
	}
	return s
}

func checkSource(c *checker, field string, e Expectation, from source) {
	text := strings.TrimSpace(e.Source)
	if text == "" {
		return
	}
	if key, ok := strings.CutPrefix(text, "input:"); ok {
		key = strings.TrimSpace(key)
		switch {
		case key == "":
			c.fail(field, "names no input after \"input:\"")
		case !from.inputs[key] && !from.open:
			c.fail(field, "%s is not an input of this case", quote(key))
		}
		return
	}
	if !strings.HasPrefix(text, "artifact:") {
		c.fail(field, "must begin with \"input:\" or \"artifact:\"")
		return
	}
	if e.sourceArtifact() == "" {
		c.fail(field, "names no asset after \"artifact:\"")
		return
	}
	c.artifact(field, e.sourceArtifact(), from.challenge)
}
