package pagetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// start is when all of it begins.
func start() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }

// Run is a run of one agent with so many trials, each with so many tool calls. Every
// fifth trial failed, every fiftieth was invalid.
func Run(trials, calls int) page.Report {
	finished := start().Add(time.Minute)
	r := page.Report{
		Program: "v0.0.0", GeneratedAt: start().Add(time.Hour), DurationMS: new(int64(60_000)),
		Run: view.Run{
			RunID: "0190aaaa-0000-7000-8000-000000000001", Name: "sample", Status: "completed", WorkspaceID: "default",
			Pack: view.Pack{Slug: "sample", Version: 1}, InputSet: "default", Mode: "native", Sandbox: "scratch",
			CreatedAt: start(), StartedAt: new(start()), FinishedAt: &finished,
		},
	}
	made := make(map[string]view.Trial, trials)
	var scored []scoring.Trial
	for i := range trials {
		t := trial(i)
		scored = append(scored, t)
		v := view.NewTrial(t)
		made[t.TrialID] = v
		r.Trials = append(r.Trials, page.NewRow(0, v))
	}
	card := scoring.Aggregate(scoring.Spec{}, scored, 1)
	r.Agents = []page.Agent{{Model: "scripted/sample", Agent: view.NewAgent(
		view.AgentRef{Label: "sample", RunAgentID: "0190aaaa-0000-7000-8000-000000000002", Status: "completed"}, card, scored)}}
	r.Read = func(id string) (page.Evidence, error) {
		t, ok := made[id]
		if !ok {
			return page.Evidence{}, fmt.Errorf("there is no trial %s", id)
		}
		return page.Evidence{Trial: t, Events: history(t, calls)}, nil
	}
	return r
}

func trial(i int) scoring.Trial {
	t := scoring.Trial{
		TrialID: fmt.Sprintf("0190aaaa-0000-7000-9000-%012d", i), CaseKey: fmt.Sprintf("case-%03d", i%250), Repetition: i/250 + 1, Attempt: 1,
		Outcome: scoring.OutcomePassed, FinalOutput: new("done"), LatencyMS: new(int64(400 + i*37%900)), CostUSD: new(0.001 + float64(i%17)/1e4),
		StopReason: "completed",
	}
	score, verdict := 1.0, scoring.VerdictPass
	switch {
	case i%50 == 49:
		t.Outcome, t.Code, t.Phase, t.Reason, t.FinalOutput = scoring.OutcomeInvalid, "unavailable", "agent", "the provider did not answer", nil
	case i%5 == 1:
		t.Outcome, score, verdict = scoring.OutcomeFailed, 0.25, scoring.VerdictFail
	}
	t.Scorecard = &scoring.Scorecard{
		OverallScore: &score, Validity: "valid",
		Dimensions: []scoring.DimensionResult{{Key: "correctness", Source: scoring.SourceValidators, Score: &score, State: scoring.Available}},
		Validators: []scoring.ValidatorResult{{Key: "right", Type: "contains", State: scoring.Available, Verdict: verdict, NormalizedScore: &score}},
	}
	return t
}

// history is what happened in a trial.
func history(t view.Trial, calls int) []event.Event {
	h := &log{trial: t}
	h.add(event.Started, event.TrialStart{DeploymentType: "native", ExecutionTarget: "scratch"})
	for i := range calls {
		h.add(event.CallStarted, event.Call{StepIndex: i + 1, ProviderKey: "scripted", Model: "sample", Messages: []provider.Message{{Role: provider.User, Content: "Go on."}}})
		h.add(event.CallDone, event.CallEnd{StepIndex: i + 1, ProviderModelID: "sample", OutputText: "I write a file."})
		h.add(event.ToolStarted, event.Tool{ToolCallID: "c", ToolName: "write_file", Arguments: json.RawMessage(`{"path":"a.txt","content":"hello"}`)})
		h.add(event.ToolDone, event.Tool{ToolCallID: "c", ToolName: "write_file", Arguments: json.RawMessage(`{"path":"a.txt","content":"hello"}`), Result: &event.ToolResult{Content: "5 bytes written"}})
	}
	h.add(event.FileCaptured, scoring.CapturedFile{Key: "a", Path: "/workspace/a.txt", Exists: true, Content: "hello\n", Size: 6})
	h.add(event.OutputFinal, event.Output{FinalOutput: "done", Source: "submit"})
	h.add(event.Completed, event.End{FinalOutput: "done", StopReason: "completed"})
	return h.events
}

type log struct {
	trial  view.Trial
	events []event.Event
}

func (h *log) add(kind event.Type, payload any) {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic(err) // a payload of ours
	}
	n := int64(len(h.events) + 1)
	h.events = append(h.events, event.Event{
		ID: fmt.Sprintf("%s.1.%d", h.trial.TrialID, n), TrialID: h.trial.TrialID, CaseKey: h.trial.CaseKey, Repetition: h.trial.Repetition, Attempt: 1,
		Sequence: n, Type: kind, Source: "native_engine", OccurredAt: start().Add(time.Duration(n) * 100 * time.Millisecond), Payload: raw,
	})
}

// HostileText ends elements, runs scripts, turns text round and hides, if it can.
const HostileText = "</script><img src=x onerror=pwned=1><script>pwned=1</script><!--\x00\u202eevil\u2028\u2066\x1b[31m'\"&amp;"

