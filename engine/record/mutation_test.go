package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// said is a model that answers everything alike.
type said struct{ provider.Response }

func (s said) Complete(context.Context, provider.Request, func(provider.Delta)) (provider.Response, error) {
	return s.Response, nil
}

func at1(agent, kase string) provider.Ref {
	return provider.Ref{Agent: agent, Case: kase, Repetition: 1, Attempt: 1}
}

// conversation is a request with something in every field.
func conversation() provider.Request {
	return provider.Request{
		Ref: at1("gpt", "fizz"), Model: "gpt-test-large",
		Messages: []provider.Message{
			{Role: provider.System, Content: "You are an agent of few words, \"quoted\" ones; ünïcode too."},
			{Role: provider.User, Content: "Write hello into notes.txt.\nThen say so."},
			{Role: provider.Assistant, Content: "I will.", ToolCalls: []provider.ToolCall{
				{ID: "call_xYz123", Name: "write_file", Arguments: json.RawMessage(`{"path":"notes.txt","content":"hello","lines":[1,25,3]}`)},
				{ID: "call_aBc456", Name: "list_files", Arguments: json.RawMessage(`{"path":"some/where","deep":true}`)},
			}},
			{Role: provider.ToolRole, Content: `{"bytes_written":5}`, ToolCallID: "call_xYz123"},
			{Role: provider.ToolRole, Content: `{"error":"there is no such directory"}`, ToolCallID: "call_aBc456", IsError: true},
			{Role: provider.User, Content: "Call submit when you have finished."},
		},
		Tools: []provider.Tool{
			{Name: "list_files", Description: "List files below a directory.", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","maxLength":4096}}}`)},
			{Name: "submit", Description: "Hand in the answer.", Parameters: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`)},
		},
		Sampling: provider.Sampling{Temperature: new(0.25), TopP: new(0.75), Seed: new(int64(123456)), Stop: []string{"STOP", "END"},
			MaxOutputTokens: 8192, ReasoningEffort: "medium"},
	}
}

// taken is a directory that was taken for a recording.
func taken(t *testing.T, dir string) *Claim {
	t.Helper()
	c, err := Take(dir, "the test", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	return c
}

// recorded is a recording of one call with a request.
func recorded(t *testing.T, req provider.Request) *Player {
	t.Helper()
	dir := t.TempDir() + "/tape"
	subject := Subject{Pack: "p", PackDigest: "d", Mode: "native", Repetitions: 1, Agents: []Agent{{Label: "gpt", Model: "openai/gpt-test"}}, Cases: []string{"fizz"}}
	r, err := Create(taken(t, dir), Options{Subject: subject, RunID: "run", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	reply := said{provider.Response{Text: "done", Finish: provider.FinishStop}}
	if _, err := r.Client(Agents, reply).Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.End(req.Ref, true); err != nil {
		t.Fatal(err)
	}
	if _, missing, err := r.Finish(false); err != nil || missing != nil {
		t.Fatal(missing, err)
	}
	p, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// spot is a text of a request in which a byte can be changed.
type spot struct {
	field string // that a miss names
	get   func() string
	set   func(string)
	whole bool // the JSON text of a value: what is named is in it
}

func text[T ~string](field string, at *T) spot {
	return spot{field: field, get: func() string { return string(*at) }, set: func(s string) { *at = T(s) }}
}

func rawText(field string, at *json.RawMessage) spot {
	return spot{field, func() string { return string(*at) }, func(s string) { *at = json.RawMessage(s) }, true}
}

func number[T any](field string, at *T) spot {
	s := spot{field: field}
	s.get = func() string { b, _ := json.Marshal(*at); return string(b) }
	s.set = func(text string) {
		var v T
		if json.Unmarshal([]byte(text), &v) == nil {
			*at = v
		}
	}
	return s
}

// spots are all places of a request that a model sees.
func spots(r *provider.Request) []spot {
	s := &r.Sampling
	list := []spot{
		text("model", &r.Model), number("sampling.temperature", s.Temperature), number("sampling.top_p", s.TopP), number("sampling.seed", s.Seed),
		number("sampling.max_output_tokens", &s.MaxOutputTokens), text("sampling.reasoning_effort", &s.ReasoningEffort),
		text("sampling.stop[0]", &s.Stop[0]), text("sampling.stop[1]", &s.Stop[1]),
	}
	for i := range r.Messages {
		m, field := &r.Messages[i], fmt.Sprintf("messages[%d]", i)
		list = append(list, text(field+".role", &m.Role), text(field+".content", &m.Content))
		if m.ToolCallID != "" {
			list = append(list, text(field+".tool_call_id", &m.ToolCallID))
		}
		for j := range m.ToolCalls {
			c, field := &m.ToolCalls[j], fmt.Sprintf("%s.tool_calls[%d]", field, j)
			list = append(list, text(field+".name", &c.Name), rawText(field+".arguments", &c.Arguments))
			// ids are random, so it is their use that is compared
			list = append(list, text(fmt.Sprintf("messages[%d].tool_call_id", i+1+j), &c.ID))
		}
	}
	for i := range r.Tools {
		d, field := &r.Tools[i], fmt.Sprintf("tools[%d]", i)
		list = append(list, text(field+".name", &d.Name), text(field+".description", &d.Description), rawText(field+".parameters", &d.Parameters))
	}
	return list
}

// TestMutations changes one byte of a request a thousand times. Each is a miss
// that names the field.
func TestMutations(t *testing.T) {
	t.Parallel()
	p := recorded(t, conversation())
	if _, err := p.Client(Agents).Complete(t.Context(), conversation(), nil); err != nil {
		t.Fatalf("the request itself: %v", err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	named := map[string]int{}
	for done := 0; done < 1000; {
		req := conversation()
		all := spots(&req)
		spot := all[random.IntN(len(all))]
		if !mutate(random, spot) {
			continue
		}
		done++
		if err := p.End(req.Ref, false); err != nil { // from the start again
			t.Fatal(err)
		}
		_, err := p.Client(Agents).Complete(t.Context(), req, nil)
		var miss *Miss
		if !errors.As(err, &miss) || miss.Differs == nil {
			t.Fatalf("%s is now %q: got %v, want a miss", spot.field, spot.get(), err)
		}
		if got := miss.Differs.Field; got != spot.field && (!spot.whole || !strings.HasPrefix(got, spot.field)) {
			t.Errorf("%s is now %q: the miss names %s", spot.field, spot.get(), got)
		}
		if miss.Differs.Recorded == miss.Differs.Now || !strings.Contains(miss.Nearest, "line 3 of trials/gpt/fizz.r1.jsonl") {
			t.Errorf("%s: the miss shows nothing: %v", spot.field, miss)
		}
		named[spot.field]++
	}
	req := conversation()
	for _, s := range spots(&req) {
		if named[s.field] == 0 {
			t.Errorf("%s was never changed", s.field)
		}
	}
}

// mutate changes one byte to another, and says whether what came of it means
// something else.
func mutate(random *rand.Rand, s spot) bool {
	was := s.get()
	b := []byte(was)
	i := random.IntN(len(b))
	b[i] = byte(32 + random.IntN(95))
	if string(b) == was || s.whole && !json.Valid(b) {
		return false
	}
	s.set(string(b))
	if s.get() == was {
		return false
	}
	if !s.whole {
		return !bytes.ContainsRune([]byte(s.get()), '\uFFFD')
	}
	var before, after bytes.Buffer
	return json.Compact(&before, []byte(was)) == nil && json.Compact(&after, b) == nil && before.String() != after.String()
}
