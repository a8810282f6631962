package page_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/report/page/pagetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func write(t *testing.T, r page.Report) (string, page.LeftOut) {
	t.Helper()
	var b bytes.Buffer
	left, err := page.Write(&b, r)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), left
}

// dataOf is the data in a page.
func dataOf(t *testing.T, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `<script type="application/json" id="data">`)
	data, _, end := strings.Cut(rest, "</script>")
	if !ok || !end {
		t.Fatal("the page has no data")
	}
	return data
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

func TestData(t *testing.T) {
	text, left := write(t, pagetest.Run(4, 3))
	if len(left.Lines()) > 0 {
		t.Errorf("left out: %v", left.Lines())
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(dataOf(t, text)), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "data.json", b.Bytes())
}

func TestDetail(t *testing.T) {
	r := pagetest.Run(2, 3)
	e, err := r.Read(r.Trials[1].TrialID)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := page.ServedDetail(e)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "detail.json", b.Bytes())
}

// TestHostileText sees that nothing that models, packs and tools write is anything
// but data.
func TestHostileText(t *testing.T) {
	r := pagetest.Hostile(pagetest.Run(3, 2))
	text, _ := write(t, r)
	if strings.Contains(text, "<img") {
		t.Error("hostile text is markup")
	}
	if shown := strings.Replace(text, dataOf(t, text), "", 1); strings.ContainsAny(shown, "\x00\u202e\u2066\x1b") {
		t.Error("a strange character is in what is shown without the script")
	}
	if n := strings.Count(text, "</script>"); n != strings.Count(text, "<script") {
		t.Errorf("%d script elements end, %d begin", n, strings.Count(text, "<script"))
	}
	if strings.Contains(dataOf(t, text), "<") || !json.Valid([]byte(dataOf(t, text))) {
		t.Error("the data could end its element")
	}
	if !utf8.ValidString(text) {
		t.Error("the page is no UTF-8")
	}
	for _, address := range []string{"http://", "https://", "<link", "<iframe", "@import", "url("} {
		if strings.Contains(strings.NewReplacer("http://www.w3.org/2000/svg", "", dataOf(t, text), "").Replace(text), address) {
			t.Errorf("the page has %q in it", address)
		}
	}
}

// TestLargeRuns sees that a page stays within its size, says what it left out, and
// has what went wrong before what went well.
func TestLargeRuns(t *testing.T) {
	for name, row := range map[string]struct {
		trials, text int
		all, whole   bool
	}{
		"200 trials":              {trials: 200, text: 8 << 10, all: true, whole: true},
		"200 trials of much text": {trials: 200, text: 400 << 10, all: true},
		"10,000 trials":           {trials: 10_000, text: 10, all: true, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if (row.trials > 1000 || row.text > 100<<10) && os.Getenv("AGENTCLASH_SLOW") == "" {
				t.Skip("it takes a minute with the race detector: make slow-test")
			}
			text, left := write(t, pagetest.Talkative(pagetest.Run(row.trials, 1), row.text))
			t.Logf("%d bytes; %v", len(text), left.Lines())
			if len(text) > page.MaxPage {
				t.Errorf("the page has %d bytes, more than %d", len(text), page.MaxPage)
			}
			if row.all != (left.Details == 0) {
				t.Errorf("%d of %d trials have no detail", left.Details, row.trials)
			}
			if row.whole != (len(left.Lines()) == 0) {
				t.Errorf("left out: %v", left.Lines())
			}
			var d struct {
				Rows [][]any `json:"rows"`
			}
			if err := json.Unmarshal([]byte(dataOf(t, text)), &d); err != nil || len(d.Rows) != row.trials {
				t.Fatalf("%d rows: %v", len(d.Rows), err)
			}
			for _, r := range d.Rows {
				if r[5] != "passed" && r[12].(float64) < 0 {
					t.Fatalf("%v has no evidence, and others that passed have", r)
				}
			}
		})
	}
}

