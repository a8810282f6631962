package scoring_test

import (
	"time"

	"github.com/agentclash/agentclash/scoring"
)

// oneValidator is a valid spec: one validator, one dimension that must be 1.
func oneValidator() scoring.Spec {
	return scoring.Spec{
		Name: "spec", VersionNumber: 1, JudgeMode: scoring.Deterministic,
		Validators: []scoring.Validator{
			{Key: "v", Type: scoring.ExactMatch, Target: "final_output", ExpectedFrom: "literal:4"},
		},
		PostExecutionChecks: []scoring.PostExecutionCheck{
			{Key: "f", Type: scoring.FileCapture, Path: "/workspace/f"},
			{Key: "d", Type: scoring.DirectoryListing, Path: "/workspace"},
		},
		Scorecard: scoring.ScorecardSpec{
			Dimensions:    []scoring.Dimension{{Key: "correctness"}},
			PassThreshold: new(1.0),
		},
	}
}

var epoch = time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)

// evidence is of a trial that ended well after two seconds.
func evidence() scoring.Evidence {
	return scoring.Evidence{
		Completed: new(true), StartedAt: epoch, FirstOutputAt: epoch.Add(250 * time.Millisecond), EndedAt: epoch.Add(2 * time.Second),
		Files: map[string]scoring.CapturedFile{}, Directories: map[string]scoring.CapturedDirectory{},
		CodeRuns: map[string]scoring.CodeRun{}, Sources: map[string]scoring.Source{},
	}
}
