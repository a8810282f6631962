package packtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// Bounds on spoiling.
const (
	maxSpoiled     = 30       // good trials
	maxSpoiledText = 64 << 10 // a longer text is only taken away
	maxSpoiledKeys = 20       // of a JSON object
)

// spoil makes evidence that is wrong in one place out of a good trial's: what
// the agent left is missing, empty, cut, followed by something, another case's,
// or a little off. A validator earns its place by seeing one of them.
func (s *subject) spoil(x, other sample) []scoring.Evidence {
	var list []scoring.Evidence
	ev := x.evidence
	if ev.FinalOutput != nil {
		list = append(list, withFinal(ev, nil))
		for _, t := range s.spoilText(*ev.FinalOutput, other.evidence.FinalOutput) {
			list = append(list, withFinal(ev, &t))
		}
	}
	for _, key := range sorted(ev.Files) {
		list = append(list, s.spoilFile(ev, key, other.evidence.Files[key])...)
	}
	list = append(list, s.spoilDirectories(ev)...)
	list = append(list, s.spoilCalls(ev)...)
	for _, key := range sorted(ev.CodeRuns) {
		for _, said := range []string{"", "1 failed, 1 passed in 0.10s"} {
			spoiled := ev
			spoiled.CodeRuns = maps.Clone(ev.CodeRuns)
			run := spoiled.CodeRuns[key]
			run.ExitCode, run.Stdout, run.Stderr = new(1), said, ""
			spoiled.CodeRuns[key] = run
			list = append(list, spoiled)
		}
	}
	return list
}

// spoilDirectories leaves a listing missing, empty or without one of its
// entries, and puts what is forbidden into it.
func (s *subject) spoilDirectories(ev scoring.Evidence) []scoring.Evidence {
	var list []scoring.Evidence
	with := func(d scoring.CapturedDirectory) {
		spoiled := ev
		spoiled.Directories = maps.Clone(ev.Directories)
		spoiled.Directories[d.Key] = d
		list = append(list, spoiled)
	}
	for _, key := range sorted(ev.Directories) {
		d := ev.Directories[key]
		with(scoring.CapturedDirectory{Key: d.Key, Path: d.Path})
		with(scoring.CapturedDirectory{Key: d.Key, Path: d.Path, Exists: true})
		entries := d.Entries
		for i := range entries[:min(len(entries), maxSpoiledKeys)] {
			d.Entries = slices.Delete(slices.Clone(entries), i, i+1)
			with(d)
		}
		for _, name := range s.forbidden(key) {
			d.Entries = append(slices.Clone(entries), scoring.DirectoryEntry{Path: name, Size: 1})
			with(d)
		}
	}
	return list
}

// forbidden are the names that must not be in a listing.
func (s *subject) forbidden(key string) []string {
	var names []string
	for _, v := range s.spec.Validators {
		var config struct {
			Forbidden []string `json:"forbidden_files"`
		}
		if v.Type == scoring.DirectoryStructure && v.Target == "file:"+key && json.Unmarshal(v.Config, &config) == nil {
			names = append(names, config.Forbidden...)
		}
	}
	return names[:min(len(names), maxSpoiledKeys)]
}

// spoilCalls leaves all calls out, or those of one tool, makes one twice, and
// makes those that a validator asks about.
func (s *subject) spoilCalls(ev scoring.Evidence) []scoring.Evidence {
	var list []scoring.Evidence
	with := func(calls []scoring.ToolCall) {
		spoiled := ev
		spoiled.ToolCalls = calls
		list = append(list, spoiled)
	}
	for _, c := range s.askedCalls() {
		with(append(slices.Clone(ev.ToolCalls), c))
	}
	tools := map[string]bool{}
	for _, c := range ev.ToolCalls {
		tools[c.Name] = true
	}
	if len(tools) == 0 {
		return list
	}
	with(nil)
	with(append(slices.Clone(ev.ToolCalls), ev.ToolCalls[0]))
	names := sorted(tools)
	for _, name := range names[:min(len(names), maxSpoiledKeys)] {
		with(slices.DeleteFunc(slices.Clone(ev.ToolCalls), func(c scoring.ToolCall) bool { return c.Name == name }))
	}
	return list
}

// askedCalls are calls as the validators describe them.
func (s *subject) askedCalls() []scoring.ToolCall {
	var calls []scoring.ToolCall
	for _, v := range s.spec.Validators {
		config := struct {
			Tool      string          `json:"tool_name"`
			Arguments json.RawMessage `json:"arguments_contain"`
		}{Arguments: json.RawMessage("{}")}
		if v.Type == scoring.ToolCallAssertion && json.Unmarshal(v.Config, &config) == nil && config.Tool != "" {
			calls = append(calls, scoring.ToolCall{Name: strings.TrimSpace(config.Tool), Arguments: string(config.Arguments)})
		}
	}
	return calls[:min(len(calls), maxSpoiledKeys)]
}

