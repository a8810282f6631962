package view_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func unchanged(any) {}

func TestRenderersGolden(t *testing.T) {
	t.Parallel()
	modes := map[string]view.Options{
		"pipe":     {Now: noon},
		"terminal": {Now: noon, Width: 80},
	}
	for _, r := range renderers() {
		for mode, o := range modes {
			t.Run(r.name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				var b bytes.Buffer
				if err := r.draw(&b, o, unchanged); err != nil {
					t.Fatal(err)
				}
				golden(t, r.name+"."+mode, b.Bytes())
			})
		}
	}
}

func TestColourGolden(t *testing.T) {
	t.Parallel()
	for _, r := range renderers() {
		if r.name != "scorecard" && r.name != "follow" && r.name != "doctor" {
			continue
		}
		var plain, painted bytes.Buffer
		if err := r.draw(&plain, view.Options{Now: noon, Width: 80}, unchanged); err != nil {
			t.Fatal(err)
		}
		if err := r.draw(&painted, view.Options{Now: noon, Width: 80, Color: true}, unchanged); err != nil {
			t.Fatal(err)
		}
		if got, want := ownColour.ReplaceAllString(painted.String(), ""), plain.String(); got != want {
			t.Errorf("%s: colour changed the text or the columns:\n%s", r.name, cmp.Diff(want, got))
		}
		golden(t, r.name+".color", painted.Bytes())
	}
}

// ownColour is every escape sequence this package may write.
var ownColour = regexp.MustCompile("\x1b\\[[0-9]{1,2}m")

// hostile is text as a pack, a model or a container might send it.
var hostile = "\x1b[31mred\x1b]0;title\a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\\r\n\tA\u202eB\u2066C\u200b\x00\x07\x7f\u009b2J" +
	"\x9b\xff数独👩‍👩‍👧" + strings.Repeat("wide数", 100) + "\x1b]never ends"

// spoil sets every string that v reaches to hostile text, and every piece of
// raw JSON to a document that is full of it.
func spoil(v any) { spoilValue(reflect.ValueOf(v)) }

func spoilValue(v reflect.Value) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		spoilJSON(v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			spoilValue(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				spoilValue(f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoilValue(v.Index(i))
		}
	case reflect.String:
		// kinds and types steer the renderer; with noise in them nothing
		// else of the value would be shown
		if s := v.String(); v.CanSet() && !strings.Contains(s, ".") && s != "capture" && s != "code_execution" && s != "output" {
			v.SetString(hostile)
		}
	}
}

// spoilJSON replaces the texts inside a document and keeps its shape.
func spoilJSON(v reflect.Value) {
	var doc any
	if json.Unmarshal(v.Bytes(), &doc) != nil {
		return
	}
	var walk func(any) any
	walk = func(x any) any {
		switch x := x.(type) {
		case string:
			return hostile
		case []any:
			for i := range x {
				x[i] = walk(x[i])
			}
		case map[string]any:
			for k := range x {
				x[k] = walk(x[k])
			}
		}
		return x
	}
	v.SetBytes(mustJSON(walk(doc)))
}

func TestHostileTextNeverReachesATerminal(t *testing.T) {
	t.Parallel()
	for _, r := range append(renderers(), draws("problems", problems, view.Problems)) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, o := range []view.Options{{Now: noon}, {Now: noon, Color: true}, {Now: noon, Width: 100, Color: true}} {
				var b bytes.Buffer
				if err := r.draw(&b, o, spoil); err != nil {
					t.Fatal(err)
				}
				out := b.String()
				if o.Color {
					out = ownColour.ReplaceAllString(out, "")
				}
				if b.Len() == 0 || !strings.Contains(out, "red") {
					t.Fatalf("width %d: the hostile value left no trace: the test sees nothing", o.Width)
				}
				for i, c := range out {
					if c != '\n' && (unicode.IsControl(c) || strings.ContainsRune("\u202e\u2066\u200b", c)) {
						t.Fatalf("width %d: %q at %d of %.200q", o.Width, c, i, out[max(0, i-80):])
					}
				}
			}
		})
	}
}

func TestNoLineIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	for _, r := range renderers() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			for _, width := range []int{1, 2, 3, 7, 10, 19, 20, 21, 22, 33, 40, 79, 80, 132} {
				fits(t, r, width, unchanged)
			}
			for _, width := range []int{1, 2, 21, 80} {
				fits(t, r, width, spoil)
			}
		})
	}
}

func fits(t *testing.T, r renderer, width int, change func(any)) {
	t.Helper()
	var b bytes.Buffer
	if err := r.draw(&b, view.Options{Now: noon, Width: width, Color: width%2 == 0}, change); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if got := view.Width(strings.TrimRight(line, "\n")); got > width {
			t.Fatalf("width %d: line of %d cells: %.200q", width, got, line)
		}
	}
}

