package pack_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentclash/agentclash/pack"
)

// stricter are the places where the schema refuses what the format lets pass,
// each with a change that shows it. Its rows say so as well.
var stricter = []struct{ field, why, file, old, with string }{
	{"version.tool_policy.allow_shell", "no run can use it", "corpus/valid-everything.yaml", "allow_shell: true", `allow_shell: "yes"`},
	{"version.tool_policy.allow_network", "no run can use it", "corpus/valid-everything.yaml", "allow_network: false", "allow_network: [no]"},
	{"version.filesystem", "no run can use it", "corpus/valid-everything.yaml", "max_workspace_bytes: 0x100000", "max_workspace_bytes: many"},
	{"tools.denied", "what is no name hides nothing", "corpus/valid-everything.yaml", "denied: [list_files]", "denied: [1]"},
	{"tools.allowed", "what is no name shows nothing", "corpus/valid-everything.yaml", "allowed: [read_file, write_file, exec, submit]", "allowed: [1]"},
	{"input_sets[0].cases[0].user_simulator.schema_version", "a version has no fraction", "schema/multi-turn.yaml", "schema_version: 1", "schema_version: 1.5"},
	{"version.deployment_defaults", "the space around a key is cut", "schema/voice-security.yaml", "lineups: {default", `lineups: {" default "`},
	{"version.evaluation_spec", "capitals are a warning", "schema/multi-turn.yaml", "judge_mode:", "Judge_Mode:"},
}

func TestSchemaIsStricter(t *testing.T) {
	t.Parallel()
	schema := compiledSchema(t)
	for _, row := range stricter {
		src := strings.Replace(read(t, "testdata/"+row.file), row.old, row.with, 1)
		if p, problems := pack.Parse("pack.yaml", []byte(src), nil); p == nil {
			t.Errorf("%s: %s is an error of the format now: take it off the list: %v", row.field, row.with, problems.Err())
		}
		v, err := editorReads([]byte(src))
		if err != nil {
			t.Fatal(err)
		}
		if schema.Validate(v) == nil {
			t.Errorf("%s: %s is accepted now: take it off the list", row.field, row.with)
		}
	}
}

// The schema never refuses what the format accepts, whatever a hand that slips
// makes of a pack, and it refuses most of what is broken; the rest are
// references from one place of a pack to another.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	every := 19 // the changes that are tried; all of them when there is time
	if slow() {
		every = 1
	}
	schema := compiledSchema(t)
	for _, file := range []string{"schema/multi-turn.yaml", "schema/voice-security.yaml", "corpus/valid-everything.yaml", "corpus/valid-minimal.yaml"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			doc, err := editorReads([]byte(read(t, "testdata/"+file)))
			if err != nil {
				t.Fatal(err)
			}
			changes, valid, broken, refused := 0, 0, 0, 0
			bend(doc, func(field, change string) {
				if changes++; changes%every != 0 {
					return
				}
				p, _ := pack.Parse("pack.yaml", []byte(mustJSON(doc)), fstest.MapFS{})
				err := schema.Validate(doc)
				switch {
				case p == nil:
					broken++
					if err != nil {
						refused++
					}
				case err == nil:
					valid++
				case !isStricter(field):
					t.Errorf("%s %s is valid and the schema refuses it: %v", field, change, err)
				}
			})
			if valid*every < 60 || broken*every < 400 || refused*10 < broken*8 {
				t.Errorf("of %d changes %d are valid and %d broken, %d of which are refused; want four fifths at least", changes, valid, broken, refused)
			}
		})
	}
}

func isStricter(field string) bool {
	for _, row := range stricter {
		// Capitals do not come up here.
		if row.field != "version.evaluation_spec" && strings.HasPrefix(field, row.field) {
			return true
		}
	}
	return false
}

// bend calls f with root after each of many changes, one at a time.
func bend(root any, f func(field, change string)) {
	b := bender{f: f}
	for _, key := range slices.Sorted(maps.Keys(root.(map[string]any))) {
		b.key(root.(map[string]any), key, key)
	}
}

type bender struct{ f func(field, change string) }

// junk is what is put in the place of every value.
func junk() []any {
	return []any{nil, "", "zz", " zz ", 0, -1, 1.5, 3000000000, true, []any{}, []any{nil}, []any{"zz"}, map[string]any{}, map[string]any{"zz": 1}}
}

func (b bender) key(m map[string]any, key, field string) {
	item := m[key]
	delete(m, key)
	b.f(field, "left out")
	b.value(item, field, func(v any) { m[key] = v })
}

func (b bender) value(v any, field string, set func(any)) {
	for _, j := range junk() {
		set(j)
		b.f(field, "set to "+mustJSON(j))
	}
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.key(v, key, field+"."+key)
		}
		v["zz"] = 1
		b.f(field, "with a key zz")
		delete(v, "zz")
	case []any:
		for i, item := range v {
			b.value(item, fmt.Sprintf("%s[%d]", field, i), func(n any) { v[i] = n })
		}
		set(append(slices.Clone(v), nil))
		b.f(field, "with a hole")
		set(slices.Concat(v, v[:min(1, len(v))]))
		b.f(field, "with its first item twice")
		set(v)
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
