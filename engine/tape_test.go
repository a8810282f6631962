package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
	"github.com/agentclash/agentclash/scoring"
)

// modelFunc is a client that is a function.
type modelFunc func(ctx context.Context, req provider.Request) (provider.Response, error)

func (f modelFunc) Complete(ctx context.Context, req provider.Request, _ func(provider.Delta)) (provider.Response, error) {
	return f(ctx, req)
}

// taped runs a plan with a tape and says what it came to and what was stated.
func (h *harness) taped(t *testing.T, tape record.Tape, clients []provider.Client) (string, engine.Result) {
	t.Helper()
	h.facts = nil
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	result, err := engine.Run(t.Context(), h.plan(t), engine.Deps{
		Sink: event.SinkFunc(h.emit), Clients: clients, Programs: h.programs, Judges: h.judges, Recall: h.recall, Boxes: h.boxes, Tape: tape, Secrets: h.secrets,
		Now:   func() time.Time { now = now.Add(3 * time.Millisecond); return now },
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	var began time.Time
	for _, e := range h.facts {
		if e.TrialID == "" {
			continue
		}
		if e.Sequence == 1 {
			began = e.OccurredAt
		}
		said = append(said, fmt.Sprintf("%d.%d +%v %s %s", e.Attempt, e.Sequence, e.OccurredAt.Sub(began), e.Type, withoutDates(t, e.Payload)))
	}
	return strings.Join(said, "\n"), result
}

func withoutDates(t *testing.T, raw json.RawMessage) string {
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	var clean func(any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key := range v {
				if strings.HasSuffix(key, "_at") || key == "tool_call_id" || key == "sandbox_id" || key == "id" {
					delete(v, key)
					continue
				}
				clean(v[key])
			}
		case []any:
			for i := range v {
				clean(v[i])
			}
		}
	}
	clean(doc)
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestTape records runs that go wrong in every way, and plays them back in boxes
// and with models that nothing is wrong with: the same comes of it.
func TestTape(t *testing.T) {
	t.Parallel()
	write := provider.Response{Finish: provider.FinishToolCalls, ToolCalls: []provider.ToolCall{
		{ID: "x", Name: "write_file", Arguments: json.RawMessage(`{"path": "out.txt", "content": "EXPECTED-MARKER"}`)}}}
	submit := provider.Response{Finish: provider.FinishToolCalls, Elapsed: 1234567 * time.Microsecond, ToolCalls: []provider.ToolCall{
		{ID: "y", Name: "submit", Arguments: json.RawMessage(`{"answer": "done"}`)}}}
	good := func(_ context.Context, req provider.Request) (provider.Response, error) {
		if len(req.Messages) > 2 {
			return submit, nil
		}
		return write, nil
	}
	broken := func(kind sandbox.Kind, limit string) func(*sandboxtest.MemoryProvider) {
		return func(p *sandboxtest.MemoryProvider) {
			p.OnOpen(func(b *sandboxtest.MemoryBox) {
				b.Fail(sandboxtest.OpWrite, 1, &sandbox.BoxError{Kind: kind, Limit: limit, Detail: "exit 137"})
			})
		}
	}
	for name, row := range map[string]struct {
		model func(context.Context, provider.Request) (provider.Response, error)
		boxes func(*sandboxtest.MemoryProvider)
		spec  string
		code  string
		// invalid is an attempt that is not the agent's failure
		invalid bool
	}{
		"good":     {model: good},
		"tampered": {model: good, boxes: broken(sandbox.Tampered, ""), code: "tampered"},
		"memory":   {model: good, boxes: broken(sandbox.Limit, sandbox.LimitMemory), code: "memory_limit"},
		"reply in no time": {spec: "runtime_limits: {max_duration_ms: 2000}", code: "timeout", model: func(ctx context.Context, _ provider.Request) (provider.Response, error) {
			<-ctx.Done()
			return provider.Response{}, provider.FromContext(ctx, "openai")
		}},
		"silence for half of the time": {spec: "runtime_limits: {max_duration_ms: 2000}", code: "timeout", model: silentFor(1000 * time.Millisecond)},
		"silence for more than that":   {spec: "runtime_limits: {max_duration_ms: 2000}", code: "timeout", model: silentFor(1001 * time.Millisecond), invalid: true},
		"tool in no time": {spec: "runtime_limits: {max_duration_ms: 2000}", code: "timeout", boxes: func(p *sandboxtest.MemoryProvider) {
			p.HandleExec(func(ctx context.Context, _ sandbox.Command) (sandbox.Result, error) {
				<-ctx.Done()
				return sandbox.Result{}, context.Cause(ctx)
			})
		}, model: func(context.Context, provider.Request) (provider.Response, error) {
			return provider.Response{Finish: provider.FinishToolCalls, ToolCalls: []provider.ToolCall{
				{ID: "z", Name: "exec", Arguments: json.RawMessage(`{"command": ["sleep", "10"]}`)}}}, nil
		}},
		"no time for another try": {spec: "runtime_limits: {max_duration_ms: 60000}", code: "rate_limit", invalid: true, model: func(context.Context, provider.Request) (provider.Response, error) {
			return provider.Response{}, &provider.Error{Provider: "openai", Code: provider.RateLimit, Status: 429, Message: "slow", RetryAfter: 59500 * time.Millisecond}
		}},
		"down": {code: "unavailable", invalid: true, model: func(context.Context, provider.Request) (provider.Response, error) {
			return provider.Response{}, &provider.Error{Provider: "openai", Code: provider.Unavailable, Status: 503, Message: "down"}
		}},
		"an answer in vain": {code: "no_submit", model: func(context.Context, provider.Request) (provider.Response, error) {
			return provider.Response{Text: "Well.", Finish: provider.FinishStop, Usage: &provider.Usage{Input: 3, Output: 2, Total: 5, Reasoning: 1}}, nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(parse(t, nativePack, row.spec))
			h.agents = []plan.Deployment{{Name: "gpt", Provider: "openai", Model: "gpt-test"}}
			boxes := sandboxtest.Memory()
			if h.boxes = boxes; row.boxes != nil {
				row.boxes(boxes)
			}
			dir := t.TempDir() + "/tape"
			o := record.Options{RunID: "r", Now: time.Now, Subject: record.Subject{Repetitions: 1, Cases: []string{"one"}, Agents: []record.Agent{{Label: "gpt"}}}}
			recorder, err := record.Create(taken(t, dir), o)
			if err != nil {
				t.Fatal(err)
			}
			was, result := h.taped(t, recorder, []provider.Client{recorder.Client(record.Agents, modelFunc(row.model))})
			attempts := h.trials(t)
			if got := attempts[len(attempts)-1]; got.Code != row.code || (got.Outcome == scoring.OutcomeInvalid) != row.invalid {
				t.Fatalf("got %s %q (%s), want %q, invalid: %v", got.Outcome, got.Code, got.Reason, row.code, row.invalid)
			}
			if _, missing, err := recorder.Finish(false); err != nil || missing != nil {
				t.Fatal(missing, err)
			}
			player, err := record.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			player.OnMiss(func(m *record.Miss) { t.Error(m) })
			whole := sandboxtest.Memory()
			whole.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) { return sandbox.Result{}, nil })
			h.boxes = whole
			h.options.Seed = 99 // which would wait otherwise between tries
			now, again := h.taped(t, player, []provider.Client{player.Client(record.Agents)})
			if d := cmp.Diff(strings.Split(was, "\n"), strings.Split(now, "\n")); d != "" {
				t.Errorf("other facts on replay (-recorded +replayed):\n%s", d)
			}
			if d := cmp.Diff(result.Agents[0].Scorecard, again.Agents[0].Scorecard); d != "" {
				t.Errorf("another scorecard on replay (-recorded +replayed):\n%s", d)
			}
		})
	}
}

