package page

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
)

// Expected is a check that did not pass, with what lies between the text that it
// expects and the one that it read.
type Expected struct {
	Validator string `json:"validator"`
	Type      string `json:"type"`
	Target    string `json:"target"` // what it read, such as file:KEY
	Path      string `json:"path"`   // of the captured file, "" for another text
	// Diff is unified: lines with - are expected, lines with + were read. "" says
	// that what was kept of both is the same.
	Diff string `json:"diff"`
	// Within says that the expected text need only be a part of the other.
	Within bool `json:"within"`
	// Part says that only the beginning of a text was kept, or is shown.
	Part bool `json:"part"`
}

const (
	// maxRead is how much of a text is held against the expected one, and maxShown how
	// much of the difference is shown.
	maxRead  = 64 << 10
	maxShown = 64 << 10
	// maxExpected is how many checks of a trial are told so.
	maxExpected = 50
)

// expected are the checks of a trial that did not pass and whose expected text can be
// held against the one that was read.
func expected(e Evidence, files []File) []Expected {
	declared := map[string]scoring.Validator{}
	for _, v := range e.Declared {
		declared[v.Key] = v
	}
	list := []Expected{}
	for _, r := range e.Checks {
		if r.Verdict == scoring.VerdictPass || len(list) == maxExpected {
			continue
		}
		want, how, ok := wanted(declared[r.Key], r)
		if !ok {
			continue
		}
		x := Expected{Validator: r.Key, Type: r.Type, Target: r.Target, Within: how == within}
		want, x.Part = kept(want)
		is, cut := kept(*r.Actual)
		if whole, path := read(e, files, r.Target); strings.HasPrefix(whole, is) && len(whole) <= maxRead {
			is, x.Path, cut = whole, path, false
		}
		if x.Part { // no more of one than there is of the other
			is = view.Clip(is, len(want))
		}
		x.Part = x.Part || cut
		switch {
		case how == asJSON && !x.Part:
			want, is = laidOut(want), laidOut(is)
		case how == within: // how either ends is no difference
			want, is = strings.TrimSuffix(want, "\n")+"\n", strings.TrimSuffix(is, "\n")+"\n"
		}
		var left bool
		x.Diff, left = difference(want, is)
		x.Part = x.Part || left
		list = append(list, x)
	}
	return list
}

// How an expected text is meant.
const (
	alike = iota
	within
	asJSON
)

// wanted is the text that a check expects, and how it is meant. ok is false for one whose expected text is
// a pattern or a schema, or for what must not hold: nothing explains them line by line.
func wanted(v scoring.Validator, r scoring.ValidatorResult) (text string, how int, ok bool) {
	if v.Key == "" || v.Negate || r.Actual == nil {
		return "", how, false
	}
	switch v.Type {
	case scoring.Contains:
		how = within
	case scoring.FileContentMatch:
		var c struct {
			Mode string `json:"match_mode"`
		}
		if len(v.Config) > 0 && json.Unmarshal(v.Config, &c) != nil || c.Mode == "regex" || c.Mode == "not_contains" {
			return "", how, false
		}
		how = map[string]int{"": within, "contains": within, "json_equal": asJSON}[c.Mode]
	case scoring.Postcondition:
		var c struct {
			Condition string          `json:"condition"`
			Value     json.RawMessage `json:"value"`
		}
		if json.Unmarshal(v.Config, &c) != nil || c.Condition != "equals" || len(c.Value) == 0 {
			return "", how, false
		}
		if json.Unmarshal(c.Value, &text) == nil {
			return text, alike, true
		}
		return string(c.Value), asJSON, true
	case scoring.RegexMatch, scoring.JSONSchema, scoring.JSONPathMatch:
		return "", how, false
	}
	if r.Expected == nil {
		return "", how, false
	}
	return *r.Expected, how, true
}

// read is the whole text that a check read, where there is one.
func read(e Evidence, files []File, target string) (text, path string) {
	if key, ok := strings.CutPrefix(target, "file:"); ok {
		for _, f := range files {
			if f.Key == key && f.text() {
				return f.Content, f.Path
			}
		}
	}
	if e.Trial.FinalOutput != nil && strings.HasSuffix(target, "final_output") {
		return *e.Trial.FinalOutput, ""
	}
	return "", ""
}

// cutMark is how a result says that it has only the beginning of a text.
var cutMark = regexp.MustCompile(`… \[\d+ bytes more\]$`)

// kept is what a result has of a text; cut says that it is not all of it.
func kept(text string) (beginning string, cut bool) {
	if at := cutMark.FindStringIndex(text); at != nil {
		return text[:at[0]], true
	}
	return text, false
}

// laidOut is a JSON document with each value on a line of its own and its keys in
// order; any other text is itself.
func laidOut(text string) string {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(v) != nil {
		return text
	}
	return b.String()
}

// difference is a unified diff of at most so many lines as fit.
func difference(want, is string) (text string, cut bool) {
	if want == is {
		return "", false
	}
	if !strings.HasSuffix(want, "\n") && !strings.HasSuffix(is, "\n") {
		want, is = want+"\n", is+"\n" // neither ends its last line: that is no difference
	}
	text = unifiedOf("expected", want, "read", is)
	if len(text) <= maxShown {
		return text, false
	}
	return text[:strings.LastIndexByte(text[:maxShown], '\n')+1], true
}
