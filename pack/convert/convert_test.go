package convert_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/convert"
)

type vector struct {
	Name, Src, Format string
	Map               []string
	Proposed          bool
	Expectations      []string
	Found             string
	Want              []wanted
	Problems          []string
}

type wanted struct {
	Key      string
	Payload  map[string]any
	Expected map[string]any
	Comment  string
}

func TestReading(t *testing.T) {
	t.Parallel()
	for _, v := range vectors[vector](t, "testdata/read.yaml") {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			got, found, err := read(v)
			if len(v.Problems) > 0 {
				if err == nil || err.Error() != strings.Join(v.Problems, "\n") {
					t.Fatalf("got %v, want\n%s", err, strings.Join(v.Problems, "\n"))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(v.Want, got); diff != "" || found != v.Found {
				t.Errorf("found %s, want %s; -want +got:\n%s", found, v.Found, diff)
			}
		})
	}
}

// read brings the cases of a vector into its own form, by way of YAML, as a pack
// would hold them.
func read(v vector) ([]wanted, string, error) {
	rows, found, err := convert.Read([]byte(v.Src), v.Format)
	if err != nil {
		return nil, found, err
	}
	m, err := convert.ParseMapping(v.Map)
	if err != nil {
		return nil, found, err
	}
	cases, _, err := convert.Cases(rows, convert.Options{Mapping: m, Challenge: "c", Proposed: v.Proposed, Expectations: v.Expectations})
	if err != nil {
		return nil, found, err
	}
	edited, err := convert.Edit{InputSet: "new", Create: true, Cases: cases}.Apply([]byte("input_sets: []\n"))
	if err != nil {
		return nil, found, err
	}
	var doc struct {
		InputSets []struct {
			Cases []struct {
				CaseKey      string `yaml:"case_key"`
				Payload      map[string]any
				Expectations []struct {
					Key   string
					Value any
				}
			}
		} `yaml:"input_sets"`
	}
	if err := yaml.Unmarshal(edited.Source, &doc); err != nil {
		return nil, found, err
	}
	var got []wanted
	for i, c := range doc.InputSets[0].Cases {
		w := wanted{Key: c.CaseKey, Payload: c.Payload, Comment: cases[i].Comment}
		for _, e := range c.Expectations {
			if w.Expected == nil {
				w.Expected = map[string]any{}
			}
			w.Expected[e.Key] = e.Value
		}
		got = append(got, w)
	}
	return got, found, nil
}

func vectors[T any](t *testing.T, file string) []T {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	dec := yaml.NewDecoder(bytes.NewReader(src))
	dec.KnownFields(true)
	if err := dec.Decode(&list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 3 {
		t.Fatalf("found %d vectors", len(list))
	}
	return list
}

func caseOf(key string, payload map[string]any) convert.Case {
	return convert.Case{Case: pack.Case{ChallengeKey: "c", CaseKey: key, Payload: payload}, Row: convert.Row{N: 1, Line: 2}}
}

const before = `# the pack
pack: {slug: p}   # kept

input_sets:
    # first
    - key: a
      name: "A"
      cases:
        - challenge_key: c
          case_key: one

          payload:
            text: |
              lines

              more
        # about two
        - {challenge_key: c, case_key: two, payload: {x: 1}} # tail

    # second
    - key: b
      cases: [{challenge_key: c, case_key: z}]
challenges:   [ {key: c} ]
`

func TestEditsLeaveTheRest(t *testing.T) {
	t.Parallel()
	note := caseOf("three", map[string]any{"text": "a\nb\n", "yes": "no", "tab": "\t", "n": int64(3)})
	note.Comment = "tags: x"
	got := apply(t, before, convert.Edit{InputSet: "a", Cases: []convert.Case{note, caseOf("two", map[string]any{"x": int64(1)})}})
	want := strings.Replace(before, "# tail\n", `# tail
        # tags: x
        - challenge_key: c
          case_key: three
          payload:
            "n": 3
            tab: "\t"
            text: |
              a
              b
            "yes": "no"
`, 1)
	if diff := cmp.Diff(want, string(got.Source)); diff != "" || got.Added != 1 || got.Unchanged != 1 {
		t.Errorf("added %d, unchanged %d; -want +got:\n%s", got.Added, got.Unchanged, diff)
	}
	again := apply(t, string(got.Source), convert.Edit{InputSet: "a", Cases: []convert.Case{note}})
	if !bytes.Equal(again.Source, got.Source) || again.Added != 0 || again.Unchanged != 1 {
		t.Errorf("once more changes something:\n%s", again.Source)
	}
	replaced := apply(t, before, convert.Edit{InputSet: "a", Replace: true, Cases: []convert.Case{caseOf("new", map[string]any{"x": "y"})}})
	head, _, _ := strings.Cut(before, "        - challenge_key")
	_, tail, _ := strings.Cut(before, "# tail\n")
	if diff := cmp.Diff(head+"        - challenge_key: c\n          case_key: new\n          payload:\n            x: \"y\"\n"+tail, string(replaced.Source)); diff != "" || replaced.Removed != 2 {
		t.Errorf("removed %d; -want +got:\n%s", replaced.Removed, diff)
	}
}

func TestEditsOfOtherForms(t *testing.T) {
	t.Parallel()
	one := []convert.Case{caseOf("k", map[string]any{"x": "y"})}
	for name, v := range map[string]struct {
		src  string
		edit convert.Edit
		want string
	}{
		"a list in brackets":                   {before, convert.Edit{InputSet: "b", Cases: one}, "- {challenge_key: c, case_key: z}\n      - challenge_key: c\n        case_key: k\n"},
		"a new input set":                      {before, convert.Edit{InputSet: "n", Create: true, Cases: one}, "case_key: z}]\n    - key: \"n\"\n      name: \"n\"\n      cases:\n        - challenge_key: c\n          case_key: k\n          payload:\n            x: \"y\"\nchallenges:   [ {key: c} ]\n"},
		"no input sets":                        {"pack: {slug: p} # kept\n", convert.Edit{InputSet: "n", Create: true, Cases: one}, "# kept\ninput_sets:\n  - key: \"n\"\n"},
		"CRLF":                                 {"input_sets:\r\n- key: a\r\n  cases:\r\n  - {case_key: z}\r\n", convert.Edit{InputSet: "a", Cases: one}, "- {case_key: z}\r\n  - challenge_key: c\r\n    case_key: k\r\n    payload:\r\n      x: \"y\"\r\n"},
		"no last newline":                      {"input_sets:\n- key: a\n  cases:\n  - {case_key: z}", convert.Edit{InputSet: "a", Cases: one}, "- {case_key: z}\n  - challenge_key: c\n"},
		"JSON":                                 {`{"input_sets": [{"key": "a", "cases": []}]}`, convert.Edit{InputSet: "a", Cases: one}, "case_key"},
		"a quoted text that leaves the indent": {"input_sets:\n  - key: a\n    cases:\n      - {case_key: z}\n      - case_key: \"y\nz\"\nlast: 1\n", convert.Edit{InputSet: "a", Cases: one}, "last: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := apply(t, v.src, v.edit)
			if !strings.Contains(string(got.Source), v.want) {
				t.Errorf("got\n%s\nwithout\n%s", got.Source, v.want)
			}
		})
	}
}