// OfNobody is what hostile arguments have under a name that scripts take for their own.
const OfNobody = "hidden by its name"

// Hostile has hostile text wherever others than we write it.
func Hostile(r page.Report) page.Report {
	r.Run.Name, r.Run.InputSet, r.Run.Reason, r.Run.Pack.Slug = HostileText, HostileText, HostileText, HostileText
	for i := range r.Agents {
		r.Agents[i].Dimensions = view.Object[view.AgentDimension]{{Key: "constructor"}, {Key: "__proto__"}, {Key: HostileText}}
		r.Agents[i].Label, r.Agents[i].Model, r.Agents[i].Reason = HostileText, HostileText, HostileText
	}
	r.Agents = append(r.Agents, page.Agent{Agent: view.Agent{Label: "without dimensions", Status: "failed"}})
	for i := range r.Trials {
		r.Trials[i].CaseKey, r.Trials[i].Why, r.Trials[i].Code, r.Trials[i].Phase = HostileText, HostileText, HostileText, HostileText
	}
	read := r.Read
	r.Read = func(id string) (page.Evidence, error) {
		e, err := read(id)
		e.Trial.Reason, e.Trial.FinalOutput, e.Trial.CaseKey = HostileText, new(strings.Repeat(HostileText, 20_000)), HostileText
		e.Trial.Judges = view.List[view.Judge]{{Key: HostileText, Mode: "rubric", State: scoring.Available, NormalizedScore: new(0.5), Reason: HostileText,
			Calls: view.List[view.JudgeCall]{{Model: HostileText, Score: new(0.5), Reasoning: HostileText}}}}
		h := &log{trial: e.Trial, events: e.Events}
		h.add(event.ToolStarted, event.Tool{ToolCallID: "x", ToolName: HostileText, Arguments: mustJSON(map[string]string{HostileText: HostileText})})
		h.add(event.ToolDone, event.Tool{ToolCallID: "x", ToolName: HostileText, Arguments: mustJSON(HostileText), Result: &event.ToolResult{Content: HostileText}})
		h.add(event.FileCaptured, scoring.CapturedFile{Key: HostileText, Path: "/workspace/" + HostileText, Exists: true, Content: HostileText + strings.Repeat("x", 1<<20)})
		request := mustJSON(map[string]string{"method": HostileText, "url": "javascript:pwned=1", "__proto__": OfNobody})
		h.add(event.ToolStarted, event.Tool{ToolCallID: "y", ToolName: "http_request", Arguments: request})
		h.add(event.ToolFailed, event.Tool{ToolCallID: "y", ToolName: "http_request", Arguments: request, Result: &event.ToolResult{Content: HostileText, IsError: true}})
		e.Events = h.events
		e.Declared = []scoring.Validator{{Key: HostileText, Type: "exact_match"}}
		e.Checks = []scoring.ValidatorResult{{Key: HostileText, Type: HostileText, Target: HostileText, Verdict: scoring.VerdictFail, Expected: new(HostileText + "1 "), Actual: new(HostileText)}}
		e.Baseline = &page.Other{RunName: HostileText, Agent: HostileText, Trial: e.Trial, Events: nil}
		return e, err
	}
	r.Artifacts = []view.Artifact{{ID: HostileText, Name: "javascript:/" + HostileText, Type: HostileText, Size: 5, SHA256: HostileText, Metadata: mustJSON(HostileText)}}
	r.ReadArtifact = func(string) ([]byte, error) { return []byte("<svg>"), nil }
	return r
}

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of ours
	}
	return raw
}

// Talkative has as many bytes of text in each trial, which compress to half.
func Talkative(r page.Report, size int) page.Report {
	read := r.Read
	r.Read = func(id string) (page.Evidence, error) {
		e, err := read(id)
		h := &log{trial: e.Trial, events: e.Events}
		h.add(event.CallStarted, event.Call{ProviderKey: "scripted", Model: "sample"})
		h.add(event.CallDone, event.CallEnd{ProviderModelID: "sample", OutputText: noise(seed(id), size)})
		e.Events = h.events
		return e, err
	}
	return r
}

// Noise is a text of so many bytes, which compress to half.
func Noise(size int) string { return noise(1, size)[:size] }

func noise(seed uint64, size int) string {
	random := rand.New(rand.NewPCG(1, seed))
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%016x%016x%016x%016x\n", random.Uint64(), random.Uint64(), random.Uint64(), random.Uint64())
	}
	return b.String()
}

// Captured are the events of a trial, and a file that was captured.
func Captured(e page.Evidence, f scoring.CapturedFile) []event.Event {
	h := &log{trial: e.Trial, events: e.Events}
	h.add(event.FileCaptured, f)
	return h.events
}

// seed is a number of an id's own.
func seed(id string) (n uint64) {
	for _, c := range []byte(id) {
		n = n*31 + uint64(c)
	}
	return n
}

// Index is a list of two runs of that name.
func Index(name string) page.Index {
	x := page.Index{Search: name}
	x.Runs.Total, x.Runs.Limit, x.Runs.Offset, x.Runs.HasMore = 120, 50, 50, true
	for range 2 {
		run := Run(1, 1).Run
		run.Name = name
		run.Agents = view.List[view.RunAgent]{{Label: name, PassedTrials: 3, FailedTrials: 1, InvalidTrials: 2}}
		x.Runs.Items = append(x.Runs.Items, run)
	}
	return x
}
