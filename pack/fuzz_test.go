package pack_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack"
)

// FuzzParse holds whatever bytes Parse is given to the promises of checkParsed.
func FuzzParse(f *testing.F) {
	for _, src := range documents(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, problems := pack.Parse("fuzz.yaml", src, nil)
		checkParsed(t, src, p, problems)
		checkUsable(t, p)
	})
}

// documents are all packs of the tests, valid and broken.
func documents(t testing.TB) [][]byte {
	t.Helper()
	var all [][]byte
	for _, file := range corpus(t) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, src)
	}
	for _, file := range verdictFiles(t) {
		for _, v := range readVerdicts(t, file) {
			all = append(all, []byte(v.src))
		}
	}
	for _, seed := range []string{
		edgeBase,
		"a: &a {<<: *a}", "<<: [{a: 1}, {b: 2}]", "? [a]\n: b", "!!binary 'x'", "- !!int x", "pack: !!map [x]",
		"x: 0o17\ny: -0b1\nz: 1_0.5e3", "\xff\xfea\x00:\x00 \x001\x00", "%YAML 1.1\n---\na: 1", "version: {evaluation_spec: {validators: [null, 1]}}",
	} {
		all = append(all, []byte(seed))
	}
	return all
}

// checkParsed: a pack exactly when there is no error; for every problem a place
// in the file, a field and a message that a terminal can be shown.
func checkParsed(t testing.TB, src []byte, p *pack.Pack, problems pack.Problems) {
	t.Helper()
	if (p == nil) != (problems.Err() != nil) {
		t.Errorf("pack is %v with problems:\n%v", p != nil, problems)
	}
	last := lines(src)
	for _, problem := range problems {
		if problem.Line < 1 || problem.Line > last || problem.Column < 1 || problem.Field == "" || problem.Message == "" {
			t.Errorf("a problem without a place, in %d lines: %+v", last, problem)
		}
		if said := problem.String(); !utf8.ValidString(said) || strings.ContainsFunc(said, unicode.IsControl) {
			t.Errorf("a problem with raw control characters: %q", problem.String())
		}
	}
}

// lines is how many lines YAML sees at most.
func lines(src []byte) int {
	if bytes.HasPrefix(src, []byte("\xff\xfe")) || bytes.HasPrefix(src, []byte("\xfe\xff")) {
		return 1 + len(src)/2
	}
	text := string(src)
	n := 1
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		n += strings.Count(text, end)
	}
	return n
}

// checkUsable: a pack goes through its manifest unchanged, and everything that
// a run asks of its cases can be asked.
func checkUsable(t testing.TB, p *pack.Pack) {
	t.Helper()
	if p == nil {
		return
	}
	doc, err := p.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.MissingAssets()) > 0 {
		return
	}
	again, err := pack.FromManifest(doc, p.Assets(), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := again.Manifest()
	if diff := cmp.Diff(string(doc), string(second)); err != nil || diff != "" {
		t.Errorf("manifest changed (%v; -first +second):\n%s", err, diff)
	}
	for _, set := range p.InputSets {
		for _, c := range set.Cases {
			p.AgentView(c)
			p.ScoringCase(c)
			p.WorkspaceFiles(c)
		}
	}
}
