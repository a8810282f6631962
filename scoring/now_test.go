package scoring_test

import (
	"testing"

	"github.com/agentclash/agentclash/scoring"
)

// nowSpec has a validator of each kind that a conversation may or may not depend on.
func nowSpec() scoring.Spec {
	contains := func(key, target, want string) scoring.Validator {
		return scoring.Validator{Key: key, Type: "contains", Target: target, ExpectedFrom: "literal:" + want}
	}
	s := scoring.Spec{
		Name: "now", VersionNumber: 1, JudgeMode: "hybrid",
		Validators: []scoring.Validator{
			contains("payload", "case.payload", "never there"),
			contains("file", "file:out", "never there"),
			contains("whole", "transcript.full", "user[0]: hello"),
			contains("missed", "transcript.from_mismatch", "sorry"),
			contains("last", "final_output", "bye"),
		},
		PostExecutionChecks: []scoring.PostExecutionCheck{{Key: "out", Type: "file_capture", Path: "out"}},
		LLMJudges: []scoring.LLMJudge{
			{Key: "read", Mode: "assertion", Assertion: "a", Model: "openai/m", ContextFrom: []string{"final_output"}},
			{Key: "unread", Mode: "assertion", Assertion: "a", Model: "openai/m", ContextFrom: []string{"final_output"}},
		},
	}
	s.Scorecard.Dimensions = []scoring.Dimension{
		{Key: "correctness", Source: "validators"},
		{Key: "tone", Source: "llm_judge", JudgeKey: "read", PassThreshold: new(0.8)},
	}
	return s
}

func TestFailsNow(t *testing.T) {
	s, problems := scoring.Compile(nowSpec())
	if s == nil {
		t.Fatal(problems)
	}
	turns := []scoring.Turn{{Index: 0, User: "hello", Assistant: "what?"}}
	for _, c := range []struct {
		name   string
		turns  []scoring.Turn
		output string
		want   string
	}{
		{"what was not said", []scoring.Turn{{User: "hi", Assistant: "bye"}}, "bye", "whole"},
		{"what was not answered", turns, "what?", "last"},
		{"neither a file nor the case is looked at, and no mismatch is none", turns, "bye", ""},
		{"a mismatch that was not made good", []scoring.Turn{{User: "hello"}, {Index: 1, Assistant: "no", Mismatched: true}}, "bye", "missed"},
	} {
		fails, key, reason := s.FailsNow(scoring.Evidence{Turns: c.turns}.WithOutput(c.output))
		if key != c.want || fails != (c.want != "") || fails == (reason == "") {
			t.Errorf("%s: got %v, %q (%s), want %q", c.name, fails, key, reason, c.want)
		}
	}
}

func TestBelowNow(t *testing.T) {
	s, problems := scoring.Compile(nowSpec())
	if s == nil {
		t.Fatal(problems)
	}
	ask := func(text, status, code string) scoring.Evidence {
		ev := scoring.Evidence{}.WithOutput("so")
		for {
			q, ok := s.NextQuestion(ev)
			if !ok {
				return ev
			}
			if q.JudgeKey != "read" {
				t.Fatalf("%s is asked, which no dimension reads", q.JudgeKey)
			}
			ev.JudgeReplies = append(ev.JudgeReplies, scoring.JudgeReply{JudgeKey: q.JudgeKey, Model: q.Model, Sample: q.Sample, QuestionID: q.ID, Status: status, Text: text, Code: code})
		}
	}
	if below, key, _, _ := s.BelowNow(ask(`{"pass": false}`, scoring.JudgeAnswered, "")); !below || key != "read" {
		t.Errorf("a judge that says no: got %v, %q", below, key)
	}
	if below, _, _, unreached := s.BelowNow(ask(`{"pass": true}`, scoring.JudgeAnswered, "")); below || unreached != "" {
		t.Errorf("one that says yes: got %v, %q", below, unreached)
	}
	if below, key, _, unreached := s.BelowNow(ask("", scoring.JudgeFailed, "unavailable")); below || key != "read" || unreached != "unavailable" {
		t.Errorf("one that is not reached: got %v, %q, %q", below, key, unreached)
	}
	if below, _, _, unreached := s.BelowNow(ask("", scoring.JudgeUnable, "")); below || unreached != "" {
		t.Errorf("one without a budget: got %v, %q", below, unreached)
	}
	// a reply to what there was before is none to what there is now
	if below, _, _, _ := s.BelowNow(ask(`{"pass": false}`, scoring.JudgeAnswered, "").WithOutput("other")); below {
		t.Error("an old reply counts")
	}
}