// fullDisk fails after a few bytes.
type fullDisk struct{ room int }

var errFull = errors.New("no space left")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestRenderersReportAFailedWrite(t *testing.T) {
	t.Parallel()
	for _, r := range append(renderers(), draws("problems", problems, view.Problems)) {
		if err := r.draw(&fullDisk{room: 10}, view.Options{Now: noon}, unchanged); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v, want the writer's error", r.name, err)
		}
	}
}

func TestDocumentsGolden(t *testing.T) {
	t.Parallel()
	documents := map[string]any{
		"start":      startDocument(),
		"scorecard":  scorecardDocument(),
		"compare":    comparison(),
		"run":        runDocument(),
		"runs":       view.Page[view.Run]{Limit: 20},
		"ranking":    view.RankingDocument{State: "ready", Ranking: new(ranking())},
		"replay":     replay(),
		"baseline":   view.BaselineDocument{WorkspaceID: "default"},
		"packs":      packs(),
		"validate":   problems(),
		"doctor":     doctor(),
		"plan":       plan(),
		"packdoctor": packDoctor(),
		"rescore":    rescored(),
	}
	for name, doc := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := view.JSON(&b, doc); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", b.Bytes())
		})
	}
}

// An empty document still has every array and object it promises.
func TestEmptyDocumentsHaveNoNullLists(t *testing.T) {
	t.Parallel()
	for _, doc := range []any{view.StartDocument{}, view.Scorecard{}, view.NewTrial(trials()[2]), view.Run{}, view.Page[view.Run]{},
		view.ValidateDocument{}, view.ValidatedFile{}, view.DoctorDocument{}, view.PlanDocument{}, view.Ranking{}, view.PackEntry{},
		view.PackDoctorDocument{}, view.ExaminedCase{}, view.RescoreDocument{}, view.RescoredAgent{}} {
		var b bytes.Buffer
		if err := view.JSON(&b, doc); err != nil {
			t.Fatal(err)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(b.Bytes(), &keys); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"agents", "invalid_causes", "dimensions", "trials", "validators", "signals", "metrics", "judges", "items",
			"files", "errors", "warnings", "checks", "next_steps", "cases", "versions", "findings", "notes",
			"left_out", "changes", "flips", "not_rescored", "undecidable"} {
			if v, ok := keys[key]; ok && string(v) == "null" {
				t.Errorf("%T: key %q is null", doc, key)
			}
		}
	}
}

