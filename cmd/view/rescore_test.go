package view_test

import (
	"io"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

// rescored has one of everything that a rescoring can say.
func rescored() view.RescoreDocument {
	before := agentCard()
	after := before
	after.OverallScore, after.PassRate, after.PassedTrials, after.FailedTrials = new(0.5), new(0.0), 0, 2
	after.Dimensions = []scoring.AggregateDimension{
		{Key: "correctness", Score: new(0.25), State: scoring.Available, N: 2},
		{Key: "brevity", State: scoring.Unavailable},
	}
	a := view.NewRescoredAgent(view.AgentRef{Label: "claude-fix", RunAgentID: agentID}, before, after)
	a.Trials, a.Rescored, a.Flipped, a.Changed = 9, 5, 3, 1
	a.Flips = view.List[view.Flip]{{From: scoring.OutcomePassed, To: scoring.OutcomeFailed, Trials: 2}, {From: scoring.OutcomePassed, To: scoring.OutcomeInvalid, Trials: 1}}
	a.NotRescored = view.List[view.NotRescored]{{Status: "invalid", Code: "rate_limit", Phase: "agent", Trials: 1}, {Status: "interrupted", Trials: 2}, {Status: view.LeftOut, Trials: 1}}
	a.Undecidable = view.List[view.Undecidable]{{Code: "infra_error", Phase: "verification", Reason: `validator "logged": "file:log" was never captured`, Trials: 1}}
	none := view.NewRescoredAgent(view.AgentRef{Label: "gpt", RunAgentID: agent2ID}, scoring.AgentScorecard{}, scoring.AgentScorecard{})
	return view.RescoreDocument{
		RunID: runID, RunName: "nightly", RunStatus: "interrupted", RescoringID: new(trial3ID),
		Pack: view.Pack{Slug: "fizz", Version: 3}, PackDigest: "0123456789abcdef0123456789abcdef", SpecDigest: "fedcba98", SpecChanged: true,
		Trials: 9, Rescored: 5, Flipped: 3, Changed: 1, Agents: view.List[view.RescoredAgent]{a, none},
		LeftOut: view.List[view.LeftOutCase]{{CaseKey: "flaky", Reason: "the agent was given something else: the payload, the files in the workspace", Trials: 1}},
		Changes: changes(),
	}
}

// changes are one flip for each kind of reading, more flips than a terminal is
// shown, and a change without a flip.
func changes() (list view.List[view.RescoredChange]) {
	add := func(c compare.Change) {
		c.TrialID, c.Repetition = trialID, 1
		list = append(list, view.RescoredChange{RunAgentID: agentID, RunAgentLabel: "claude-fix", Change: c})
	}
	add(compare.Change{CaseKey: "fizzbuzz", Flipped: true,
		Before: compare.Ending{Outcome: scoring.OutcomePassed, OverallScore: new(1.0)},
		After:  compare.Ending{Outcome: scoring.OutcomeFailed, Code: "no_output", Reason: "the file log.txt does not exist", OverallScore: new(0.25)},
		Validators: []compare.Shift{
			{Key: "exact", Before: &compare.Reading{State: scoring.Available, Verdict: "pass", Score: new(1.0)},
				After: &compare.Reading{State: scoring.Available, Verdict: "fail", Score: new(0.0), Reason: "the text is not the expected one"}},
			{Key: "logged", After: &compare.Reading{State: scoring.Unavailable, Reason: `"file:log" was never captured`}},
			{Key: "gone", Before: &compare.Reading{State: scoring.Errored, Verdict: "error"}},
		},
		Dimensions: []compare.Shift{{Key: "correctness", Before: &compare.Reading{State: scoring.Available, Score: new(1.0)}, After: &compare.Reading{State: scoring.Available, Score: new(0.25)}}},
		Metrics:    []compare.Shift{{Key: "cost", Before: &compare.Reading{State: scoring.Available, Value: 0.0012}, After: &compare.Reading{State: scoring.Unavailable, Reason: "no price is known"}}},
	})
	for range 25 {
		add(compare.Change{CaseKey: "palindrome <b>", Flipped: true, Before: compare.Ending{Outcome: scoring.OutcomeFailed}, After: compare.Ending{Outcome: scoring.OutcomePassed}})
	}
	add(compare.Change{CaseKey: "flaky", Before: compare.Ending{Outcome: scoring.OutcomeFailed, Code: "no_submit", OverallScore: new(0.25)},
		After: compare.Ending{Outcome: scoring.OutcomeFailed, Code: "no_submit", OverallScore: new(0.5)}})
	return list
}

func rescorings() view.List[view.Rescoring] {
	return view.List[view.Rescoring]{{RescoringID: trial3ID, RunID: runID, Pack: "fizz@3+0123456789ab", SpecDigest: "fedcba98", Program: "v1.2.0",
		CreatedAt: noon.Add(-50 * time.Minute), Rescored: 5, Flipped: 3, Kept: 1, LeftOut: 3}}
}

// rescoredCard is the scorecard of a rescoring.
func rescoredCard() view.ScorecardDocument {
	return view.ScorecardDocument{Candidate: participant(), Rescoring: &rescorings()[0], Scorecard: scorecard()}
}

func writeRescored(w io.Writer, d view.RescoreDocument, o view.Options) error {
	return view.Rescore(w, d, view.RescoreOptions{Diff: true, All: true}, o)
}
