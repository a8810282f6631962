package page_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/report/page/pagetest"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
)

// TestExpected sees which checks are explained line by line, and how.
func TestExpected(t *testing.T) {
	long := strings.Repeat("line\n", 2000)
	kept := long[:4096] + fmt.Sprintf("… [%d bytes more]", len(long)-4096)
	captured := strings.Repeat("0123456789abcdef\n", 600)
	for name, row := range map[string]struct {
		validator scoring.Validator
		want, is  string
		verdict   string
		captured  string // the whole file, where it is not what was kept of it
		diff      string // "-" for no entry
		part      bool
	}{
		"one line":     {validator: scoring.Validator{Type: "exact_match"}, want: "41", is: "42", diff: "@@ -1,1 +1,1 @@\n-41\n+42\n"},
		"line end":     {validator: scoring.Validator{Type: "exact_match"}, want: "41\n", is: "41", diff: "@@ -1,1 +1,1 @@\n-41\n+41\n\\ No newline at end of file\n"},
		"a part":       {validator: scoring.Validator{Type: "contains"}, want: "b\nc", is: "a\nb\nd", diff: "@@ -1,2 +1,3 @@\n+a\n b\n-c\n+d\n"},
		"passed":       {validator: scoring.Validator{Type: "exact_match"}, want: "41", is: "42", verdict: "pass", diff: "-"},
		"negated":      {validator: scoring.Validator{Type: "contains", Negate: true}, want: "4", is: "42", diff: "-"},
		"pattern":      {validator: scoring.Validator{Type: "regex_match"}, want: "^4$", is: "42", diff: "-"},
		"file pattern": {validator: scoring.Validator{Type: "file_content_match", Config: json.RawMessage(`{"match_mode":"regex"}`)}, want: "^4$", is: "42", diff: "-"},
		"file without": {validator: scoring.Validator{Type: "file_content_match", Config: json.RawMessage(`{"match_mode":"not_contains"}`)}, want: "4", is: "42", diff: "-"},
		"JSON": {validator: scoring.Validator{Type: "file_content_match", Config: json.RawMessage(`{"match_mode":"json_equal"}`)},
			want: `{"b":1.50,"a":"<x>"}`, is: `{"a":"<y>","b":1.50}`, diff: "@@ -1,4 +1,4 @@\n {\n-  \"a\": \"<x>\",\n+  \"a\": \"<y>\",\n   \"b\": 1.50\n }\n"},
		"condition": {validator: scoring.Validator{Type: "postcondition", Config: json.RawMessage(`{"condition":"equals","value":"a\nb\n"}`)},
			is: "a\nc\n", diff: "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"},
		"condition on JSON": {validator: scoring.Validator{Type: "postcondition", Config: json.RawMessage(`{"condition":"equals","value":[1]}`)},
			is: "[2]", diff: "@@ -1,3 +1,3 @@\n [\n-  1\n+  2\n ]\n"},
		"another condition": {validator: scoring.Validator{Type: "postcondition", Config: json.RawMessage(`{"condition":"contains","value":"a"}`)}, is: "b", diff: "-"},
		"more than is kept": {validator: scoring.Validator{Type: "exact_match"}, want: kept, is: kept, diff: "", part: true},
		"whole file": {validator: scoring.Validator{Type: "file_content_match"}, want: captured[:4080] + "end\n",
			is: captured[:4096] + fmt.Sprintf("… [%d bytes more]", len(captured)-4096), captured: captured[:4250], diff: "@@ -238,4 +238,13 @@\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := pagetest.Run(2, 0)
			e, err := r.Read(r.Trials[1].TrialID)
			if err != nil {
				t.Fatal(err)
			}
			row.validator.Key = "k"
			e.Declared = []scoring.Validator{row.validator}
			if row.verdict == "" {
				row.verdict = "fail"
			}
			check := scoring.ValidatorResult{Key: "k", Type: row.validator.Type, Verdict: row.verdict, Target: "case.payload", Actual: &row.is}
			if row.want != "" {
				check.Expected = &row.want
			}
			if row.captured != "" {
				check.Target = "file:a"
				e.Events = pagetest.Captured(e, scoring.CapturedFile{Key: "a", Path: "/workspace/a.txt", Exists: true, Content: row.captured})
			}
			e.Checks = []scoring.ValidatorResult{check}
			got := page.NewDetail(e).Expected
			if row.diff == "-" {
				if len(got) > 0 {
					t.Errorf("it is explained as %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Part != row.part {
				t.Fatalf("got %+v", got)
			}
			text, ok := strings.CutPrefix(got[0].Diff, "--- expected\n+++ read\n")
			if ok != (row.diff != "") || row.captured == "" && text != row.diff || !strings.HasPrefix(text, row.diff) {
				t.Errorf("the difference is %q", got[0].Diff)
			}
			if row.captured != "" && (got[0].Path != "/workspace/a.txt" || !strings.HasSuffix(row.captured, strings.TrimPrefix(lastLine(text), "+"))) {
				t.Errorf("the file's end is not held against what is expected: %q", text)
			}
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n\\ No newline at end of file\n"), "\n")
	return lines[len(lines)-1]
}

// TestManyExpected sees that what is shown of checks is bounded.
func TestManyExpected(t *testing.T) {
	r := pagetest.Run(2, 0)
	e, err := r.Read(r.Trials[1].TrialID)
	if err != nil {
		t.Fatal(err)
	}
	want, is := "a\n", strings.Repeat("\x00\n", 2040)
	for i := range 500 {
		key := fmt.Sprint(i)
		e.Declared = append(e.Declared, scoring.Validator{Key: key, Type: "exact_match"})
		e.Checks = append(e.Checks, scoring.ValidatorResult{Key: key, Type: "exact_match", Verdict: "fail", Target: "final_output", Expected: &want, Actual: &is})
	}
	e.Trial.FinalOutput = new(is + strings.Repeat("b\n", 30<<10))
	d := page.NewDetail(e)
	if len(d.Expected) != 50 || !d.Expected[0].Part || len(d.Expected[0].Diff) > 64<<10 || !strings.HasSuffix(d.Expected[0].Diff, "\n") {
		t.Errorf("%d checks; the first has %d bytes, a part: %v", len(d.Expected), len(d.Expected[0].Diff), d.Expected[0].Part)
	}
}

// TestArtifacts sees that artifacts are in the page while there is room, and that the
// rest is told.
func TestArtifacts(t *testing.T) {
	r := pagetest.Run(2, 1)
	sizes := []int{3, 900 << 10, 2 << 20, 700 << 10, 5}
	for i, size := range sizes {
		r.Artifacts = append(r.Artifacts, view.Artifact{ID: fmt.Sprint(i), Name: "a" + fmt.Sprint(i), Size: int64(size), SHA256: strings.Repeat("0", 64)})
	}
	r.PrivateArtifacts = 2
	r.ReadArtifact = func(id string) ([]byte, error) {
		var i int
		_, err := fmt.Sscan(id, &i)
		return []byte(pagetest.Noise(sizes[i])), err
	}
	text, left := write(t, r)
	var d struct {
		Artifacts []struct {
			Chunk int `json:"chunk"`
		} `json:"artifacts"`
	}
	if err := json.Unmarshal([]byte(dataOf(t, text)), &d); err != nil {
		t.Fatal(err)
	}
	for i, a := range d.Artifacts {
		if in := a.Chunk >= 0 && strings.Contains(text, fmt.Sprintf(`id="chunk-%d"`, a.Chunk)); in != (i != 2) {
			t.Errorf("artifact %d is in chunk %d", i, a.Chunk)
		}
	}
	if left.Artifacts != 1 || left.Private != 2 || len(left.Lines()) != 2 || len(text) > page.MaxPage {
		t.Errorf("%d bytes; left out: %v", len(text), left.Lines())
	}
}

// TestLongNames sees that no name, key or reason makes a page too large.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("é\u202e<", 250_000) // more than a megabyte
	for name, change := range map[string]func(r *page.Report){
		"keys": func(r *page.Report) {
			r.Trials[0].CaseKey, r.Trials[1].CaseKey, r.Trials[2].CaseKey = long, long+"2", long+"3"
		},
		"run": func(r *page.Report) {
			r.Run.Name, r.Run.Reason, r.Run.InputSet, r.Run.Pack.Slug = long, long, long, long
		},
		"agents": func(r *page.Report) { r.Agents[0].Label, r.Agents[0].Model, r.Agents[0].Reason = long, long, long },
		"many": func(r *page.Report) {
			for i := range 8_000 {
				t := r.Trials[1]
				t.TrialID, t.CaseKey, t.Code, t.Phase, t.Why = fmt.Sprintf("0190aaaa-0000-7000-9000-%012d", i), fmt.Sprint(i, long[:200]), long[:50], long[:50], long[:500]
				r.Trials = append(r.Trials, t)
			}
			r.Read = func(string) (page.Evidence, error) { return page.Evidence{}, nil }
		},
		"artifacts": func(r *page.Report) {
			for range 400 {
				r.Artifacts = append(r.Artifacts, view.Artifact{ID: "a", Name: long[:100_000], Size: 1 << 30, Metadata: json.RawMessage(`{}`)})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := pagetest.Run(3, 1)
			change(&r)
			text, left := write(t, r)
			if len(text) > page.MaxPage {
				t.Errorf("the page has %d bytes", len(text))
			}
			if left.Texts == 0 || len(left.Lines()) == 0 {
				t.Errorf("left out: %+v", left)
			}
			if !json.Valid([]byte(dataOf(t, text))) {
				t.Error("the data is no JSON")
			}
		})
	}
}
