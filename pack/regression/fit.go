package regression

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// Placed is a suite and the name of the file it is in.
type Placed struct {
	*Suite
	File string
}

// Selection is which cases are to run with a pack.
type Selection struct {
	InputSet        string // key or name; "" takes the pack's only one
	Suites          []Placed
	IncludeProposed bool
}

// Fitted is a pack with the cases of suites.
type Fitted struct {
	Pack     *pack.Pack
	InputSet string // the key
	// Keys are the cases of the suites in the input set, in order, each once; Own
	// those that the pack has anyway, which run once.
	Keys []string
	Refs map[string][]scoring.Regression // by key of the case
	// Notes are for people: what is not as it was when a case was promoted.
	Notes []string
}

// Fit adds the cases of suites to an input set of a pack. A case that the set has
// already, with the same content, is run once; where the key is another case's,
// the suite's name is put before it. Everything that keeps a case from running
// with the pack is said at once, as pack.Problems without places.
func Fit(p *pack.Pack, sel Selection) (*Fitted, error) {
	set, err := p.InputSet(sel.InputSet)
	if err != nil {
		return nil, err
	}
	f := fitting{pack: p, out: &Fitted{InputSet: set.Key, Refs: map[string][]scoring.Regression{}}, files: map[string][]byte{}}
	for _, s := range sel.Suites {
		f.suite(s, sel.IncludeProposed)
	}
	f.check()
	if len(f.problems) > 0 {
		return nil, f.problems
	}
	if f.out.Pack, err = p.WithCases(set.Key, f.cases, f.files); err != nil {
		return nil, fmt.Errorf("add the cases of the suites: %w", err)
	}
	return f.out, nil
}

// fitting is the work of Fit.
type fitting struct {
	pack     *pack.Pack
	out      *Fitted
	cases    []pack.Case // to be added
	from     []place     // of each of them
	files    map[string][]byte
	problems pack.Problems
}

// place is where a case stands.
type place struct{ file, id string }

func (f *fitting) fail(at place, format string, args ...any) {
	field := "suite"
	if at.id != "" {
		field = "case " + at.id
	}
	f.problems = append(f.problems, pack.Problem{File: at.file, Field: field, Message: fmt.Sprintf(format, args...)})
}

func (f *fitting) suite(s Placed, includeProposed bool) {
	at := place{file: s.File}
	switch {
	case s.Status == Archived:
		f.fail(at, "is archived: agentclash regression-suite activate %s makes it run again", s.Name)
		return
	case !strings.EqualFold(s.Pack, f.pack.Pack.Slug):
		f.fail(at, "is of pack %q, not of %q", s.Pack, f.pack.Pack.Slug)
		return
	}
	ran := 0
	for _, c := range s.Cases {
		if Runs(c.Status, includeProposed) {
			ran++
			f.add(s, c)
		}
	}
	if ran == 0 {
		f.out.Notes = append(f.out.Notes, fmt.Sprintf("suite %s has no case that is active", s.Name))
	}
}

func (f *fitting) add(s Placed, c Case) {
	at := place{s.File, c.ID}
	f.contract(at, c)
	if !f.take(at, c) {
		return
	}
	document := c.Document
	key := document.Key()
	known := func(d pack.Case) bool {
		return f.pack.SameCase(f.out.InputSet, d) || slices.ContainsFunc(f.cases, func(o pack.Case) bool { return sameCase(o, d) })
	}
	taken := func(key string) bool {
		return f.pack.HasCase(f.out.InputSet, key) || slices.ContainsFunc(f.cases, func(o pack.Case) bool { return o.Key() == key })
	}
	if !known(document) && taken(key) {
		key = s.Name + "/" + c.ID
		document.CaseKey, document.ItemKey = key, key
		if !known(document) && taken(key) {
			f.fail(at, "its key %q is that of another case", key)
			return
		}
	}
	if !known(document) {
		f.cases, f.from = append(f.cases, document), append(f.from, at)
	}
	if !slices.Contains(f.out.Keys, key) {
		f.out.Keys = append(f.out.Keys, key)
	}
	f.out.Refs[key] = append(f.out.Refs[key], scoring.Regression{Suite: s.Name, CaseID: c.ID, Severity: s.SeverityOf(c)})
}

