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

// spoiler spoils the evidence of one good trial.
type spoiler struct {
	*subject
	of *testCase
	// turn counts the trials: of many expectations each trial takes others.
	turn int
}

// spoil makes evidence that is wrong in one place out of a good trial's: what
// the agent left is missing, empty, cut, before or behind something, without
// what must be in it, with what must not, another case's, or a little off. A
// validator earns its place by seeing one of them. Some texts are as good in
// another form, for validators that say so.
func (s spoiler) spoil(ev, other scoring.Evidence) []scoring.Evidence {
	var list []scoring.Evidence
	if ev.FinalOutput != nil {
		list = append(list, withFinal(ev, nil))
		for _, t := range s.spoilText(finalOutput, *ev.FinalOutput, other.FinalOutput) {
			list = append(list, withFinal(ev, &t))
		}
	}
	for _, key := range sorted(ev.Files) {
		list = append(list, s.spoilFile(ev, key, other.Files[key])...)
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
		asked := s.listed(key)
		for _, name := range some(asked.Forbidden) {
			d.Entries = append(slices.Clone(entries), scoring.DirectoryEntry{Path: name, Size: 1})
			with(d)
		}
		for _, name := range append(some(asked.Files), some(asked.Directories)...) {
			at := below(d.Path, name)
			d.Entries = slices.DeleteFunc(slices.Clone(entries), func(e scoring.DirectoryEntry) bool {
				found := below(d.Path, e.Path)
				return found == at || strings.HasPrefix(found, at+"/")
			})
			with(d)
		}
	}
	return list
}

// some are the first of a list of names.
func some(names []string) []string { return names[:min(len(names), maxSpoiledKeys)] }

// listed are the names that validators want in a listing, or not in it.
func (s *subject) listed(key string) config {
	var all config
	for _, v := range s.spec.Validators {
		if v.Type == scoring.DirectoryStructure && v.Target == "file:"+key {
			c := configOf(v)
			all.Forbidden = append(all.Forbidden, c.Forbidden...)
			all.Files = append(all.Files, c.Files...)
			all.Directories = append(all.Directories, c.Directories...)
		}
	}
	return all
}

func withFinal(ev scoring.Evidence, text *string) scoring.Evidence {
	ev.FinalOutput = text
	return ev
}

func (s spoiler) spoilFile(ev scoring.Evidence, key string, other scoring.CapturedFile) []scoring.Evidence {
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
	for _, t := range s.spoilText(f.Path, f.Content, theirs) {
		f.Content, f.Size = t, int64(len(t))
		list = append(list, with(f))
	}
	return list
}

// nudge is how far off a number is put.
type nudge struct{ absolute, relative float64 }

// nudges are inside what each numeric_match tolerates, and outside but inside
// what its loosened form does; and one step.
func (s *subject) nudges() []nudge {
	list := []nudge{{absolute: 1}}
	for _, v := range s.spec.Validators {
		var config struct {
			Absolute float64 `json:"absolute_tolerance"`
			Relative float64 `json:"relative_tolerance"`
			Legacy   float64 `json:"tolerance"`
			Mode     string  `json:"tolerance_mode"`
			Digits   float64 `json:"significant_digits"`
		}
		if v.Type != scoring.NumericMatch && v.Type != scoring.MathEquivalence {
			continue
		}
		_ = json.Unmarshal(v.Config, &config) // no config is exact
		if config.Mode == "absolute" || v.Type == scoring.MathEquivalence {
			config.Absolute = config.Legacy
		} else {
			config.Relative = math.Max(config.Relative, config.Legacy)
		}
		const half = wider / 2
		switch {
		case config.Digits > 1: // off in the last digit
			list = append(list, nudge{relative: math.Pow(10, 1-config.Digits)})
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