// silentFor is a model that has said nothing for that long when the trial's time is up.
func silentFor(d time.Duration) func(context.Context, provider.Request) (provider.Response, error) {
	return func(ctx context.Context, _ provider.Request) (provider.Response, error) {
		<-ctx.Done()
		e := provider.FromContext(ctx, "openai")
		e.Silent = d
		return provider.Response{}, e
	}
}

// taken is a directory that was taken for a recording.
func taken(t *testing.T, dir string) *record.Claim {
	t.Helper()
	c, err := record.Take(dir, "the test", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	return c
}

// TestTapeLeavesOutWhatTheMachineLost: a box that is lost is no behaviour of an
// agent's. The attempt after it is what is recorded.
func TestTapeLeavesOutWhatTheMachineLost(t *testing.T) {
	t.Parallel()
	h, boxes := native(t, writeAndSubmit)
	first := true
	boxes.OnOpen(func(b *sandboxtest.MemoryBox) {
		if first {
			b.Fail(sandboxtest.OpWrite, 1, &sandbox.BoxError{Kind: sandbox.Lost})
		}
		first = false
	})
	dir := t.TempDir()
	o := record.Options{RunID: "r", Now: time.Now, Subject: record.Subject{Repetitions: 1, Cases: []string{"one"}, Agents: []record.Agent{{Label: "agent-0"}}}}
	recorder, err := record.Create(taken(t, dir), o)
	if err != nil {
		t.Fatal(err)
	}
	h.taped(t, recorder, []provider.Client{recorder.Client(record.Agents, newHarness(h.pack, strings.Replace(writeAndSubmit, "default:",
		"default:\n  - tool_calls: [{name: write_file, arguments: {path: out.txt, content: lost}}]", 1)).clients[0])})
	if got := h.trials(t); len(got) != 2 || got[1].Outcome != "passed" {
		t.Fatalf("got %+v, want an invalid attempt and one that passed", got)
	}
	if _, missing, err := recorder.Finish(false); err != nil || missing != nil {
		t.Fatal(missing, err)
	}
	player, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	h.taped(t, player, []provider.Client{player.Client(record.Agents)})
	if got := h.trials(t); len(got) != 1 || got[0].Outcome != "passed" {
		t.Errorf("on replay: got %+v, want one attempt that passed", got)
	}
}
