package pack_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/pack"
)

// Whatever the bytes: no panic, a place for every problem, and a pack exactly
// when there is no error. What is a pack goes through its manifest unchanged.
func FuzzParse(f *testing.F) {
	for _, file := range corpus(f) {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte(edgeBase))
	for _, seed := range []string{
		"a: &a {<<: *a}", "<<: [{a: 1}, {b: 2}]", "? [a]\n: b", "!!binary 'x'", "- !!int x", "pack: !!map [x]",
		"x: 0o17\ny: -0b1\nz: 1_0.5e3", "\xff\xfea\x00:\x00 \x001\x00", "%YAML 1.1\n---\na: 1", "version: {evaluation_spec: {validators: [null, 1]}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, problems := pack.Parse("fuzz.yaml", src, nil)
		if (p == nil) != (problems.Err() != nil) {
			t.Fatalf("pack is %v with problems:\n%v", p != nil, problems)
		}
		lines := 1 + strings.Count(string(src), "\n") + strings.Count(string(src), "\r") + len(src)/2
		for _, problem := range problems {
			if problem.Line < 1 || problem.Line > lines || problem.Column < 1 || problem.Field == "" || problem.Message == "" {
				t.Errorf("problem without a place: %+v", problem)
			}
			if strings.ContainsAny(problem.String(), "\x1b\x00\n") {
				t.Errorf("problem with raw control characters: %q", problem.String())
			}
		}
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
		again, err := pack.FromManifest(doc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := again.Manifest()
		if err != nil || string(second) != string(doc) {
			t.Errorf("manifest changed (%v):\n%s\n%s", err, doc, second)
		}
		for _, set := range p.InputSets {
			for _, c := range set.Cases {
				p.AgentView(c)
				p.ScoringCase(c)
				p.WorkspaceFiles(c)
			}
		}
	})
}