// TestMoreTrialsThanRows sees that those that passed are left out first.
func TestMoreTrialsThanRows(t *testing.T) {
	r := pagetest.Run(21_000, 0)
	raw, err := page.Data(r)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Rows     [][]any        `json:"rows"`
		Outcomes map[string]int `json:"outcomes"`
		LeftOut  page.LeftOut   `json:"left_out"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, row := range d.Rows {
		if row[5] != "passed" {
			wrong++
		}
	}
	if len(d.Rows) != 20_000 || d.LeftOut.Trials != 1000 || wrong != d.Outcomes["failed"]+d.Outcomes["invalid"] || len(d.LeftOut.Lines()) == 0 {
		t.Errorf("%d rows, %d of them not passed of %v; left out %v", len(d.Rows), wrong, d.Outcomes, d.LeftOut)
	}
}

// TestServedPage sees that a served page has no evidence in it.
func TestServedPage(t *testing.T) {
	r := pagetest.Run(3, 1)
	r.Served = true
	r.Read = func(string) (page.Evidence, error) {
		t.Error("evidence was read")
		return page.Evidence{}, nil
	}
	text, _ := write(t, r)
	if strings.Contains(text, `id="chunk-`) || !strings.Contains(text, "connect-src &#39;self&#39;") {
		t.Error("a served page is the same as a file")
	}
}

func TestIndex(t *testing.T) {
	var b bytes.Buffer
	if err := page.WriteIndex(&b, pagetest.Index("\"><img src=x onerror=pwned()>")); err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(b.String(), "<style>")
	_, body, _ := strings.Cut(rest, "</style>")
	body, _, _ = strings.Cut(body, "<script>")
	if strings.Contains(head+body, "<img") {
		t.Error("hostile text is markup")
	}
	golden(t, "index.html", []byte(body))
}

func TestPolicyNamesTheScript(t *testing.T) {
	text, _ := write(t, pagetest.Run(1, 1))
	if !strings.Contains(text, "default-src &#39;none&#39;; script-src &#39;sha256-") || strings.Contains(text, "unsafe") {
		t.Error("the page has no strict policy")
	}
}

// FuzzClip sees that what is cut is still JSON, and no longer than it may be.
func FuzzClip(f *testing.F) {
	f.Add("plain", 3)
	f.Add("\\\"\u00e9\U0001f600</script>", 4)
	f.Add("\x00\u2028\ufffd", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 0 || limit > 1<<20 {
			return
		}
		doc, err := json.Marshal(map[string]any{"a": text, "b": []string{text, "x"}, text: 1})
		if err != nil {
			t.Skip()
		}
		out, cut := page.Clip(doc, limit)
		if !json.Valid(out) {
			t.Fatalf("clip(%s, %d) is %s", doc, limit, out)
		}
		if cut == 0 && !bytes.Equal(out, doc) {
			t.Fatalf("clip(%s, %d) is %s, and nothing was cut", doc, limit, out)
		}
	})
}

func TestClip(t *testing.T) {
	for _, row := range []struct{ doc, want string }{
		{`{"a":"12345"}`, `{"a":"12345"}`},
		{`{"a":"123456"}`, `{"a":"12345 … [1 more bytes]"}`},
		{`["\"\"\"x",1]`, `["\"\" … [3 more bytes]",1]`},
		{`["\u003cab"]`, `[" … [8 more bytes]"]`},
		{`["éééé"]`, `["éé … [4 more bytes]"]`},
		{`[]`, `[]`},
	} {
		if got, _ := page.Clip([]byte(row.doc), 5); string(got) != row.want {
			t.Errorf("clip(%s) is %s, want %s", row.doc, got, row.want)
		}
	}
}

// TestDetailsFit sees that evidence of any kind comes within its room.
func TestDetailsFit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r := pagetest.Talkative(pagetest.Run(1, 1+random.IntN(200)), 1<<random.IntN(20))
		e, err := r.Read(r.Trials[0].TrialID)
		if err != nil {
			t.Fatal(err)
		}
		for _, room := range []int{4 << 10, 64 << 10, 1 << 20} {
			raw, err := page.NewDetail(e).Fit(room)
			if err != nil || len(raw) > room || !json.Valid(raw) {
				t.Errorf("%d bytes where there is room for %d: %v", len(raw), room, err)
			}
		}
	}
}