func apply(t *testing.T, src string, e convert.Edit) convert.Edited {
	t.Helper()
	got, err := e.Apply([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEditsRefused(t *testing.T) {
	t.Parallel()
	other := []convert.Case{caseOf("two", map[string]any{"x": "other"})}
	for name, v := range map[string]struct {
		src  string
		edit convert.Edit
		want string
	}{
		"other content":       {before, convert.Edit{InputSet: "a", Cases: other}, `the case "two" is in the pack already, with other content`},
		"no such set":         {before, convert.Edit{InputSet: "x", Cases: other}, `there are "a", "b"`},
		"there already":       {before, convert.Edit{InputSet: "a", Create: true, Cases: other}, "is there already"},
		"an alias":            {"x: &c [{case_key: z}]\ninput_sets: [{key: a, cases: *c}]\n", convert.Edit{InputSet: "a", Cases: other}, "is an alias"},
		"several documents":   {"input_sets: [{key: a, cases: [{case_key: z}]}]\n---\nx: 1\n", convert.Edit{InputSet: "a", Cases: other}, "several YAML documents"},
		"the old form":        {"input_sets: [{key: a, items: [{item_key: z}]}]\n", convert.Edit{InputSet: "a", Cases: other}, "the old form"},
		"no YAML":             {"a: [", convert.Edit{InputSet: "a"}, "read the pack"},
		"an anchor used on":   {"input_sets:\n- key: a\n  cases:\n  - &x {case_key: z}\nrest: *x\n", convert.Edit{InputSet: "a", Replace: true, Cases: other}, "without changing something else"},
		"cases that are text": {"input_sets: [{key: a, cases: text}]\n", convert.Edit{InputSet: "a", Cases: other}, "is no list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := v.edit.Apply([]byte(v.src))
			if err == nil || !strings.Contains(err.Error(), v.want) {
				t.Errorf("got %v, want %q\n%s", err, v.want, got.Source)
			}
		})
	}
	if _, err := (convert.Edit{InputSet: "x"}).Apply([]byte(before)); !errors.Is(err, convert.ErrNoInputSet) {
		t.Errorf("got %v", err)
	}
}

// FuzzRead wants every file read or refused with a place, and every case written
// so that it reads back.
func FuzzRead(f *testing.F) {
	src, err := os.ReadFile("testdata/read.yaml")
	if err != nil {
		f.Fatal(err)
	}
	var list []vector
	if err := yaml.Unmarshal(src, &list); err != nil {
		f.Fatal(err)
	}
	for _, v := range list {
		f.Add([]byte(v.Src), v.Format)
	}
	f.Fuzz(func(t *testing.T, src []byte, format string) {
		rows, _, err := convert.Read(src, format)
		var problems convert.Problems
		if err != nil {
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("%v is no problem", err)
			}
			return
		}
		cases, _, err := convert.Cases(rows, convert.Options{Challenge: "c"})
		if err != nil {
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("%v is no problem", err)
			}
			return
		}
		edited, err := convert.Edit{InputSet: "a", Cases: cases}.Apply([]byte("input_sets:\n- key: a\n  cases:\n  - {case_key: z}\n"))
		if err != nil && !errors.As(err, &problems) {
			t.Fatalf("%v", err)
		}
		if err == nil && !bytes.HasPrefix(edited.Source, []byte("input_sets:\n- key: a\n  cases:\n  - {case_key: z}\n")) {
			t.Fatalf("the list was not added to, but written anew:\n%s", edited.Source)
		}
	})
}

// FuzzEdit wants any pack file edited with nothing else changed, or refused.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(before))
	f.Add([]byte("input_sets: [{key: a, cases: [{case_key: z}]}]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := convert.Edit{InputSet: "a", Cases: []convert.Case{caseOf("k", map[string]any{"x": "y"})}}.Apply(src)
		if err != nil {
			return
		}
		again, err := convert.Edit{InputSet: "a", Cases: []convert.Case{caseOf("k", map[string]any{"x": "y"})}}.Apply(got.Source)
		if err != nil || again.Added != 0 || again.Unchanged != 1 {
			t.Fatalf("the case is not there: %v, %+v\n%s", err, again, got.Source)
		}
	})
}
