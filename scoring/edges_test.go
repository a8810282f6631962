package scoring_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// The sharp edges that other tools have and docs/scoring.md says are gone, one
// test for each, in the order of that list.

func TestSharpEdgeGatesAlone(t *testing.T) {
	t.Parallel()
	for _, threshold := range []string{"", "0.9"} {
		card := scoring.Score(overallTrial(t, block{"strategy": "hybrid", "threshold": threshold, "dimensions": "1 gate 0.5, none"}))
		if verdictOf(card) != "not passed" || card.OverallScore != nil {
			t.Errorf("threshold %q: got %s with %s", threshold, verdictOf(card), show(card.OverallScore))
		}
	}
}

func TestSharpEdgeDirection(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"latency", "cost"} {
		spec := oneValidator()
		spec.Scorecard.Dimensions = []scoring.Dimension{{Key: key, Source: key, BetterDirection: scoring.Higher,
			Normalization: &scoring.Normalization{Target: new(1.0), Max: new(2.0)}}}
		refused(t, spec, "scorecard.dimensions[0].better_direction", "must be lower")
	}
}

func TestSharpEdgeMillion(t *testing.T) {
	t.Parallel()
	spec, ev := oneValidator(), evidence()
	spec.Validators[0].ExpectedFrom = "case.expectations.n"
	for _, written := range []string{"1000000", "1e6", "1000000.0"} {
		ev.FinalOutput = new("1000000")
		ev.Case.Expectations = map[string]scoring.CaseInput{"n": {Value: json.RawMessage(written)}}
		if got := scoring.Score(spec, ev).Validators[0]; got.Verdict != scoring.VerdictPass {
			t.Errorf("%s: got %s, expected %s", written, got.Verdict, *got.Expected)
		}
	}
}

func TestSharpEdgeNeverCaptured(t *testing.T) {
	t.Parallel()
	for _, config := range []string{`{"must_exist":true}`, `{"must_exist":false}`} {
		spec := oneOf(t, scoring.FileExists, config)
		card := scoring.Score(spec, answered())
		if got := card.Validators[0]; got.State != scoring.Unavailable || card.Decide().Outcome == scoring.OutcomePassed {
			t.Errorf("%s: got %s and %s", config, got.State, card.Decide().Outcome)
		}
	}
}

func TestSharpEdgeTestCommand(t *testing.T) {
	t.Parallel()
	spec := oneOf(t, scoring.CodeExecution, "null")
	if d := scoring.Score(spec, answered()).Decide(); d.Code != scoring.CodePackError {
		t.Errorf("without a command: got %+v", d)
	}
	for stdout, want := range map[string]float64{"100 passed": 0, "100 passed\n1 passed, 1 failed": 0.5, `{"passed":5,"failed":0}`: 0} {
		spec, ev := oneOf(t, scoring.CodeExecution, `{"test_command":"make test"}`), answered()
		ev.CodeRuns["v"] = scoring.CodeRun{ValidatorKey: "v", Stdout: stdout, ExitCode: new(1)}
		if got := scoring.Score(spec, ev).Validators[0]; got.NormalizedScore == nil || *got.NormalizedScore != want {
			t.Errorf("%q with status 1: got %s, want %v", stdout, show(got.NormalizedScore), want)
		}
	}
}

func TestSharpEdgeOneDocument(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, scoring.JSONPathMatch, "")
	for _, text := range []string{`{"a":1}}`, `{"a":1}]`, `{"a":1} {}`, `{"a":1},`} {
		if got := j.of(text, "$.a"); got.OutcomeClass != scoring.ClassEvaluatorError {
			t.Errorf("%s: got %s", text, got.OutcomeClass)
		}
	}
	for _, path := range []string{"$['a']", `$["b]c"]`, "$['b]c']"} {
		if got := j.of(`{"a":1,"b]c":2}`, path); got.Verdict != scoring.VerdictPass {
			t.Errorf("%s: got %s %s", path, got.Verdict, got.Reason)
		}
	}
}

func TestSharpEdgeDivision(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, scoring.MathEquivalence, "")
	for _, text := range []string{"1/0", "0^-1", "x/(1-1)", "1e999999999", "1e-999999999"} {
		if got := j.of(text, "1"); got.OutcomeClass != scoring.ClassEvaluatorError {
			t.Errorf("%s by the agent: got %s", text, got.OutcomeClass)
		}
		if got := j.of("1", text); got.OutcomeClass != scoring.ClassPackError {
			t.Errorf("%s by the pack: got %s", text, got.OutcomeClass)
		}
	}
}

