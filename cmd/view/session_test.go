package view_test

import (
	"fmt"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/session"
)

// sessionDocument is of three agents on eight cases, of which one is much worse.
func sessionDocument() view.SessionDocument {
	b := session.NewBuilder(scoring.Spec{})
	var cases []session.Case
	for i := range 8 {
		cases = append(cases, session.Case{Key: fmt.Sprint("case-", i), Digest: "d"})
	}
	for lane, misses := range []int{1, 2, 7} {
		j := b.Join(session.Lane{Label: fmt.Sprint("agent-", lane), Index: lane, Model: "openai/gpt", Cases: cases, Planned: 24, Repetitions: 3})
		for i, c := range cases {
			for rep := 1; rep <= 3; rep++ {
				trial := scoring.Trial{CaseKey: c.Key, Repetition: rep, Outcome: scoring.OutcomePassed, CostUSD: new(0.01),
					Scorecard: &scoring.Scorecard{OverallScore: new(1.0)}}
				if i < misses && (i+rep)%3 > 0 {
					trial.Outcome, trial.Scorecard.OverallScore = scoring.OutcomeFailed, new(0.0)
				}
				if lane == 1 && i == 7 && rep == 3 {
					trial.Outcome = scoring.OutcomeInvalid
				}
				j.Add(trial)
			}
		}
	}
	return view.SessionDocument{
		Session: view.EvalSession{ID: runID, Name: "nightly", Workspace: "default", Status: "completed", Pack: "fizz", SpecDigest: "5bec", Repetitions: 3,
			Aggregation: view.SessionAggregation{SchemaVersion: 1, Method: "mean", ReportVariance: true, ConfidenceInterval: 0.95},
			Threshold:   view.SessionThreshold{Success: "trial_outcome", MinPassRate: 1}, CreatedAt: noon.Add(-time.Hour), UpdatedAt: noon},
		Runs: view.List[view.SessionRun]{{RunID: runID, Name: "first", Status: "completed", PackVersion: 1, Repetitions: 3, Agents: 3, Trials: 72,
			CreatedAt: noon.Add(-time.Hour), FinishedAt: new(noon)}},
		Summary:  view.SessionSummary{RunCounts: map[string]int{"total": 1, "completed": 1}},
		Result:   new(b.Result(session.Options{Runs: 1, Scored: 1})),
		Warnings: b.Warnings(),
	}
}

func sessionPage() view.Page[view.SessionItem] {
	return view.Page[view.SessionItem]{Total: 2, Limit: 20, Items: view.List[view.SessionItem]{
		{ID: runID, Name: "nightly with a name that is long enough to be cut", Status: "running", Pack: "fizz", Runs: 12, CreatedAt: noon.Add(-time.Hour), UpdatedAt: noon},
		{ID: agentID, Name: "five", Status: "completed", Pack: "fizz", Runs: 1, Overall: new(0.875), WinnerLabel: "claude-fix", LeaderLabel: "claude-fix",
			CreatedAt: noon.Add(-3 * time.Hour), UpdatedAt: noon.Add(-2 * time.Hour)},
	}}
}
