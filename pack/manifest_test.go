package pack_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentclash/agentclash/pack"
)

func load(t testing.TB, file string) *pack.Pack {
	t.Helper()
	p, problems, err := pack.Load(file)
	if err != nil || p == nil {
		t.Fatalf("load %s: %v\n%v", file, err, problems)
	}
	return p
}

// everything is the pack that has every key this version runs.
func everything(t testing.TB) *pack.Pack { return load(t, "testdata/corpus/valid-everything.yaml") }

func parsed(t testing.TB, src string) *pack.Pack {
	t.Helper()
	p, problems := pack.Parse("p.yaml", []byte(src), nil)
	if p == nil {
		t.Fatal(problems)
	}
	return p
}

func manifest(t testing.TB, p *pack.Pack) []byte {
	t.Helper()
	doc, err := p.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func digest(t testing.TB, p *pack.Pack) string {
	t.Helper()
	sum, err := p.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// The manifest is what stores keep for years: its bytes are a promise.
func TestManifestGolden(t *testing.T) {
	t.Parallel()
	var indented strings.Builder
	enc := json.NewEncoder(&indented)
	enc.SetIndent("", "  ")
	if err := enc.Encode(json.RawMessage(manifest(t, everything(t)))); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/everything.manifest.json", indented.String())
}

func TestManifestRoundTrip(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, file := range corpus(t) {
		if !strings.HasPrefix(filepath.Base(file), "valid-") {
			continue
		}
		tried++
		p := load(t, file)
		again, err := pack.FromManifest(manifest(t, p), p.Assets(), nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if diff := cmp.Diff(string(manifest(t, p)), string(manifest(t, again))); diff != "" {
			t.Errorf("%s (-first +again):\n%s", file, diff)
		}
		if digest(t, p) != digest(t, again) {
			t.Errorf("%s: the digest changed", file)
		}
		if diff := cmp.Diff(p, again, cmpopts.IgnoreUnexported(pack.Pack{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-loaded +from manifest):\n%s", file, diff)
		}
		for _, set := range p.InputSets {
			for _, c := range set.Cases {
				a, _ := p.CaseDigest(set.Key, c.Key())
				b, _ := again.CaseDigest(set.Key, c.Key())
				if a == "" || a != b {
					t.Errorf("%s: case %s: digests %q and %q", file, c.Key(), a, b)
				}
			}
		}
	}
	if tried < 5 {
		t.Errorf("tried %d packs, want at least 5", tried)
	}
}

func TestManifestKeepsNumbers(t *testing.T) {
	t.Parallel()
	const values = "{a: 9007199254740993, b: 18446744073709551615, c: 1e21, d: 1.5, e: -0.0, f: 1e3, g: 0x10, h: 12000000000000000000.0, i: 0.1}"
	p := parsed(t, strings.Replace(edgeBase, "case_key: k1}", "case_key: k1, payload: "+values+"}", 1))
	const want = `{"a":9007199254740993,"b":18446744073709551615,"c":1e+21,"d":1.5,"e":0,"f":1000,"g":16,"h":12000000000000000000,"i":0.1}`
	if got := string(pack.StoredCase(p.InputSets[0].Cases[0])); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	again, err := pack.FromManifest(manifest(t, p), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(pack.StoredCase(again.InputSets[0].Cases[0])); got != want {
		t.Errorf("from manifest: got %s, want %s", got, want)
	}
}

func TestManifestOfToolsAndDescription(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, old, with, want string
		absent                string
	}{
		{"tools absent", "pack:\n", "pack:\n", `"tool_policy":null,"version"`, `"tools"`},
		{"tools empty", "pack:\n", "tools: {}\npack:\n", `"tools":{}`, ""},
		{"description null", "pack:\n", "pack:\n  description: ~\n", `"family":"tests"},"schema_version":1`, `"description"`},
		{"description empty", "pack:\n", "pack:\n  description: \"\"\n", `"description":""`, ""},
		{"template id without text", "  number: 1\n", "  number: 1\n  sandbox: {}\n", `"sandbox_template_id":""`, ""},
		{"legacy mode", "  execution_mode: native\n", "", `"version":{"assets":null,"number":1}`, "execution_mode"},
	} {
		got := string(manifest(t, parsed(t, strings.Replace(edgeBase, row.old, row.with, 1))))
		if !strings.Contains(got, row.want) || row.absent != "" && strings.Contains(got, row.absent) {
			t.Errorf("%s: got %s, want %s and not %q", row.name, got, row.want, row.absent)
		}
	}
}

func TestFromManifestRefuses(t *testing.T) {
	t.Parallel()
	p := everything(t)
	assets := p.Assets()
	delete(assets, "files/gold.txt")
	for name, row := range map[string]struct {
		doc    []byte
		assets map[string][]byte
		want   string
	}{
		"no JSON":       {[]byte("{"), nil, "read manifest"},
		"other schema":  {[]byte(`{"schema_version":2}`), nil, "schema_version is 2"},
		"missing asset": {manifest(t, p), assets, `"./files/gold.txt" are missing`},
	} {
		if _, err := pack.FromManifest(row.doc, row.assets, nil); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", name, err, row.want)
		}
	}
}

// What a digest does and does not depend on.
func TestDigests(t *testing.T) {
	t.Parallel()
	src := strings.Replace(withAssets("shared.txt", "gold.txt"), "{challenge_key: c1, case_key: k1}",
		"{challenge_key: c1, case_key: k1, expectations: [{key: e, kind: file, artifact_key: a1}]}", 1)
	read := func(old, with, changed string) *pack.Pack {
		fsys := files(strings.Replace(src, old, with, 1))
		for _, name := range []string{"shared.txt", "gold.txt"} {
			fsys[name] = &fstest.MapFile{Data: []byte("text of " + name)}
		}
		if changed != "" {
			fsys[changed].Data = []byte("changed")
		}
		p, problems, err := pack.LoadFS(fsys, "pack.yaml")
		if err != nil || p == nil {
			t.Fatal(err, problems)
		}
		return p
	}
	cases := func(p *pack.Pack) (k1, k2 string) {
		k1, err1 := p.CaseDigest("set", "k1")
		k2, err2 := p.CaseDigest("set", "k2")
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		return k1, k2
	}
	base := read("", "", "")
	if _, err := base.CaseDigest("set", "k9"); !errors.Is(err, pack.ErrNotFound) {
		t.Errorf("unknown case: got %v, want ErrNotFound", err)
	}
	k1, k2 := cases(base)
	if k1 == k2 {
		t.Error("two cases have one digest")
	}
	for _, row := range []struct {
		name, old, with, asset string
		pack, k1, k2           bool // what changes
	}{
		{"nothing", "", "", "", false, false, false},
		{"a comment", "pack:\n", "# hello\npack:\n", "", false, false, false},
		{"the evaluation spec", "literal:ok", "literal:no", "", true, false, false},
		{"a negation", "expected_from: \"literal:ok\"", "expected_from: \"literal:ok\", negate: true", "", true, false, false},
		{"the input set's name", "name: Set", "name: Other", "", true, false, false},
		{"another case", "case_key: k2", "case_timeout_seconds: 9, case_key: k2", "", true, false, true},
		{"the challenge", "title: C1", "title: C One", "", true, true, true},
		{"a staged asset's bytes", "", "", "shared.txt", true, true, true},
		{"a grader's asset's bytes", "", "", "gold.txt", true, true, false},
	} {
		p := read(row.old, row.with, row.asset)
		g1, g2 := cases(p)
		if got := digest(t, p) != digest(t, base); got != row.pack {
			t.Errorf("%s: pack digest changed is %v, want %v", row.name, got, row.pack)
		}
		if (g1 != k1) != row.k1 || (g2 != k2) != row.k2 {
			t.Errorf("%s: case digests changed are %v %v, want %v %v", row.name, g1 != k1, g2 != k2, row.k1, row.k2)
		}
	}
}
