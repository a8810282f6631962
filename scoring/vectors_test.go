package scoring_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

// block is one vector: its lines by key. testdata/README.md has the format.
type block map[string]string

// readBlocks reads a vector file; it fails when there is nothing in it.
func readBlocks(t *testing.T, path string) []block {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	current := block{}
	flush := func() {
		if len(current) > 0 {
			blocks = append(blocks, current)
			current = block{}
		}
	}
	for i, line := range strings.Split(string(raw), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		default:
			key, value, ok := strings.Cut(line, ":")
			if _, twice := current[key]; !ok || twice {
				t.Fatalf("%s:%d: want a new \"key: value\", got %q", path, i+1, line)
			}
			current[key] = strings.TrimSpace(value)
		}
	}
	flush()
	if len(blocks) == 0 {
		t.Fatalf("%s: found no vectors", path)
	}
	return blocks
}

// text is a value as the test means it: a JSON string when it is quoted.
func (b block) text(t *testing.T, key string) string {
	t.Helper()
	v := b[key]
	if !strings.HasPrefix(v, `"`) {
		return v
	}
	var s string
	if err := json.Unmarshal([]byte(v), &s); err != nil {
		t.Fatalf("%s: %s is no JSON string: %v", b["case"], key, err)
	}
	return s
}

func (b block) only(t *testing.T, keys ...string) {
	t.Helper()
	known := map[string]bool{}
	for _, k := range keys {
		known[k] = true
	}
	for k := range b {
		if !known[k] {
			t.Fatalf("%s: unknown key %q", b["case"], k)
		}
	}
}

func TestValidatorVectors(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/validators/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		blocks := readBlocks(t, file)
		defaults := blocks[0]
		seen[defaults["validator"]] = true
		if len(blocks) < 2 {
			t.Fatalf("%s: found no vectors", file)
		}
		for _, b := range blocks[1:] {
			v := maps.Clone(defaults)
			maps.Copy(v, b)
			v.only(t, "validator", "case", "config", "actual", "expected", "listing", "negate", "trace", "truncated", "want", "reason", "message", "outcome", "evidence", "event")
			t.Run(defaults["validator"]+"/"+v["case"], func(t *testing.T) {
				t.Parallel()
				checkValidator(t, v)
			})
		}
	}
	for _, typ := range scoring.ValidatorTypes() {
		if typ.Supported && !seen[typ.Name] && typ.Name != scoring.CodeExecution {
			t.Errorf("no vectors for %s", typ.Name)
		}
	}
}

func checkValidator(t *testing.T, v block) {
	spec, ev := vectorTrial(t, v)
	want := strings.Fields(v["want"])
	if want[0] == "refused" {
		refused(t, spec, "validators[0]."+want[1], v["message"])
		return
	}
	card := scoring.Score(spec, ev)
	if len(card.Validators) != 1 {
		t.Fatalf("the spec is refused: %s", card.PackError)
	}
	got := card.Validators[0]
	if state := verdictText(got); !sameVerdict(strings.Fields(state), want) {
		t.Errorf("got %s, want %s\nreason: %s", state, v["want"], got.Reason)
	}
	if !strings.Contains(got.Reason, v["reason"]) {
		t.Errorf("got reason %q, want it to contain %q", got.Reason, v["reason"])
	}
	checkShown(t, v, got)
	if want, ok := v["outcome"]; ok {
		d := card.Decide()
		if got := strings.TrimSpace(string(d.Outcome) + " " + d.Code); got != want {
			t.Errorf("got outcome %q, want %q", got, want)
		}
	}
}

// vectorTrial is the spec and the evidence of a vector.
func vectorTrial(t *testing.T, v block) (scoring.Spec, scoring.Evidence) {
	t.Helper()
	typ := validatorType(t, v["validator"])
	spec, ev := oneValidator(), evidence()
	val := &spec.Validators[0]
	val.Type, val.Config, val.ExpectedFrom, val.Negate = typ.Name, json.RawMessage(v["config"]), "", v["negate"] == "true"
	if typ.NeedsExpected {
		val.ExpectedFrom = "case.expectations.want"
		ev.Case.Expectations = map[string]scoring.CaseInput{"want": {Value: jsonText(t, v.text(t, "expected"))}}
	}
	switch {
	case typ.OnlyTarget != "":
		val.Target = typ.OnlyTarget
	case v["listing"] != "":
		val.Target = "file:d"
	case typ.FileTarget:
		val.Target = "file:f"
	}
	provide(t, &ev, v, typ.FileTarget)
	return spec, ev
}

