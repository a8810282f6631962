package pack

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// unknownKey says what is known about a key that a struct does not have: where
// it belongs, or what it may have meant.
func (d *decoder) unknownKey(p pair, sp *spot, sh *shape) {
	strict := d.strict || sp != nil && sp.strict
	if strict && d.rep.full || !strict && d.rep.warned {
		return // nothing more will be listed, so that hints are not worth their time
	}
	name := p.key.text
	field := sp.child(p.key).path()
	if !strict && strings.HasPrefix(name, "x-") {
		return // the usual place for anchors
	}
	message := "is not a key of the " + cmp.Or(d.rep.format, "pack") + " format"
	hint := misplaced(sh.name, name)
	if near, ok := nearest(name, sh.keys); hint == "" && ok {
		hint = fmt.Sprintf("did you mean %q?", near)
		if strict {
			// What was meant is written, under another name: nothing can
			// be said about its value.
			d.rep.unknown(join(sp.path(), near))
		}
	}
	if hint != "" {
		message += "; " + hint
	}
	if strict {
		d.rep.undecodable(p.key.at, field, message)
		return
	}
	d.rep.add(p.key.at, Problem{Field: field, Message: message + ignoredNote(hint), Warning: true, Rule: ruleUnknownKey})
}

func ignoredNote(hint string) string {
	if hint == "" {
		return " and is ignored"
	}
	return ""
}

// misplaced knows the keys that packs in the wild put in the wrong place.
func misplaced(in, key string) string {
	switch in + "." + key {
	case "Version.tools":
		return "tools belong at the top level of the file"
	case "Version.challenges", "Version.input_sets":
		return key + " belong at the top level of the file"
	case "Version.security":
		return "security belongs at the top level of the file"
	case "Version.validators", "Version.metrics", "Version.scorecard", "Version.judge_mode",
		"Version.post_execution_checks", "Version.runtime_limits", "Version.llm_judges":
		return "it belongs in version.evaluation_spec"
	case "Pack.execution_mode", "Pack.tool_policy", "Pack.filesystem", "Pack.sandbox",
		"Pack.evaluation_spec", "Pack.assets":
		return "it belongs in version"
	case "Pack.slug", "Pack.name", "Pack.family", "Pack.description":
		return "it belongs in pack"
	case "Pack.cases", "Challenge.cases":
		return "cases belong in input_sets[].cases"
	case "Challenge.input_set_keys":
		return "an input set names its challenge in cases[].challenge_key"
	case "InputSet.challenge_key":
		return "each case names its challenge in challenge_key"
	case "Challenge.expectations", "Challenge.inputs", "Challenge.payload":
		return "it belongs in input_sets[].cases[]"
	case "Case.key":
		return "a case is named by case_key"
	}
	return ""
}

// maxCandidates bounds how many words a mistyped one is compared with.
const maxCandidates = 200

// nearest finds the word that a mistyped or shortened one most likely meant.
func nearest(word string, words []string) (string, bool) {
	folded := fold(word)
	if folded == "" || len(folded) > 64 {
		return "", false
	}
	words = words[:min(len(words), maxCandidates)]
	best, least := "", min(allowance(len(folded)), len(folded)-1)+1
	for _, w := range words {
		candidate := fold(w)
		distance := levenshtein.ComputeDistance(folded, candidate)
		if len(folded) >= 4 && (strings.HasPrefix(candidate, folded) || strings.HasPrefix(folded, candidate)) {
			distance = min(distance, 1)
		}
		if distance < least {
			best, least = w, distance
		}
	}
	return best, best != ""
}

// allowance is how many letters may differ in a word of some length.
func allowance(length int) int {
	switch {
	case length < 4:
		return 1
	case length < 9:
		return 2
	}
	return length / 3
}

// fold takes away what people vary when they write a name.
func fold(word string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(word))
}

// didYouMean is the end of a message about a mistyped word, or nothing.
func didYouMean(got string, values []string) string {
	if near, ok := nearest(got, values); ok {
		return "; did you mean " + quote(near) + "?"
	}
	return ""
}