func TestSharpEdgeUnusedEvidence(t *testing.T) {
	t.Parallel()
	spec, ev := oneValidator(), answered()
	spec.Validators = append(spec.Validators, scoring.Validator{Key: "unused", Type: scoring.Contains, Target: "file:f", ExpectedFrom: "literal:x"})
	spec.Metrics = []scoring.Metric{{Key: "tokens", Type: "numeric", Collector: "run_total_tokens"}}
	spec.Scorecard.Dimensions[0] = scoring.Dimension{Key: "c", Source: scoring.SourceValidators, Validators: []string{"v"}}
	if card := scoring.Score(spec, ev); card.Validity != scoring.ValidityValid {
		t.Errorf("got %s: %s", card.Validity, card.ValidityReason)
	}
	spec.Metrics[0].Collector = "run_total_token"
	refused(t, spec, "metrics[0].collector", "did you mean")
}

func TestSharpEdgeListing(t *testing.T) {
	t.Parallel()
	spec, ev := oneOf(t, scoring.DirectoryStructure, `{"required_directories":["src","empty"],"required_files":["src/a"]}`), answered()
	ev.Directories["d"] = scoring.CapturedDirectory{Key: "d", Path: "/workspace", Exists: true,
		Entries: []scoring.DirectoryEntry{{Path: "/workspace/src/a"}, {Path: "/workspace/empty", IsDir: true}}}
	if got := scoring.Score(spec, ev).Validators[0]; got.Verdict != scoring.VerdictPass {
		t.Errorf("got %s: %s", got.Verdict, got.Reason)
	}
	spec = oneOf(t, scoring.DirectoryStructure, `{"required_files":["empty"]}`)
	if got := scoring.Score(spec, ev).Validators[0]; got.Verdict != scoring.VerdictFail {
		t.Errorf("a directory is a file: got %s", got.Verdict)
	}
}

func TestSharpEdgeUndeclaredMetrics(t *testing.T) {
	t.Parallel()
	spec, ev := oneValidator(), answered()
	limits := &scoring.Normalization{Target: new(1.0), Max: new(2.0)}
	spec.Scorecard.Dimensions = []scoring.Dimension{{Key: "correctness"}, {Key: "reliability"}, {Key: "cost", Normalization: limits}}
	spec.Pricing.Models = []scoring.Price{{ProviderKey: "p", ProviderModelID: "m", InputCostPerMillionTokens: 1}}
	ev.Models = []scoring.ModelUsage{{ProviderKey: "p", ProviderModelID: "m", InputTokens: 1000, TotalTokens: 1000, Known: true}}
	card := scoring.Score(spec, ev)
	if card.Validity != scoring.ValidityValid || card.SideMetrics.CostPerCorrectUSD.Value == nil || *card.SideMetrics.CostPerCorrectUSD.Value != 0.001 {
		t.Errorf("got %s (%s), cost per correct %+v", card.Validity, card.ValidityReason, card.SideMetrics.CostPerCorrectUSD)
	}
}

// TestEveryWorkedRow: the agreed examples are numbered; each one of what is
// built is in a vector file or a test under its number, or told of in
// testdata/README.md.
func TestEveryWorkedRow(t *testing.T) {
	t.Parallel()
	files := []string{"testdata/README.md", "../engine/event/testdata/evidence.txt"}
	for _, pattern := range []string{"testdata/*.txt", "testdata/validators/*.txt", "*_test.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: found nothing: %v", pattern, err)
		}
		files = append(files, found...)
	}
	numbers, table := regexp.MustCompile(`\b[Rr]ows? (\d+(?:(?:, | and | to )\d+)*)`), regexp.MustCompile(`(?m)^\| (\d[\d, to]*?)(?: and the like)? \|`)
	seen := map[int]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Concat(numbers.FindAllStringSubmatch(string(raw), -1), table.FindAllStringSubmatch(string(raw), -1)) {
			mark(t, seen, m[1])
		}
	}
	var missing []string
	for _, part := range [][2]int{{1, 384}, {432, 492}} { // between them: comparisons, gates, sessions
		for row := part[0]; row <= part[1]; row++ {
			if !seen[row] {
				missing = append(missing, strconv.Itoa(row))
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("rows that are nowhere: %s", strings.Join(missing, ", "))
	}
}

// mark reads "1, 2 and 5 to 7".
func mark(t *testing.T, seen map[int]bool, text string) {
	t.Helper()
	for _, part := range strings.Split(strings.ReplaceAll(text, " and ", ", "), ", ") {
		first, last, ranged := strings.Cut(part, " to ")
		if !ranged {
			last = first
		}
		var from, to int
		if _, err := fmt.Sscan(first+" "+last, &from, &to); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for row := from; row <= to; row++ {
			seen[row] = true
		}
	}
}
