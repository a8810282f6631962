package compare_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got, as indented JSON, with a file under testdata.
func golden(t *testing.T, name string, got any) {
	t.Helper()
	doc, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	doc = append(doc, '\n')
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(doc)); diff != "" {
		t.Errorf("%s differs (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

// spec declares the given dimensions, each read from validators.
func spec(keys ...string) scoring.Spec {
	var s scoring.Spec
	for _, key := range keys {
		s.Scorecard.Dimensions = append(s.Scorecard.Dimensions,
			scoring.Dimension{Key: key, Source: "validators", BetterDirection: "higher"})
	}
	return s
}

// scores are the dimension scores of a trial, in the order of the spec's
// dimensions; a negative score is one that is unavailable.
type scores []float64

// trial is a valid trial with an overall score equal to its first dimension.
func trial(s scoring.Spec, caseKey string, repetition int, outcome scoring.Outcome, values scores) scoring.Trial {
	t := scoring.Trial{CaseKey: caseKey, Repetition: repetition, Attempt: 1, Outcome: outcome}
	if outcome == scoring.OutcomeInvalid {
		t.Code, t.Phase = "unavailable", "model"
		return t
	}
	card := &scoring.Scorecard{Validity: "valid"}
	for i, d := range s.Scorecard.Dimensions {
		r := scoring.DimensionResult{Key: d.Key, Source: d.Source, State: scoring.Unavailable}
		if values[i] >= 0 {
			r.State, r.Score = scoring.Available, new(values[i])
		}
		card.Dimensions = append(card.Dimensions, r)
	}
	card.OverallScore = card.Dimensions[0].Score
	t.Scorecard = card
	return t
}

// identity is a finished run agent of the run on the demo pack.
func identity(run string) compare.Identity {
	return compare.Identity{
		RunID: run, RunName: run + "-name", RunStatus: "completed",
		RunAgentID: run + "-agent", RunAgentLabel: "agent", RunAgentStatus: "completed", Model: "scripted/agent",
		Pack: compare.PackRef{Slug: "demo", Version: 1, Digest: "p1"}, InputSet: "default",
		EvaluationSpecDigest: "s1", MinPassRate: 1,
	}
}

// planned are case references whose digest is derived from the key.
func planned(keys ...string) []compare.CaseRef {
	refs := []compare.CaseRef{}
	for _, key := range keys {
		refs = append(refs, compare.CaseRef{Key: key, Digest: "digest of " + key})
	}
	return refs
}

// snapshot makes a finished side from trials.
func snapshot(run string, s scoring.Spec, cases []compare.CaseRef, trials ...scoring.Trial) compare.Snapshot {
	id := identity(run)
	card := scoring.Aggregate(s, trials, id.MinPassRate)
	return compare.NewSnapshot(id, compare.Record{Spec: s, Cases: cases, Trials: trials, Scorecard: &card})
}

// standard is the spec of the default policy's dimensions.
func standard() scoring.Spec { return spec("correctness", "reliability", "latency", "cost") }

// oneTrial is a side with one passed trial of one case.
func oneTrial(run string, s scoring.Spec, values ...float64) compare.Snapshot {
	return snapshot(run, s, planned("a"), trial(s, "a", 1, scoring.OutcomePassed, values))
}

// deltaOf finds a dimension's row.
func deltaOf(t *testing.T, c compare.Comparison, metric string) compare.Delta {
	t.Helper()
	for _, d := range append(append([]compare.Delta{}, c.KeyDeltas...), c.AgentDeltas...) {
		if d.Metric == metric {
			return d
		}
	}
	t.Fatalf("no row for %q in %+v", metric, c)
	return compare.Delta{}
}
