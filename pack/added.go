package pack

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/pack/template"
)

// AddedCase names a case that is not the pack's own.
type AddedCase struct {
	InputSet string `json:"input_set"`
	CaseKey  string `json:"case_key"`
}

// WithCases is the pack with more cases in one of its input sets, and with the
// bytes of their assets by clean path. They need not be of the set's challenge.
// The cases must have been checked by [Pack.CheckCases], and their keys must not
// be there yet. A file that the pack has with other bytes is refused: it would be
// another file for the pack's own cases too. The pack itself is not changed.
func (p *Pack) WithCases(inputSet string, cases []Case, assets map[string][]byte) (*Pack, error) {
	set, err := p.InputSet(inputSet)
	if err != nil {
		return nil, err
	}
	q := *p
	q.source, q.assets, q.InputSets = nil, maps.Clone(p.assets), slices.Clone(p.InputSets)
	if q.assets == nil {
		q.assets = map[string][]byte{}
	}
	for _, name := range sortedKeys(assets) {
		if own, ok := q.assets[name]; ok && !bytes.Equal(own, assets[name]) {
			return nil, fmt.Errorf("the pack's file %q is not the one that the case was kept with", name)
		}
		q.assets[name] = assets[name]
	}
	q.added = slices.Clone(p.added)
	at := slices.IndexFunc(q.InputSets, func(s InputSet) bool { return s.Key == set.Key })
	q.InputSets[at].Cases = slices.Concat(set.Cases, cases)
	for _, c := range cases {
		if _, ok := p.lookup().cases[caseID{set.Key, c.Key()}]; ok {
			return nil, fmt.Errorf("input set %q has a case %q already", set.Key, c.Key())
		}
		q.added = append(q.added, AddedCase{set.Key, c.Key()})
	}
	q.index = newIndex(&q)
	return &q, nil
}

// Own is the pack without the cases that were added to it, and without their
// files: what its author made.
func (p *Pack) Own() *Pack {
	if len(p.added) == 0 {
		return p
	}
	q := *p
	q.added, q.InputSets = nil, slices.Clone(p.InputSets)
	for i, set := range q.InputSets {
		q.InputSets[i].Cases = slices.DeleteFunc(slices.Clone(set.Cases), func(c Case) bool {
			return slices.Contains(p.added, AddedCase{set.Key, c.Key()})
		})
	}
	q.assets = map[string][]byte{}
	for _, a := range q.everyAsset() {
		name, _ := assetPath(a.Path)
		if data, ok := p.assets[name]; ok { // those of artifacts stay resolved
			q.assets[name] = data
		}
	}
	q.index = newIndex(&q)
	return &q
}

// SameCase says whether an input set has a case that gives a trial exactly what
// this one would.
func (p *Pack) SameCase(inputSet string, c Case) bool {
	own, ok := p.lookup().cases[caseID{inputSet, c.Key()}]
	return ok && own.ChallengeKey == c.ChallengeKey && bytes.Equal(StoredCase(*own), StoredCase(c))
}

// HasCase says whether an input set has a case of that key.
func (p *Pack) HasCase(inputSet, caseKey string) bool {
	_, ok := p.lookup().cases[caseID{inputSet, caseKey}]
	return ok
}

// Normalized is a case in its one form, as those of a loaded pack are.
func (c Case) Normalized() Case {
	c.normalize()
	return c
}

// CheckCases says what is wrong with cases that are to be added to the pack, as
// if they stood in it. Fields begin with cases[i]; what no case can be told apart
// for has the field "cases". The bytes of assets are not looked at.
func (p *Pack) CheckCases(cases []Case) Problems {
	q := *p
	q.InputSets = slices.Clone(p.InputSets)
	for i, c := range cases {
		name := fmt.Sprintf("added case %d", i) // no key of an input set is longer in words
		q.InputSets = append(q.InputSets, InputSet{Key: name, Name: name, Cases: []Case{c}})
	}
	before := map[string]bool{}
	for _, found := range p.recheck() {
		before[found.Field+"\x00"+found.Message] = true
	}
	var problems Problems
	for _, found := range q.recheck() {
		if before[found.Field+"\x00"+found.Message] {
			continue
		}
		field, ok := addedField(found.Field, len(p.InputSets))
		if !ok {
			field, found.Message = "cases", found.Field+" "+found.Message
		}
		problems = append(problems, Problem{Field: field, Message: found.Message, Rule: found.Rule})
	}
	return problems
}

// recheck runs every check but that of the files, which are in memory.
func (p *Pack) recheck() Problems {
	q := *p
	q.index = newIndex(&q)
	rep := newReport("")
	c := &checker{Pack: &q, rep: rep, primitives: template.Primitives()}
	for _, row := range checks() {
		if row.rule == "asset-files" {
			continue
		}
		rep.rule = row.rule
		row.run(c)
	}
	return slices.DeleteFunc(rep.sorted(), func(p Problem) bool { return p.Warning && !p.Blocks })
}

// addedField turns input_sets[own+i].cases[0].x into cases[i].x.
func addedField(field string, own int) (string, bool) {
	var set int
	rest, ok := strings.CutPrefix(field, "input_sets[")
	if !ok {
		return "", false
	}
	number, rest, _ := strings.Cut(rest, "]")
	if _, err := fmt.Sscanf(number, "%d", &set); err != nil || set < own {
		return "", false
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, ".cases"), "[0]")
	return fmt.Sprintf("cases[%d]%s", set-own, rest), true
}

// CaseAssets are the clean paths of the files that a case brings with it and of
// those that it refers to, each once and sorted. Only files whose bytes the pack
// has are among them.
func (p *Pack) CaseAssets(c Case) (own, referred []string) {
	ownPaths, all := map[string]bool{}, map[string]bool{}
	for _, a := range c.Assets {
		if name, bad := assetPath(a.Path); bad == "" && a.ArtifactID == "" {
			ownPaths[name] = true
		}
	}
	for name := range p.paths(c.referredKeys(), c.ChallengeKey) {
		all[name] = !ownPaths[name]
	}
	for _, name := range sortedKeys(ownPaths) {
		if _, ok := p.assets[name]; ok {
			own = append(own, name)
		}
	}
	for _, name := range sortedKeys(all) {
		if _, ok := p.assets[name]; ok && all[name] {
			referred = append(referred, name)
		}
	}
	return own, referred
}

// CleanAssetPath is the one form of an asset's path; the message says why a path
// is refused.
func CleanAssetPath(name string) (clean, message string) { return assetPath(name) }