func sameCase(a, b pack.Case) bool {
	return a.Key() == b.Key() && a.ChallengeKey == b.ChallengeKey && string(pack.StoredCase(a)) == string(pack.StoredCase(b))
}

// contract sees that the pack still has what judged the case.
func (f *fitting) contract(at place, c Case) {
	ch, ok := f.pack.Challenge(c.Document.ChallengeKey)
	if !ok {
		f.fail(at, "the pack has no challenge %q any more", c.Document.ChallengeKey)
	} else if c.Challenge != nil && c.Challenge.Instructions != "" && strings.TrimSpace(c.Challenge.Instructions) != ch.Prompt() {
		f.out.Notes = append(f.out.Notes, fmt.Sprintf("case %s runs with the pack's challenge %s, whose instructions have changed since it was promoted", at.id, ch.Key))
	}
	if c.Expects == nil {
		return
	}
	spec := f.pack.Version.EvaluationSpec
	for _, v := range c.Expects.Validators {
		i := slices.IndexFunc(spec.Validators, func(have scoring.Validator) bool { return strings.TrimSpace(have.Key) == v.Key })
		switch {
		case i < 0:
			f.fail(at, "the pack has no validator %q any more, which judged it", v.Key)
		case v.Type != "" && strings.TrimSpace(spec.Validators[i].Type) != v.Type:
			f.fail(at, "the pack's validator %q is of type %s, it was %s", v.Key, spec.Validators[i].Type, v.Type)
		}
	}
	for _, key := range c.Expects.Judges {
		if !slices.ContainsFunc(spec.LLMJudges, func(j scoring.LLMJudge) bool { return strings.TrimSpace(j.Key) == key }) {
			f.fail(at, "the pack has no judge %q any more, which judged it", key)
		}
	}
}

// take takes the files of a case, and says whether all are there. Those of the
// pack must be what they were.
func (f *fitting) take(at place, c Case) bool {
	ok := true
	assets := f.pack.Assets()
	have := map[string]bool{}
	for _, file := range c.Files {
		data, inline, err := file.Bytes()
		if err != nil {
			f.fail(at, "file %s: %v", file.Path, err)
			ok = false
			continue
		}
		own, theirs := assets[file.Path]
		sum := sha256.Sum256(own)
		switch {
		case theirs && hex.EncodeToString(sum[:]) != file.SHA256:
			f.fail(at, "the pack's file %s is not the one that the case was promoted with", file.Path)
			ok = false
		case !theirs && !inline:
			f.fail(at, "the pack has no file %s any more", file.Path)
			ok = false
		case inline && !theirs:
			if other, there := f.files[file.Path]; there && string(other) != string(data) {
				f.fail(at, "file %s is another one in another case of the suites", file.Path)
				ok = false
				continue
			}
			f.files[file.Path] = data
		}
		have[file.Path] = true
	}
	for _, a := range c.Document.Assets {
		name, bad := pack.CleanAssetPath(a.Path)
		if _, theirs := assets[name]; bad == "" && a.ArtifactID == "" && !have[name] && !theirs {
			f.fail(at, "its file %s is not among files", a.Path)
			ok = false
		}
	}
	return ok
}

// check holds the cases that are added against the rules of a pack's cases. What
// has been said of a case already is not said in other words.
func (f *fitting) check() {
	if len(f.cases) == 0 || len(f.problems) > 0 {
		return
	}
	for _, p := range f.pack.CheckCases(f.cases) {
		var i int
		at, rest := place{}, p.Field
		if _, err := fmt.Sscanf(p.Field, "cases[%d]", &i); err == nil && i < len(f.from) {
			at = f.from[i]
			_, rest, _ = strings.Cut(p.Field, "]")
		}
		f.fail(at, "%s %s", strings.TrimPrefix("case"+rest, "case."), p.Message)
	}
}