func withFinal(ev scoring.Evidence, text *string) scoring.Evidence {
	ev.FinalOutput = text
	return ev
}

func (s *subject) spoilFile(ev scoring.Evidence, key string, other scoring.CapturedFile) []scoring.Evidence {
	with := func(f scoring.CapturedFile) scoring.Evidence {
		spoiled := ev
		spoiled.Files = maps.Clone(ev.Files)
		spoiled.Files[key] = f
		return spoiled
	}
	f := ev.Files[key]
	if !f.Exists { // then it may have to be missing
		return []scoring.Evidence{with(scoring.CapturedFile{Key: f.Key, Path: f.Path, Exists: true})}
	}
	list := []scoring.Evidence{with(scoring.CapturedFile{Key: f.Key, Path: f.Path})}
	var theirs *string
	if other.Exists {
		theirs = &other.Content
	}
	for _, t := range s.spoilText(f.Content, theirs) {
		f.Content, f.Size = t, int64(len(t))
		list = append(list, with(f))
	}
	return list
}

// spoilText are the ways in which a text can be nearly right. Other is what was
// right for another case, nil when there is none.
func (s *subject) spoilText(text string, other *string) []string {
	texts := []string{""}
	if other != nil {
		texts = append(texts, *other)
	}
	if len(text) > maxSpoiledText {
		return texts
	}
	texts = append(texts, text+"\nand something else", strings.ToValidUTF8(text[:len(text)/2], ""))
	for _, nudge := range s.nudges() {
		if t, ok := nudgeNumber(text, nudge); ok {
			texts = append(texts, t)
		}
	}
	var object, others map[string]any
	if json.Unmarshal([]byte(text), &object) != nil || object == nil {
		return texts
	}
	if other != nil && json.Unmarshal([]byte(*other), &others) != nil {
		others = nil
	}
	return append(texts, spoilObject(object, others)...)
}

// spoilObject takes each key away, changes its value, also to that of another
// object, and adds a key.
func spoilObject(object, others map[string]any) []string {
	var texts []string
	write := func(v map[string]any) {
		if b, err := json.Marshal(v); err == nil {
			texts = append(texts, string(b))
		}
	}
	more := maps.Clone(object)
	more["something else"] = true
	write(more)
	keys := sorted(object)
	for _, k := range keys[:min(len(keys), maxSpoiledKeys)] {
		less := maps.Clone(object)
		delete(less, k)
		write(less)
		values := spoilValue(object[k])
		if v, ok := others[k]; ok {
			values = append(values, v)
		}
		for _, v := range values {
			changed := maps.Clone(object)
			changed[k] = v
			write(changed)
		}
	}
	return texts
}

func spoilValue(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v, nil}
	case float64:
		return []any{v + 1, nil}
	case string:
		return []any{"something else", nil}
	}
	return []any{nil}
}

// nudge is how far off a number is put.
type nudge struct{ absolute, relative float64 }

// nudges are inside what each numeric_match tolerates, and outside but inside
// what its loosened form does; and one step.
func (s *subject) nudges() []nudge {
	list := []nudge{{absolute: 1}}
	for _, v := range s.spec.Validators {
		if v.Type != scoring.NumericMatch {
			continue
		}
		var config struct {
			Absolute float64 `json:"absolute_tolerance"`
			Relative float64 `json:"relative_tolerance"`
			Legacy   float64 `json:"tolerance"`
			Mode     string  `json:"tolerance_mode"`
		}
		_ = json.Unmarshal(v.Config, &config) // no config is exact
		if config.Mode == "absolute" {
			config.Absolute = config.Legacy
		} else {
			config.Relative = math.Max(config.Relative, config.Legacy)
		}
		const half = looser / 2
		switch {
		case config.Absolute > 0:
			list = append(list, nudge{absolute: config.Absolute * half}, nudge{absolute: config.Absolute / 2})
		case config.Relative > 0:
			list = append(list, nudge{relative: config.Relative * half}, nudge{relative: config.Relative / 2})
		default:
			list = append(list, nudge{relative: exactLoosened / 2})
		}
	}
	return list
}

var firstNumber = regexp.MustCompile(`[+-]?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?`)

// nudgeNumber puts the first number of a text off.
func nudgeNumber(text string, by nudge) (string, bool) {
	at := firstNumber.FindStringIndex(text)
	if at == nil {
		return "", false
	}
	var plain []byte
	for _, c := range []byte(text[at[0]:at[1]]) {
		if c != ',' {
			plain = append(plain, c)
		}
	}
	v, err := strconv.ParseFloat(string(plain), 64)
	if err != nil {
		return "", false
	}
	off := v + by.absolute + v*by.relative
	if v == 0 && by.relative > 0 {
		off = by.relative
	}
	return fmt.Sprintf("%s%s%s", text[:at[0]], strconv.FormatFloat(off, 'f', -1, 64), text[at[1]:]), true
}
