package browse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentclash/agentclash/cmd/tui/browse"
	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// library is a store that never was: so many runs of so many trials each.
type library struct {
	runs, trials int
	bug          bool   // reading ends in a panic
	evil         string // in every text
	live         bool   // the first run goes on
	long         int    // so many entries of 8 KB are in each transcript
	fail         error
	gone         error // what was opened is not there any more

	read  atomic.Int64 // rows
	calls []string
	saved []string
}

func (l *library) call(name string) error {
	if l.bug {
		panic("a bug")
	}
	l.calls = append(l.calls, name)
	return l.fail
}

func (l *library) Here() error { return l.gone }

func (l *library) called(name string) bool { return slices.Contains(l.calls, name) }

func id(kind, n int) string { return fmt.Sprintf("0195a000-0000-7000-8%03x-%012x", kind, 0xa000000+n) }

func (l *library) run(n int) browse.Run {
	r := browse.Run{
		Run: view.Run{RunID: id(1, n), Name: fmt.Sprintf("nightly-%d%s", n, l.evil), Status: "completed" + l.evil, Pack: view.Pack{Slug: "support-triage" + l.evil, Version: 3},
			CreatedAt: noon.Add(-time.Duration(n) * time.Hour), Agents: []view.RunAgent{{Label: "gpt" + l.evil}, {Label: "sonnet"}}},
		Passed: 40 + n%3, Failed: n % 5, Invalid: n % 7 / 5, SpentUSD: new(0.0125 * float64(n%9)),
	}
	if n == 0 && l.live {
		r.Status, r.SpentUSD = "running", nil
	}
	return r
}

func part[T any](total, limit, offset int, make func(int) T) browse.Listed[T] {
	out := browse.Listed[T]{Total: total}
	for n := offset; n < min(total, offset+limit); n++ {
		out.Items = append(out.Items, make(n))
	}
	return out
}

func (l *library) Runs(_ context.Context, words []widget.Word, limit, offset int) (browse.Listed[browse.Run], error) {
	out := part(l.runs, limit, offset, l.run)
	if len(words) > 0 {
		var some []browse.Run
		for n := range l.runs {
			if r := l.run(n); strings.Contains(r.Name, words[0].Text) || words[0].Field == "status" && r.Status == words[0].Text {
				some = append(some, r)
			}
		}
		out = part(len(some), limit, offset, func(n int) browse.Run { return some[n] })
	}
	out.Live = l.live
	l.read.Add(int64(len(out.Items)))
	return out, l.call("runs")
}

func (l *library) Details(_ context.Context, runID string) (browse.Document, error) {
	return browse.Document{Write: func(w io.Writer, o view.Options) error {
		return view.RunDetails(w, view.Run{RunID: runID, Name: "told of" + l.evil, Status: "completed", Mode: "native", InputSet: "default" + l.evil, CreatedAt: noon}, o)
	}}, l.call("details")
}

func (l *library) Scorecards(_ context.Context, runID string) (browse.Document, error) {
	spec := scoring.AgentScorecard{Headline: "failed", OverallScore: new(0.82), PassRate: new(0.9), Trials: 20, PassedTrials: 17, FailedTrials: 2, InvalidTrials: 1,
		CostUSD: new(0.0312), SpentUSD: new(0.04), LatencyMS: new(1830.0), Validity: "degraded"}
	card := func(label string) view.ScorecardDocument {
		return view.ScorecardDocument{Candidate: view.Participant{RunID: runID, RunName: "nightly" + l.evil, RunStatus: "completed"},
			Scorecard: view.NewScorecard(view.AgentRef{Label: label + l.evil, RunAgentID: id(2, 1), Status: "completed"}, spec, nil)}
	}
	return browse.Document{Live: l.live, Write: func(w io.Writer, o view.Options) error {
		return view.RunScorecards(w, []view.ScorecardDocument{card("gpt"), card("sonnet")}, o)
	}}, l.call("scorecards")
}

func (l *library) trial(n int) browse.Trial {
	t := browse.Trial{ID: id(3, n), CaseKey: fmt.Sprintf("case-%03d%s", n/2, l.evil), Repetition: 1, Agent: []string{"gpt", "sonnet"}[n%2], Attempt: 1, Status: "passed", Score: new(1.0)}
	switch n % 6 {
	case 1:
		t.Status, t.Score = "failed", new(0.25)
	case 4:
		t.Status, t.Score, t.Code, t.Phase, t.Attempt = "invalid", nil, "rate_limit"+l.evil, "agent", 2
	}
	return t
}

func (l *library) Trials(_ context.Context, _ string, words []widget.Word, limit, offset int) (browse.Listed[browse.Trial], error) {
	var some []int
	for n := range l.trials {
		if t := l.trial(n); len(words) == 0 || words[0] == (widget.Word{Field: "outcome", Text: t.Status}) {
			some = append(some, n)
		}
	}
	out := part(len(some), limit, offset, func(n int) browse.Trial { return l.trial(some[n]) })
	out.Live = l.live
	return out, l.call("trials")
}

