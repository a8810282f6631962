package scoring_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentclash/agentclash/scoring"
)

// Whatever a vector is about: negated, pass and fail change places, and
// everything else that the result has stays.
func TestNegationMirrorsEveryVector(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/validators/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	mirrored := map[string]map[string]int{}
	count := func(typ, verdict string) {
		if mirrored[typ] == nil {
			mirrored[typ] = map[string]int{}
		}
		mirrored[typ][verdict]++
	}
	for _, file := range files {
		blocks := readBlocks(t, file)
		for _, b := range blocks[1:] {
			v := maps.Clone(blocks[0])
			maps.Copy(v, b)
			if strings.HasPrefix(v["want"], "refused") || v["truncated"] != "" || v["negate"] != "" {
				continue
			}
			spec, ev := vectorTrial(t, v)
			count(v["validator"], checkMirrored(t, v["validator"]+"/"+v["case"], spec, ev))
		}
	}
	for _, b := range readBlocks(t, "testdata/code_execution.txt") {
		if strings.HasPrefix(b["want"], "refused") || b["negate"] != "" {
			continue
		}
		spec := oneValidator()
		tests(&spec, codeConfig(t, b["config"]))
		count(scoring.CodeExecution, checkMirrored(t, b["case"], spec, codeEvidence(t, b)))
	}
	for _, typ := range scoring.ValidatorTypes() {
		if n := mirrored[typ.Name]; n["pass"] == 0 || n["fail"] == 0 {
			t.Errorf("%s: saw %v, want results that pass and results that fail", typ.Name, n)
		}
	}
}

// checkMirrored scores a trial with a validator and with its opposite; it
// returns the verdict of the first.
func checkMirrored(t *testing.T, name string, spec scoring.Spec, ev scoring.Evidence) string {
	t.Helper()
	plain := scoring.Score(spec, ev)
	spec.Validators = []scoring.Validator{spec.Validators[0]}
	spec.Validators[0].Negate = true
	negated := scoring.Score(spec, ev)
	want, got := plain.Validators[0], negated.Validators[0]
	if want.State != scoring.Available {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: no result to negate (-want +got):\n%s", name, diff)
		}
		if a, b := plain.Decide(), negated.Decide(); a != b {
			t.Errorf("%s: got outcome %v, want %v", name, b, a)
		}
		return want.Verdict
	}
	first := want.Verdict
	want.NormalizedScore = new(1 - *want.NormalizedScore)
	want.Verdict = map[string]string{scoring.VerdictPass: scoring.VerdictFail, scoring.VerdictFail: scoring.VerdictPass}[first]
	want.OutcomeClass = want.Verdict
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(want, "Reason")); diff != "" {
		t.Errorf("%s: negated (-want +got):\n%s", name, diff)
	}
	if !strings.HasPrefix(got.Reason, "negated: ") || !strings.Contains(got.Reason, want.Reason[:min(len(want.Reason), 100)]) {
		t.Errorf("%s: got reason %q, want it to say that it is negated and %q", name, got.Reason, want.Reason)
	}
	return first
}

// The same type may stand any number of times, each under its own key, plain
// and negated.
func TestATypeMayBeRepeated(t *testing.T) {
	t.Parallel()
	spec, ev := oneValidator(), answered()
	spec.Validators = []scoring.Validator{
		{Key: "has", Type: scoring.Contains, Target: "final_output", ExpectedFrom: "literal:4"},
		{Key: "has again", Type: scoring.Contains, Target: "final_output", ExpectedFrom: "literal:4"},
		{Key: "has not", Type: scoring.Contains, Target: "final_output", ExpectedFrom: "literal:5", Negate: true},
		{Key: "neither", Type: scoring.Contains, Target: "final_output", ExpectedFrom: "literal:6", Negate: true},
	}
	card := scoring.Score(spec, ev)
	if len(card.Validators) != 4 || card.Passed == nil || !*card.Passed {
		t.Fatalf("got %+v, want four validators that pass", card)
	}
	ev.FinalOutput = new("456")
	card = scoring.Score(spec, ev)
	var got []string
	for _, v := range card.Validators {
		got = append(got, v.Key+" "+v.Verdict)
	}
	if diff := cmp.Diff([]string{"has pass", "has again pass", "has not fail", "neither fail"}, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if card.OverallScore == nil || *card.OverallScore != 0.5 || *card.Passed {
		t.Errorf("got score %s, want a half", show(card.OverallScore))
	}
}
