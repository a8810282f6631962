package scoring_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

func TestOverallVectors(t *testing.T) {
	t.Parallel()
	for _, b := range readBlocks(t, "testdata/overall.txt") {
		b.only(t, "case", "strategy", "threshold", "dimensions", "want")
		t.Run(b["case"], func(t *testing.T) {
			t.Parallel()
			card := scoring.Score(overallTrial(t, b))
			if card.PackError != "" {
				t.Fatal(card.PackError)
			}
			score, verdict, _ := strings.Cut(b["want"], " ")
			if got := verdictOf(card); got != verdict {
				t.Errorf("got %s, want %s", got, verdict)
			}
			switch {
			case score == "null" && card.OverallScore != nil:
				t.Errorf("got overall score %v, want none", *card.OverallScore)
			case score != "null" && (card.OverallScore == nil || *card.OverallScore != float(t, score)):
				t.Errorf("got overall score %v, want %s", show(card.OverallScore), score)
			}
		})
	}
}

// overallTrial gives each dimension a test command of its own, whose share of
// passed tests is the dimension's score.
func overallTrial(t *testing.T, b block) (scoring.Spec, scoring.Evidence) {
	t.Helper()
	spec, ev := oneValidator(), evidence()
	ev.FinalOutput = new("done")
	spec.Validators = nil
	spec.Scorecard = scoring.ScorecardSpec{Strategy: b["strategy"]}
	if b["threshold"] != "" {
		spec.Scorecard.PassThreshold = new(float(t, b["threshold"]))
	}
	for i, text := range strings.Split(b["dimensions"], ",") {
		key := "v" + strconv.Itoa(i)
		words := strings.Fields(text)
		spec.Validators = append(spec.Validators, scoring.Validator{
			Key: key, Type: scoring.CodeExecution, Target: "file:f", Config: json.RawMessage(`{"test_command":"make test"}`),
		})
		spec.Scorecard.Dimensions = append(spec.Scorecard.Dimensions, dimension(t, key, words[1:]))
		run := scoring.CodeRun{ValidatorKey: key}
		switch words[0] {
		case "none":
			continue
		case "error":
			run.ExecutionError = "no shell"
		default:
			run.Stdout = fmt.Sprintf(`{"passed":%.0f,"total":100,"failed":%.0f}`, 100*float(t, words[0]), 100-100*float(t, words[0]))
		}
		ev.CodeRuns[key] = run
	}
	return spec, ev
}

func dimension(t *testing.T, key string, words []string) scoring.Dimension {
	t.Helper()
	d := scoring.Dimension{Key: key, Source: scoring.SourceValidators, Validators: []string{key}}
	for i := 0; i+1 < len(words); i += 2 {
		v := float(t, words[i+1])
		switch words[i] {
		case "gate":
			d.Gate, d.PassThreshold = true, &v
		case "at":
			d.PassThreshold = &v
		case "weight":
			d.Weight = &v
		default:
			t.Fatalf("unknown word %q", words[i])
		}
	}
	return d
}

func verdictOf(c scoring.Scorecard) string {
	switch {
	case c.Passed == nil:
		return "open"
	case *c.Passed:
		return "passed"
	}
	return "not passed"
}

func float(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func show(v *float64) string {
	if v == nil {
		return "none"
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func TestNormalizationVectors(t *testing.T) {
	t.Parallel()
	for _, b := range readBlocks(t, "testdata/normalization.txt") {
		b.only(t, "case", "of", "want")
		w := strings.Fields(b["of"])
		rule := scoring.LowerIsBetter
		if w[0] == scoring.Higher {
			rule = scoring.HigherIsBetter
		}
		if got := rule(float(t, w[1]), float(t, w[2]), float(t, w[3])); got != float(t, b["want"]) {
			t.Errorf("%s: %s gives %v, want %s", b["case"], b["of"], got, b["want"])
		}
	}
}