// checkShown holds what a result shows against a vector: its evidence, and the
// event it points at.
func checkShown(t *testing.T, v block, got scoring.ValidatorResult) {
	t.Helper()
	if want, ok := v["evidence"]; ok {
		checkEvidence(t, got.Evidence, want)
	}
	event := "(none)"
	if s := got.Source; s != nil {
		event = fmt.Sprintf("%d %s %s", s.Sequence, s.EventType, s.FieldPath)
	}
	if want, ok := v["event"]; ok && event != want {
		t.Errorf("got event %q, want %q", event, want)
	}
}

// checkEvidence compares the keys that a vector names; there may be more.
func checkEvidence(t *testing.T, raw json.RawMessage, wanted string) {
	t.Helper()
	var got, want map[string]any
	if err := json.Unmarshal([]byte(wanted), &want); err != nil {
		t.Fatalf("the vector's evidence is no JSON object: %v", err)
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatalf("the evidence %q is no JSON object: %v", raw, err)
	}
	maps.DeleteFunc(got, func(key string, _ any) bool { _, named := want[key]; return !named })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

// provide puts what the agent made into the evidence.
func provide(t *testing.T, ev *scoring.Evidence, v block, file bool) {
	t.Helper()
	ev.FinalOutput = new("")
	if trace, ok := v["trace"]; ok {
		ev.ToolCalls = calls(t, trace)
		return
	}
	if list, ok := v["listing"]; ok {
		provideListing(ev, list, v["truncated"] == "true")
		return
	}
	switch v["actual"] {
	case "(never captured)":
		return
	case "(none)":
		if file {
			ev.Files["f"] = scoring.CapturedFile{Key: "f", Path: "/workspace/f"}
		} else {
			ev.FinalOutput = nil
		}
		return
	}
	actual := v.text(t, "actual")
	ev.FinalOutput = &actual
	if file {
		f := scoring.CapturedFile{Key: "f", Path: "/workspace/f", Exists: true, Content: actual, Size: int64(len(actual))}
		if v["truncated"] == "true" {
			f.Size, f.Truncated = f.Size+100, true
		}
		ev.Files["f"] = f
	}
}

// verdictText writes a result the way the vectors do.
func verdictText(r scoring.ValidatorResult) string {
	switch r.State {
	case scoring.Available:
		return r.Verdict + " " + strconv.FormatFloat(*r.NormalizedScore, 'g', -1, 64)
	case scoring.Unavailable:
		return "unavailable"
	}
	return "error " + r.OutcomeClass
}

// sameVerdict compares two results; exp and log may differ in the last bit from
// one kind of machine to another.
func sameVerdict(got, want []string) bool {
	if len(got) != len(want) || len(got) == 2 && got[0] != want[0] {
		return false
	}
	last := len(got) - 1
	x, wrongX := strconv.ParseFloat(got[last], 64)
	y, wrongY := strconv.ParseFloat(want[last], 64)
	return got[last] == want[last] || wrongX == nil && wrongY == nil && math.Abs(x-y) < 1e-15
}

func refused(t *testing.T, spec scoring.Spec, field, message string) {
	t.Helper()
	_, problems := scoring.Compile(spec)
	if len(problems) != 1 || problems[0].Field != field {
		t.Fatalf("got problems %v, want one at %s", problems, field)
	}
	if !strings.Contains(problems[0].Message, message) {
		t.Errorf("got message %q, want it to contain %q", problems[0].Message, message)
	}
}

func validatorType(t *testing.T, name string) scoring.ValidatorType {
	t.Helper()
	for _, typ := range scoring.ValidatorTypes() {
		if typ.Name == name {
			return typ
		}
	}
	t.Fatalf("there is no validator type %q", name)
	return scoring.ValidatorType{}
}

func jsonText(t *testing.T, s string) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
