package template_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack/template"
)

func TestFill(t *testing.T) {
	t.Parallel()
	vars := map[string]any{
		"s": "<text>", "t": true, "i": int64(-7), "u": uint64(1 << 63), "f": 0.1, "whole": 100.0, "tiny": 1e-7, "minus": -1e-9,
		"sixth": 1.23456789, "null": nil, "list": []any{int64(1), "<"}, "a.b": "dotted", "again": "{{s}}",
		"m": map[string]any{"k": map[string]any{"deep": "down"}, "n": nil},
	}
	for _, row := range []struct {
		text, want string
		missing    []template.Unresolved
	}{
		{"nothing", "nothing", nil},
		{"{{s}} {{t}} {{i}} {{u}}", "<text> true -7 9223372036854775808", nil},
		{"{{f}} {{whole}} {{tiny}} {{minus}} {{sixth}}", "0.1 100 0 0 1.234568", nil},
		{"{{null}} {{list}} {{m}}", `null [1,"\u003c"] {"k":{"deep":"down"},"n":null}`, nil},
		{"{{ s\t}}{{m.k.deep}}{{m.n}}", "<text>downnull", nil},
		{"{{{s}}}", "{<text>}", nil},
		{"{{again}}", "{{s}}", nil},
		{"{{x-y}} {{1x}} {{}} {{ x y }} {{.x}} {s} ${s}", "{{x-y}} {{1x}} {{}} {{ x y }} {{.x}} {s} ${s}", nil},
		{"{{none}} {{none}} {{S}}", "{{none}} {{none}} {{S}}", []template.Unresolved{{Name: "none"}, {Name: "S"}}},
		{"{{a.b}} {{list.0}} {{s.x}}", "{{a.b}} {{list.0}} {{s.x}}", []template.Unresolved{{Name: "a.b"}, {Name: "list.0"}, {Name: "s.x"}}},
		{"{{m..k}} {{m.}} {{s.}} {{none..x}}", "{{m..k}} {{m.}} {{s.}} {{none..x}}", []template.Unresolved{
			{Name: "m..k", Malformed: true}, {Name: "m.", Malformed: true}, {Name: "s."}, {Name: "none..x"}}},
	} {
		got, missing := template.Fill(row.text, vars)
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.text, got, row.want)
		}
		if diff := cmp.Diff(row.missing, missing); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.text, diff)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	want := []string{"b", "a.c", "d"}
	if diff := cmp.Diff(want, template.Placeholders("{{b}} {{ a.c }} {{b}} {{not-this}} {{d}}")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What can be filled is not reported, what is reported was not filled.
func FuzzFill(f *testing.F) {
	f.Add("{{a}} {{ b.c }} {{{a}}}", "a", "value")
	f.Add("{{a..b}}", "a.b", "{{a}}")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		vars := map[string]any{key: value, "m": map[string]any{key: value}}
		got, missing := template.Fill(text, vars)
		if len(missing) == 0 && len(template.Placeholders(text)) == 0 && got != text {
			t.Errorf("text without placeholders changed: %q", got)
		}
		if diff := cmp.Diff(missing, template.Missing(template.Placeholders(text), vars)); diff != "" {
			t.Errorf("Fill and Missing disagree:\n%s", diff)
		}
		for _, u := range missing {
			if !strings.Contains(got, u.Name) {
				t.Errorf("%q is missing and not in %q", u.Name, got)
			}
		}
	})
}

// The names a pack may use and the tools there are must not drift apart.
func TestPrimitivesAreOfTheFormat(t *testing.T) {
	t.Parallel()
	if !slices.IsSorted(template.Names()) || !slices.IsSorted(template.Kinds()) {
		t.Error("names or kinds are not sorted")
	}
	primitives := template.Primitives()
	if len(primitives) == 0 {
		t.Fatal("there are no primitives")
	}
	for _, p := range primitives {
		if !slices.Contains(template.Names(), p.Name) {
			t.Errorf("%s is not a name of the format", p.Name)
		}
		if p.Kind != "" && !slices.Contains(template.Kinds(), p.Kind) {
			t.Errorf("%s has the unknown kind %q", p.Name, p.Kind)
		}
		if p.Shell && p.Kind != "" {
			t.Errorf("%s is unlocked by the shell and by a kind", p.Name)
		}
	}
}
