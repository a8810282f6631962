package packtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentclash/agentclash/scoring"
)

// direction says to what a change of a validator comes nearest: where that is
// not noticed, the change cannot be.
type direction int

const (
	looser   direction = iota // it passes more: to always passing
	stricter                  // it passes less: to always failing
	turned                    // both
)

// change is a validator with one thing changed.
type change struct {
	how string // what the validator does now
	to  direction
	scoring.Validator
}

// changes are those of a validator that its type and its config allow.
func changes(v scoring.Validator) []change {
	k := knobs{of: v}
	if len(v.Config) > 0 && json.Unmarshal(v.Config, &k.config) != nil {
		k.config = nil
	}
	k.negation()
	k.tolerances()
	k.thresholds()
	k.orders()
	k.modes()
	k.members()
	k.counts()
	return k.list
}

// knobs collects the changes of one validator.
type knobs struct {
	of     scoring.Validator
	config map[string]any
	list   []change
}

// turn adds the change of one key of the config; nil takes the key away.
func (k *knobs) turn(how string, to direction, key string, value any) {
	config := maps.Clone(k.config)
	if config == nil {
		config = map[string]any{}
	}
	config[key] = value
	if value == nil {
		delete(config, key)
	}
	k.with(how, to, config)
}

func (k *knobs) with(how string, to direction, config map[string]any) {
	raw, err := json.Marshal(config)
	if err != nil {
		return // decoded JSON always marshals
	}
	c := change{how: how, to: to, Validator: k.of}
	c.Config = raw
	k.list = append(k.list, c)
}

func (k *knobs) number(key string) (float64, bool) {
	v, ok := k.config[key].(float64)
	return v, ok
}

func (k *knobs) negation() {
	c := change{how: "is negated", to: turned, Validator: k.of}
	if k.of.Negate {
		c.how = "is not negated"
	}
	c.Negate = !c.Negate
	k.list = append(k.list, c)
}

const (
	// wider is how much wider a tolerance is made, and exactLoosened the share
	// that a comparison without one is given.
	wider         = 10
	exactLoosened = 0.1
)

// tolerances are widened; what is exact tolerates a tenth.
func (k *knobs) tolerances() {
	how := fmt.Sprintf("is %d times as tolerant", wider)
	switch k.of.Type {
	case scoring.NumericMatch:
		config, widened := maps.Clone(k.config), false
		for _, key := range []string{"absolute_tolerance", "relative_tolerance", "tolerance"} {
			if v, ok := k.number(key); ok && v > 0 {
				config[key], widened = v*wider, true
			}
		}
		digits, rounds := k.number("significant_digits")
		switch {
		case widened:
			k.with(how, looser, config)
		case rounds && digits > 1:
			k.turn("reads one digit less", looser, "significant_digits", digits-1)
		case !rounds:
			k.turn("tolerates a tenth of the number", looser, "relative_tolerance", exactLoosened)
		}
	case scoring.MathEquivalence:
		if v, ok := k.number("tolerance"); ok && v > 0 {
			k.turn(how, looser, "tolerance", v*wider)
		} else if k.config["numeric_fallback"] != false {
			k.turn("tolerates a tenth", looser, "tolerance", exactLoosened)
		}
	}
}

// thresholds that were set become 0 and 1.
func (k *knobs) thresholds() {
	for _, key := range []string{"threshold", "pass_threshold"} {
		v, set := k.number(key)
		if set && v > 0 {
			k.turn("has the "+key+" 0", looser, key, 0)
		}
		if set && v < 1 {
			k.turn("has the "+key+" 1", stricter, key, 1)
		}
	}
}

// orders are the sequences that references are compared by: of one element the
// order of a text no longer counts.
func (k *knobs) orders() {
	for _, key := range []string{"max_ngram", "char_order"} {
		if v, ok := k.number(key); ok && v > 1 {
			k.turn("has the "+key+" 1", looser, key, 1)
		}
	}
	if variant, ok := k.config["variant"].(string); ok && variant != "rouge-1" {
		k.turn("compares single words", looser, "variant", "rouge-1")
	}
}

// modes of comparing are swapped.
func (k *knobs) modes() {
	switch k.of.Type {
	case scoring.FileContentMatch:
		swapped := map[string]struct {
			mode string
			to   direction
		}{"exact": {"contains", looser}, "contains": {"exact", stricter}, "json_equal": {"exact", stricter}, "not_contains": {"contains", turned}}
		if m, ok := swapped[matchMode(k.of)]; ok {
			k.turn("has the match_mode "+m.mode, m.to, "match_mode", m.mode)
		}
	case scoring.Postcondition:
		if c, _ := k.config["condition"].(string); c != "" && c != "exists" && c != "not_exists" {
			k.with("only asks whether the file exists", looser, map[string]any{"condition": "exists"})
		}
	}
}

// maxMembers is how many members of one list are left out in turn.
const maxMembers = 20

// members of what must be there, must not, or is done first are left out, one
// at a time.
func (k *knobs) members() {
	for _, key := range []string{"required_files", "forbidden_files", "required_directories", "ordered_tools", "pipeline", "normalizations"} {
		list, _ := k.config[key].([]any)
		to := looser
		switch key {
		case "pipeline", "normalizations":
			to = turned
		case "ordered_tools":
			if k.config["order_mode"] == "exact" {
				to = turned
			}
		}
		for i, member := range list[:min(len(list), maxMembers)] {
			k.turn(fmt.Sprintf("leaves %s out of %s", quoted(fmt.Sprint(member)), key), to, key, slices.Delete(slices.Clone(list), i, i+1))
		}
	}
	fragment, _ := k.config["arguments_contain"].(map[string]any)
	to := looser
	if k.caps() {
		to = turned
	}
	keys := sorted(fragment)
	for _, key := range keys[:min(len(keys), maxMembers)] {
		less := maps.Clone(fragment)
		delete(less, key)
		k.turn(fmt.Sprintf("leaves %s out of arguments_contain", quoted(key)), to, "arguments_contain", less)
	}
}

// caps says whether a tool_call_assertion forbids calls, if only too many.
func (k *knobs) caps() bool {
	_, exact := k.number("count")
	_, most := k.number("max_count")
	return exact || most || k.config["must_call"] == false
}

// counts of calls are moved by one.
func (k *knobs) counts() {
	if n, ok := k.number("min_count"); ok && n > 0 {
		k.turn("asks for one call less", looser, "min_count", n-1)
	}
	if n, ok := k.number("max_count"); ok {
		k.turn("allows one call more", looser, "max_count", n+1)
	}
	if n, ok := k.number("count"); ok {
		k.turn("asks for one call more", turned, "count", n+1)
	}
}
