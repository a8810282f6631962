package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// semantics counts the changes of this engine after which the same inputs no
// longer make the same trial, and an earlier trial no longer stands for a new one.
const semantics = 1

// Identity is everything that can change what a trial comes to, part by part:
// what can change the agent's behaviour (and what is taken from its box), and
// what can change the score of the same behaviour. It holds no id, no date and no
// name that only people read.
type Identity struct{ parts []facet }

// facet is one thing that people would name as a reason.
type facet struct {
	name    string
	scoring bool   // it changes the score alone
	doc     []byte // JSON, with the keys of objects sorted
}

// Execution is the SHA-256, in hex, of what can change the trial's behaviour.
// Trials with the same one are of the same trial.
func (i Identity) Execution() string { return i.digest(false) }

// Scoring is the SHA-256, in hex, of what can change the score of the same
// behaviour.
func (i Identity) Scoring() string { return i.digest(true) }

func (i Identity) digest(scoring bool) string {
	h := sha256.New()
	for _, p := range i.parts {
		if p.scoring == scoring {
			// no part's name or document holds a zero byte
			fmt.Fprintf(h, "%s\x00%s\x00", p.name, p.doc)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Difference is a place where two identities differ.
type Difference struct {
	Part string // such as "the deployment"
	// Scoring says that only the score can change by it.
	Scoring bool
	Path    string // within the part, as in JSON: "" is the whole of it
	Was, Is string // excerpts of the values as JSON, "" for none
}

// Since lists what is different from an earlier identity, some places of each
// part.
func (i Identity) Since(was Identity) []Difference {
	var list []Difference
	for n, p := range i.parts {
		before := was.parts[n] // all identities have the same parts
		if bytes.Equal(p.doc, before.doc) {
			continue
		}
		for _, d := range differences(before.doc, p.doc) {
			d.Part, d.Scoring = p.name, p.scoring
			list = append(list, d)
		}
	}
	return list
}

// others names the parts that are different, of those that are given in both
// lists at the same places.
func others(was, now []facet) []string {
	var list []string
	for i, p := range now {
		if !bytes.Equal(p.doc, was[i].doc) {
			list = append(list, p.name)
		}
	}
	return list
}

// identifier works out the identities of a plan's trials. What trials have in
// common is worked out once.
type identifier struct {
	plan   *Plan
	common []facet   // of all trials
	lanes  [][]facet // of a run agent's
	cases  map[string][]facet
	err    error
}