func (l *library) document(trialID string) view.ReplayDocument {
	source := &scoring.Source{Sequence: 12, EventType: "grader.verification.file_captured"}
	t := scoring.Trial{TrialID: trialID, CaseKey: "case-001" + l.evil, Repetition: 1, Attempt: 1, Outcome: scoring.OutcomeFailed, Scorecard: &scoring.Scorecard{
		OverallScore: new(0.25),
		Validators:   []scoring.ValidatorResult{{Key: "says-why" + l.evil, Type: "contains", State: scoring.Available, Verdict: "fail", Reason: "it says nothing" + l.evil, Source: source}},
		Judges: []scoring.JudgeResult{{Key: "tone", Mode: "rubric", State: scoring.Available, NormalizedScore: new(0.5), Confidence: "high",
			Calls: []scoring.JudgeCall{{Model: "judge-1", Score: new(0.5), Reasoning: strings.Repeat("It is polite, and it does not answer. ", 20) + l.evil}}}},
	}}
	facts := []event.Event{
		{Sequence: 1, Type: event.OutputFinal, OccurredAt: noon, Payload: []byte(`{"final_output":"sorry"}`)},
	}
	return view.ReplayDocument{State: "ready", RunAgentLabel: "gpt" + l.evil, TrialID: trialID, CaseKey: t.CaseKey, Repetition: 1, Attempt: 1,
		Outcome: t.Outcome, Scorecard: new(view.NewTrial(t)), Replay: event.NewReplay(facts)}
}

func (l *library) Verdict(_ context.Context, trialID string) (browse.Document, error) {
	return browse.Document{Live: l.live, Write: func(w io.Writer, o view.Options) error { return view.TrialVerdict(w, l.document(trialID), o) }}, l.call("verdict")
}

func (l *library) Files(_ context.Context, trialID string) (browse.Document, error) {
	return browse.Document{Write: func(w io.Writer, o view.Options) error { return view.LeftBehind(w, l.document(trialID), o) }}, l.call("files")
}

func (l *library) Facts(_ context.Context, trialID string, after int64) (browse.Facts, error) {
	fact := func(kind event.Type, payload any) event.Event {
		raw, err := json.Marshal(payload)
		if err != nil {
			panic(err)
		}
		return event.Event{Type: kind, OccurredAt: noon, Payload: raw}
	}
	all := []event.Event{
		fact(event.CallStarted, event.Call{Messages: []provider.Message{{Role: "system", Content: "You answer customers." + l.evil}, {Role: "user", Content: "Where is my parcel?"}}}),
		fact(event.CallDone, event.CallEnd{OutputText: "I look it up." + l.evil}),
		fact(event.ToolStarted, event.Tool{ToolName: "lookup" + l.evil, Arguments: []byte(`{"order":17}`)}),
		fact(event.ToolDone, event.Tool{ToolName: "lookup", DurationMS: 12, Result: &event.ToolResult{Content: strings.Repeat("a parcel of which nothing is known\n", 30) + l.evil}}),
		fact(event.CallDone, event.CallEnd{OutputText: "sorry"}),
	}
	for range l.long {
		all = append(all, fact(event.ToolDone, event.Tool{ToolName: "lookup", DurationMS: 12, Result: &event.ToolResult{Content: strings.Repeat("a parcel of which nothing is known\n", 230)}}))
	}
	if l.long > 0 {
		return browse.Facts{Events: all[after:], Cursor: int64(len(all))}, l.call("facts")
	}
	if int(after) >= len(all) {
		return browse.Facts{Cursor: after, Live: l.live}, l.call("facts")
	}
	return browse.Facts{Events: all[after : after+1], Cursor: after + 1, More: int(after)+1 < len(all), Live: l.live}, l.call("facts")
}

func (l *library) Compare(_ context.Context, baseline, runID string) (browse.Document, error) {
	return browse.Document{Write: func(w io.Writer, o view.Options) error {
		return view.Comparisons{{Label: "gpt" + l.evil, Notes: []string{"base " + view.ShortID(baseline) + " candidate " + view.ShortID(runID) + l.evil}}}.Write(w, o)
	}}, l.call("compare")
}

func (l *library) Artifacts(_ context.Context, runID string, limit, offset int) (browse.Listed[browse.Artifact], error) {
	return part(3, limit, offset, func(n int) browse.Artifact { return browse.Artifact{Artifact: l.artifact(n), File: "notes.txt"} }), l.call("artifacts " + view.ShortID(runID))
}

func (l *library) artifact(n int) view.Artifact {
	return view.Artifact{ID: id(4, n), RunID: id(1, n), Type: "notes" + l.evil, Name: "notes.txt" + l.evil, Size: 12, SHA256: strings.Repeat("ab", 32), Visibility: "workspace",
		ContentType: "text/plain", Metadata: []byte(`{"by":"me"}`), CreatedAt: noon}
}

func (l *library) Artifact(_ context.Context, _ string) (browse.Document, error) {
	return browse.Document{Write: func(w io.Writer, o view.Options) error {
		return view.ArtifactText(w, l.artifact(0), "twelve bytes"+l.evil, o)
	}}, l.call("artifact")
}

func (l *library) Save(_ context.Context, artifactID, file string) (string, error) {
	if file == "there.txt" {
		return "", errors.New("there.txt is there already")
	}
	l.saved = append(l.saved, view.ShortID(artifactID)+" "+file)
	return file, nil
}

func (l *library) Report(context.Context, string) (string, error) {
	return "/home/reports/1.html" + l.evil, l.fail
}
