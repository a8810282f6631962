package jsondoc_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring/jsondoc"
)

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := jsondoc.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// What is read is one document and no more, and can be compared.
func TestParse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "{", "[1,2", "nul", "{} {}", "[1]]", `{"a":1}}`, "1 2", "NaN", "Infinity", "01", "+1", "\ufeff{}", "\x00", "'a'", "```json\n{}\n```",
		"1e400", "-1e400", "1e-999999999", "1e99999999999999999999", strings.Repeat("9", 1001), `[{"a":1e400}]`,
		strings.Repeat("[", 100_000), strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), strings.Repeat(" ", 2<<20) + "1",
	} {
		if v, err := jsondoc.Parse(text); err == nil {
			t.Errorf("%.40q is read as %.40v", text, v)
		}
	}
	for text, want := range map[string]string{
		" 1.50\n": "1.5", "1E2": "100", `{"b":1,"a":[true,null,"<"]}`: `{"a":[true,null,"\u003c"],"b":1}`, `{"a":1,"a":2}`: `{"a":2}`, "1e-320": "0." + strings.Repeat("0", 319) + "1",
	} {
		if got := jsondoc.Compact(parse(t, text)); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// Numbers that are short to write and long to write out do not become more
// text than anybody asked for.
func TestBrief(t *testing.T) {
	t.Parallel()
	large := parse(t, "["+strings.Repeat("1e308,", 300_000)+"1]")
	if text, whole := jsondoc.Brief(large, 4096); whole || len(text) < 4096 || len(text) > 5000 {
		t.Errorf("got %d bytes, whole: %v", len(text), whole)
	}
	if text, whole := jsondoc.Brief(parse(t, `{"b":1e2,"a":"x"}`), 17); !whole || text != `{"a":"x","b":100}` {
		t.Errorf("got %s, whole: %v", text, whole)
	}
	if _, err := jsondoc.Contains(map[string]any{"a": large}, json.Number("1")); err == nil {
		t.Error("90 MB of digits are searched")
	}
	if in, err := jsondoc.Contains(parse(t, `{"a":[1.0]}`), parse(t, "[1]")); err != nil || !in {
		t.Errorf("got %v, %v", in, err)
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b           string
		equal, byValue bool
	}{
		{"10", "10.0", true, true}, {"1", `"1"`, false, false}, {"[1]", "[1.0]", false, true}, {`{"a":1,"b":[]}`, `{"b":[],"a":1}`, true, true},
		{"null", "false", false, false}, {"[]", "{}", false, false}, {"1e2", "100", true, true}, {"[1e2]", "[100]", false, true},
		{`{"a":null}`, "{}", false, false}, {"9007199254740993", "9007199254740992", true, true}, {"[9007199254740993]", "[9007199254740992]", false, true},
	} {
		a, b := parse(t, c.a), parse(t, c.b)
		if jsondoc.Equal(a, b) != c.equal || jsondoc.Equal(b, a) != c.equal {
			t.Errorf("%s and %s: equal is not %v", c.a, c.b, c.equal)
		}
		if jsondoc.EqualByValue(a, b) != c.byValue || jsondoc.EqualByValue(b, a) != c.byValue {
			t.Errorf("%s and %s: equal by value is not %v", c.a, c.b, c.byValue)
		}
	}
}

func TestIncludes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		got, want string
		in        bool
	}{
		{`{"a":1,"b":2}`, `{"a":1.0}`, true}, {`{"a":1}`, `{"a":1,"b":2}`, false}, {"[3,1,2]", "[1,3]", true}, {"[1,2]", "[1,1]", false},
		{`[{"a":1,"b":2},{"a":1}]`, `[{"a":1}]`, true}, {"1", "[1]", false}, {"[[1,2],[3]]", "[[2]]", true}, {"null", "null", true},
	} {
		left := 100
		if jsondoc.Includes(parse(t, c.got), parse(t, c.want), &left) != c.in || left < 0 {
			t.Errorf("%s includes %s: not %v", c.got, c.want, c.in)
		}
	}
}

// Lists in the wrong order take a step for every pair.
func TestIncludesEnds(t *testing.T) {
	t.Parallel()
	up, down := make([]any, 5000), make([]any, 5000)
	for i := range up {
		up[i], down[len(down)-1-i] = json.Number(strconv.Itoa(i)), json.Number(strconv.Itoa(i))
	}
	left := 1_000_000
	if jsondoc.Includes(down, up, &left); left >= 0 {
		t.Errorf("%d steps are left", left)
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"$", "$.a[0]['b'][\"c\"][d]", `$['\'']`, "$[", "$.", "$..a", `$["\ud800"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		_, err := jsondoc.ParsePath(path)
		if err == nil && !strings.HasPrefix(strings.TrimSpace(path), "$") {
			t.Errorf("%q is read as a path", path)
		}
	})
}

// FuzzParse: a document is itself, includes itself and is found at $.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,1.0,null]}`, "1e400", `"\ud800"`, "[[[]]]", "1 1", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := jsondoc.Parse(text)
		if err != nil {
			return
		}
		left := 1_000_000
		if !json.Valid([]byte(text)) || !jsondoc.Equal(v, v) || !jsondoc.EqualByValue(v, v) || !jsondoc.Includes(v, v, &left) && left >= 0 {
			t.Errorf("%q is read, and is not itself", text)
		}
		if again, err := jsondoc.Parse(jsondoc.Compact(v)); err != nil || !jsondoc.EqualByValue(again, v) {
			t.Errorf("%q is written as %q: %v", text, jsondoc.Compact(v), err)
		}
	})
}