// TestNoUsageIsNoNumber: calls that say nothing of what they used are not free.
func TestNoUsageIsNoNumber(t *testing.T) {
	t.Parallel()
	d := scorecardDocument()
	d.Scorecard.Usage = scoring.Usage{}
	var b bytes.Buffer
	if err := view.ScorecardReport(&b, d, view.Options{}); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^Tokens: +-$`).MatchString(b.String()) {
		t.Errorf("the tokens are shown:\n%s", b.String())
	}
}

func TestScorecardDocumentReadsBack(t *testing.T) {
	t.Parallel()
	want := scorecardDocument()
	var b bytes.Buffer
	if err := view.JSON(&b, want); err != nil {
		t.Fatal(err)
	}
	var got view.ScorecardDocument
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	// what the document does not print is not read back
	want.Scorecard.Headline, want.Scorecard.Agent.Trials = "", 0
	var again bytes.Buffer
	if err := view.JSON(&again, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), again.String()); diff != "" {
		t.Errorf("read back and printed again (-first +second):\n%s", diff)
	}
	if got, want := got.Scorecard.Dimensions[0].Key, "correctness"; got != want {
		t.Errorf("first dimension: got %q, want %q, the declared order", got, want)
	}
}

func TestAnInvalidTrialShowsNoScore(t *testing.T) {
	t.Parallel()
	got := view.NewTrial(trials()[2])
	if got.OverallScore != nil || got.Passed != nil || got.Validity != "invalid" {
		t.Errorf("got score %v, passed %v, validity %q; want none, none, invalid", got.OverallScore, got.Passed, got.Validity)
	}
	if want := "openai: rate_limit (HTTP 429): slow down"; got.ValidityReason != want {
		t.Errorf("validity reason: got %q, want %q", got.ValidityReason, want)
	}
}

func TestAFailedTrialIsNeverShownAsPassed(t *testing.T) {
	t.Parallel()
	got := view.NewTrial(trials()[1]) // its scorecard says passed
	if got.Passed == nil || *got.Passed {
		t.Errorf("passed: got %v, want false", got.Passed)
	}
}

func TestProblemsGolden(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := view.Problems(&b, problems(), view.Options{Now: noon, Width: 20}); err != nil {
		t.Fatal(err)
	}
	want := "packs/b.yaml:12:5: challenges[0].key: is required\n" +
		"packs/b.yaml: the document is empty\n" +
		"packs/b.yaml:30:3: warning: input_sets[0].cases: has one case\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALongExaminationShowsWhatIsWrong(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := view.PackDoctor(&b, manyCases(), view.Options{Now: noon}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.Contains(got, "case-7 ") || strings.Contains(got, "case-8") || !strings.Contains(got, "59 more cases") {
		t.Errorf("want the one case that is wrong and a count of the rest, got\n%s", got)
	}
}

func TestEmptyListsWriteNothing(t *testing.T) {
	t.Parallel()
	o := view.Options{Now: noon, Width: 80}
	for name, write := range map[string]func(io.Writer) error{
		"runs":        func(w io.Writer) error { return view.RunList(w, view.Page[view.Run]{}, o) },
		"sessions":    func(w io.Writer) error { return view.SessionList(w, view.Page[view.SessionItem]{}, o) },
		"packs":       func(w io.Writer) error { return view.PackList(w, view.Page[view.PackEntry]{}, o) },
		"deployments": func(w io.Writer) error { return view.DeploymentList(w, view.Page[view.Deployment]{}, o) },
		"baseline":    func(w io.Writer) error { return view.Baseline(w, view.BaselineDocument{}, o) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || b.Len() > 0 {
			t.Errorf("%s: got %q, %v; want nothing", name, b.String(), err)
		}
	}
}

// TestTableWraps goes on below with sentences that a terminal has no room for.
func TestTableWraps(t *testing.T) {
	t.Parallel()
	table := view.Table{Columns: []view.Column{{Title: "CODE", Keep: true}, {Title: "MEANING", Wrap: true}}}
	table.Add(view.Text("lost"), view.Text("The box is gone and nobody knows why."))
	table.Add(view.Text("ok"), view.Text("All is well."))
	for width, want := range map[int]string{
		24: "CODE  MEANING\nlost  The box is gone\n      and nobody knows\n      why.\nok    All is well.\n",
		0:  "CODE  MEANING\nlost  The box is gone and nobody knows why.\nok    All is well.\n",
	} {
		var b strings.Builder
		if err := table.Write(&b, view.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(b.String()) {
			lines = append(lines, strings.TrimRight(line, " \n")+"\n")
		}
		if got := strings.Join(lines, ""); got != want {
			t.Errorf("at %d columns:\n%s\nwant\n%s", width, got, want)
		}
	}
}

func TestTableAlignsColourAndWideCharacters(t *testing.T) {
	t.Parallel()
	table := view.Table{Columns: []view.Column{{Title: "NAME"}, {Title: "STATUS"}, {Title: "N", Right: true}}}
	table.Add(view.Text("数独"), view.Status("failed"), view.Text("1"))
	table.Add(view.Text("plain\tname\n"), view.Status("ok"), view.Text("100"))
	table.Add(view.Text(""), view.Text(""), view.Text(""))
	var b bytes.Buffer
	if err := table.Write(&b, view.Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	want := "NAME        STATUS    N\n数独        failed    1\nplain name  ok      100\n-           -         -\n"
	if got := ownColour.ReplaceAllString(b.String(), ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(b.String(), "\x1b[31mfailed\x1b[0m") {
		t.Errorf("the status has no colour: %q", b.String())
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{view.Score(new(0.625)), "0.62"}, {view.Score(nil), "-"}, {view.Score(new(math.Copysign(0, -1))), "0.00"},
		{view.USD(new(0.00125)), "$0.0013"}, {view.USD(nil), "-"},
		{view.Percent(new(0.5)), "50.0%"}, {view.Percent(nil), "-"},
		{view.Delta(new(0.1)), "+0.10"}, {view.Delta(new(-0.1)), "-0.10"}, {view.Delta(new(0.0)), "+0.00"},
		{view.Tokens(0), "0"}, {view.Tokens(999), "999"}, {view.Tokens(1000), "1,000"}, {view.Tokens(-1234567), "-1,234,567"},
		{view.ShortID(runID), "0000f1f1"}, {view.ShortID("gpt"), "gpt"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func ExampleTable() {
	t := view.Table{Columns: []view.Column{{Title: "NAME"}, {Title: "SCORE", Right: true}}}
	t.Add(view.Text("gpt"), view.Text("1.00"))
	t.Add(view.Text("claude"), view.Text("0.50"))
	if err := t.Write(os.Stdout, view.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// NAME    SCORE
	// gpt      1.00
	// claude   0.50
}

func TestWithoutABaselineTheLastThreeAreNull(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := view.JSON(&b, view.ScorecardDocument{Scorecard: scorecard()}); err != nil {
		t.Fatal(err)
	}
	if want := "\n  \"baseline\": null,\n  \"comparison\": null,\n  \"release_gate\": null\n}\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("got %q, want it to end in %q", b.String()[max(0, b.Len()-120):], want)
	}
}
