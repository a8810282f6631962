package convert_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/convert"
	"github.com/agentclash/agentclash/scoring"
)

// config is a promptfoo config and what answers come to by it.
type config struct {
	Name, Config, Judge string
	Try                 [][]any         // test, answer, passed
	Latency             map[int]bool    // of an answer that is right otherwise
	Replies             map[string]bool // of a judge, likewise
	Findings, Models    []string
}

func TestPromptfoo(t *testing.T) {
	t.Parallel()
	list := vectors[config](t, "testdata/promptfoo.yaml")
	if len(list) < 25 {
		t.Fatalf("found %d configs", len(list))
	}
	for _, v := range list {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			made, err := convert.ReadPromptfoo([]byte(v.Config), convert.PromptfooOptions{Slug: "made", Name: "Made", JudgeModel: v.Judge})
			if err != nil {
				t.Fatal(err)
			}
			checkFindings(t, v.Findings, made.Findings)
			if !slices.Equal(v.Models, made.Models) {
				t.Errorf("the models are %v, want %v", made.Models, v.Models)
			}
			p, problems := pack.Parse("made.yaml", made.Source, nil)
			if len(problems) > 0 {
				t.Fatalf("%v\n%s", problems, made.Source)
			}
			judged := verdicts{t, p, made.Source}
			for _, try := range v.Try {
				judged.want(try[0].(int), fmt.Sprint(try[2]) == "true", scoring.Evidence{FinalOutput: new(fmt.Sprint(try[1]))}, "")
			}
			for ms, want := range v.Latency {
				start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
				judged.want(0, want, scoring.Evidence{FinalOutput: new("a"), StartedAt: start, EndedAt: start.Add(time.Duration(ms) * time.Millisecond)}, "")
			}
			for reply, want := range v.Replies {
				judged.want(0, want, scoring.Evidence{FinalOutput: new("hello Ann")}, reply)
			}
			if len(v.Try)+len(v.Latency)+len(v.Replies) == 0 {
				t.Error("nothing was tried")
			}
		})
	}
}

func checkFindings(t *testing.T, want []string, got []convert.Finding) {
	t.Helper()
	var lines []string
	for _, f := range got {
		lines = append(lines, fmt.Sprintf("%d:%d %s: %s", f.Line, f.Column, f.Path, f.Message))
	}
	if len(want) != len(lines) {
		t.Errorf("the findings are\n%s", strings.Join(lines, "\n"))
		return
	}
	for _, w := range want {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, w) }) {
			t.Errorf("no finding %q among\n%s", w, strings.Join(lines, "\n"))
		}
	}
}

type verdicts struct {
	t      *testing.T
	pack   *pack.Pack
	source []byte
}

// want scores evidence as a run would, judges' replies included.
func (v verdicts) want(test int, want bool, ev scoring.Evidence, reply string) {
	v.t.Helper()
	scorer, problems := scoring.Compile(v.pack.Version.EvaluationSpec)
	if len(problems) > 0 {
		v.t.Fatal(problems)
	}
	ev.Completed, ev.Case = new(true), v.pack.ScoringCase(v.pack.InputSets[0].Cases[test])
	for {
		q, ask := scorer.NextQuestion(ev)
		if !ask {
			break
		}
		if !strings.Contains(q.Prompt, "hello Ann") {
			v.t.Errorf("the judge is not shown the answer:\n%s", q.Prompt)
		}
		ev.JudgeReplies = append(ev.JudgeReplies, scoring.JudgeReply{JudgeKey: q.JudgeKey, Model: q.Model, Sample: q.Sample, QuestionID: q.ID, Status: scoring.JudgeAnswered, Text: reply})
	}
	card := scorer.Score(ev)
	if got := card.Decide(); (got.Outcome == scoring.OutcomePassed) != want || got.Outcome == scoring.OutcomeInvalid {
		v.t.Errorf("test %d, answer %q, reply %q: %s (%s), want passed %v\n%s", test, *ev.FinalOutput, reply, got.Outcome, got.Reason, want, v.source)
	}
}

func TestPromptfooFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{"p.txt": "First {{a}}\r\n---\r\nSecond {{b}}\n"}
	made, err := convert.ReadPromptfoo([]byte("prompts: [file://p.txt, gone.md]\ntests: [{vars: {a: x}, assert: [{type: contains, value: y}]}]\n"),
		convert.PromptfooOptions{Slug: "s", Name: "S", ReadFile: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		}})
	if err != nil {
		t.Fatal(err)
	}
	checkFindings(t, []string{"1:25 prompts[1]: the file cannot be read"}, made.Findings)
	p, problems := pack.Parse("made.yaml", made.Source, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var asked []string
	for _, set := range p.InputSets {
		for _, c := range set.Cases {
			challenge, _ := p.Challenge(c.ChallengeKey)
			asked = append(asked, c.Render(challenge.Prompt()))
		}
	}
	if want := []string{"First x", "Second "}; !slices.Equal(asked, want) {
		t.Errorf("agents are asked %q, want %q", asked, want)
	}
}

func TestPromptfooRefused(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"":                "it is no YAML",
		"[]":              "it is no mapping",
		"prompts: []":     "no prompt that can be translated",
		"prompts: [x]":    "no test that can be translated",
		"prompts: ['{%']": "no prompt",
		"prompts: [x]\ntests: [{assert: [{type: cost, threshold: 1}]}]":                                         "no assertion of a text",
		"prompts: [x]\ntests: [{assert: [{type: javascript, value: 'output'}]}]":                                "no test that can be translated",
		"prompts: [x]\ndefaultTest: {options: {transform: 'x'}}\ntests: [{assert: [{type: equals, value: a}]}]": "no test that can be translated",
		"prompts: ['{{a}}']\ndefaultTest: {vars: file://v.yaml}\ntests: [{assert: [{type: equals, value: a}]}]": "no test that can be translated",
		"prompts: [x]\ntests: [{vars: {a: [], b: 1}, assert: [{type: is-json}]}]":                               "no test",
		"prompts: ['{{a}}']\ntests: [{vars: {a: {b: 1}}, assert: [{type: is-json}]}]":                           "no test",
	} {
		_, err := convert.ReadPromptfoo([]byte(src), convert.PromptfooOptions{Slug: "s", Name: "S"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", src, err, want)
		}
	}
}

// FuzzPromptfoo wants every config refused or made into a valid pack.
func FuzzPromptfoo(f *testing.F) {
	src, err := os.ReadFile("testdata/promptfoo.yaml")
	if err != nil {
		f.Fatal(err)
	}
	var list []config
	if err := yaml.Unmarshal(src, &list); err != nil {
		f.Fatal(err)
	}
	for _, v := range list {
		f.Add([]byte(v.Config))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		made, err := convert.ReadPromptfoo(src, convert.PromptfooOptions{Slug: "s", Name: "S", JudgeModel: "scripted/j.yaml"})
		if err != nil {
			return
		}
		if made.Translated > made.Assertions {
			t.Errorf("%d of %d translated", made.Translated, made.Assertions)
		}
		if _, problems := pack.Parse("made.yaml", made.Source, nil); problems.Err() != nil {
			t.Fatalf("%v\n%s", problems, made.Source)
		}
	})
}
