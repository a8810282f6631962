package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/provider"
)

// Subject is an adapter under test.
type Subject struct {
	// Provider is the name its errors carry.
	Provider string
	// New returns a client whose calls are answered by the replies, in order,
	// the last repeating. Several calls may be made at once.
	New func(t *testing.T, replies ...Reply) provider.Client
	// Recorded clients answer from a script or a recording: their durations are
	// what is recorded, 0 here.
	Recorded bool
}

// Reply is what the other side answers one call with.
type Reply struct {
	Pieces []string // of text; a side that cannot split joins them
	Calls  []Call
	Finish provider.FinishReason // "" is tool_calls with Calls, else stop
	Usage  *provider.Usage       // Input and Output only; nil reports none
	Fail   *Failure              // instead of all of the above
	// Slow makes the call last until it is cancelled, or for a minute.
	Slow bool
}

// Call is one tool call; Arguments is the text the model sends.
type Call struct {
	Name, Arguments string
}

// Failure is a failed call. The other side fails in the way that means Code to
// it; RetryAfter, when it is not 0, is what it asks to wait.
type Failure struct {
	Code       provider.Code
	RetryAfter time.Duration
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Run("Text", s.text)
	t.Run("ToolCalls", s.toolCalls)
	t.Run("FinishReasons", s.finishReasons)
	t.Run("Usage", s.usage)
	t.Run("Durations", s.durations)
	t.Run("Failures", s.failures)
	t.Run("Cancellation", s.cancellation)
	t.Run("Deadline", s.deadline)
	t.Run("Concurrency", s.concurrency)
	t.Run("RequestIsNotChanged", s.requestUnchanged)
}

// Ask is a request with a system and a user message and one tool, on behalf of
// a trial named for the test.
func Ask(t *testing.T) provider.Request {
	t.Helper()
	return provider.Request{
		Ref:   provider.Ref{Agent: "a", Case: t.Name(), Repetition: 1, Attempt: 1},
		Model: "model-under-test",
		Messages: []provider.Message{
			{Role: provider.System, Content: "Be brief."},
			{Role: provider.User, Content: "What is 2+2?"},
		},
		Tools: []provider.Tool{{Name: "submit", Description: "Ends the task.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}}}`)}},
	}
}

// complete makes one call and fails the test when it does not succeed.
func complete(t *testing.T, c provider.Client, onDelta func(provider.Delta)) provider.Response {
	t.Helper()
	res, err := c.Complete(t.Context(), Ask(t), onDelta)
	if err != nil {
		t.Fatalf("call failed: %v", err)
	}
	return res
}

func (s Subject) text(t *testing.T) {
	for name, pieces := range map[string][]string{
		"one piece":   {"4"},
		"many pieces": {"The ", "answer", " is ", "4.", "\n"},
		"not ASCII":   {"naïve ", "日本", " 🙂\t\"quoted\" \\ </script>"},
		"nothing":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.New(t, Reply{Pieces: pieces})
			var heard strings.Builder
			res := complete(t, c, func(d provider.Delta) { heard.WriteString(d.Text) })
			want := strings.Join(pieces, "")
			if res.Text != want {
				t.Errorf("got text %q, want %q", res.Text, want)
			}
			if heard.String() != want {
				t.Errorf("got pieces that make %q, want %q", heard.String(), want)
			}
			if len(res.ToolCalls) != 0 || res.Finish != provider.FinishStop {
				t.Errorf("got %d tool calls and finish %q, want none and stop", len(res.ToolCalls), res.Finish)
			}
			if res.Model == "" {
				t.Error("got no model")
			}
			if again := complete(t, c, nil); again.Text != want {
				t.Errorf("with no delta function: got text %q, want %q", again.Text, want)
			}
		})
	}
}

func (s Subject) toolCalls(t *testing.T) {
	for name, test := range map[string]struct {
		calls []Call
		want  []string // arguments
	}{
		"one":          {[]Call{{"submit", `{"answer":"4"}`}}, []string{`{"answer":"4"}`}},
		"several":      {[]Call{{"read_file", `{"path":"a"}`}, {"read_file", `{"path":"b"}`}, {"submit", `{}`}}, []string{`{"path":"a"}`, `{"path":"b"}`, `{}`}},
		"no arguments": {[]Call{{"submit", ""}}, []string{`{}`}},
		"broken":       {[]Call{{"submit", `{"answer":`}}, []string{`"{\"answer\":"`}},
		"nested, not ASCII": {[]Call{{"submit", `{"answer":{"a":[1,2.5,null,true,"日本 🙂"]}}`}},
			[]string{`{"answer":{"a":[1,2.5,null,true,"日本 🙂"]}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := s.New(t, Reply{Pieces: []string{"let me see"}, Calls: test.calls})
			var began []string
			res := complete(t, c, func(d provider.Delta) {
				if d.ToolName != "" {
					began = append(began, d.ToolName)
				}
			})
			ids := map[string]bool{}
			var names, arguments, wantNames []string
			for _, call := range res.ToolCalls {
				names, arguments = append(names, call.Name), append(arguments, compact(t, call.Arguments))
				ids[call.ID] = true
			}
			for _, call := range test.calls {
				wantNames = append(wantNames, call.Name)
			}
			if diff := cmp.Diff(wantNames, names); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.want, arguments); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantNames, began); diff != "" {
				t.Errorf("announced (-want +got):\n%s", diff)
			}
			if len(ids) != len(test.calls) || ids[""] {
				t.Errorf("got ids %v, want %d different ones", ids, len(test.calls))
			}
			if res.Finish != provider.FinishToolCalls || res.Text != "let me see" {
				t.Errorf("got finish %q and text %q", res.Finish, res.Text)
			}
		})
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("arguments %q are not JSON: %v", raw, err)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func (s Subject) finishReasons(t *testing.T) {
	for _, want := range []provider.FinishReason{provider.FinishStop, provider.FinishMaxTokens, provider.FinishContentFilter} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			res := complete(t, s.New(t, Reply{Pieces: []string{"so far"}, Finish: want}), nil)
			if res.Finish != want {
				t.Errorf("got %q, want %q", res.Finish, want)
			}
			if res.Text != "so far" {
				t.Errorf("got text %q, want what came", res.Text)
			}
		})
	}
}

func (s Subject) usage(t *testing.T) {
	t.Run("reported", func(t *testing.T) {
		t.Parallel()
		res := complete(t, s.New(t, Reply{Pieces: []string{"4"}, Usage: &provider.Usage{Input: 12, Output: 3}}), nil)
		if diff := cmp.Diff(&provider.Usage{Input: 12, Output: 3, Total: 15}, res.Usage); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
	})
	t.Run("not reported", func(t *testing.T) {
		t.Parallel()
		if res := complete(t, s.New(t, Reply{Pieces: []string{"4"}}), nil); res.Usage != nil {
			t.Errorf("got %+v, want nil: unknown is not zero", *res.Usage)
		}
	})
}

func (s Subject) durations(t *testing.T) {
	t.Parallel()
	res := complete(t, s.New(t, Reply{Pieces: []string{"4"}}), nil)
	if res.Recorded != s.Recorded {
		t.Errorf("got Recorded %v, want %v", res.Recorded, s.Recorded)
	}
	if s.Recorded {
		if res.TTFT != 0 || res.Elapsed != 0 {
			t.Errorf("got %v and %v, want the recorded 0", res.TTFT, res.Elapsed)
		}
		return
	}
	if res.TTFT <= 0 || res.Elapsed < res.TTFT {
		t.Errorf("got first piece after %v of %v", res.TTFT, res.Elapsed)
	}
}

func (s Subject) failures(t *testing.T) {
	for _, code := range provider.Codes() {
		if code == provider.Cancelled {
			continue // the caller's doing, and never a provider's
		}
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			c := s.New(t, Reply{Fail: &Failure{Code: code}}, Reply{Pieces: []string{"fine"}})
			_, err := c.Complete(t.Context(), Ask(t), nil)
			s.checkError(t, err, code)
			if res := complete(t, c, nil); res.Text != "fine" {
				t.Errorf("the next call: got %q, want its own reply", res.Text)
			}
		})
	}
	t.Run("retry after", func(t *testing.T) {
		t.Parallel()
		c := s.New(t, Reply{Fail: &Failure{Code: provider.RateLimit, RetryAfter: 1500 * time.Millisecond}})
		_, err := c.Complete(t.Context(), Ask(t), nil)
		s.checkError(t, err, provider.RateLimit)
		var e *provider.Error
		if errors.As(err, &e) && e.RetryAfter != 1500*time.Millisecond {
			t.Errorf("got %v, want 1.5s", e.RetryAfter)
		}
	})
}

func (s Subject) checkError(t *testing.T, err error, want provider.Code) {
	t.Helper()
	var e *provider.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *provider.Error", err)
	}
	if e.Code != want {
		t.Errorf("got code %q (%v), want %q", e.Code, e, want)
	}
	if e.Provider != s.Provider {
		t.Errorf("got provider %q, want %q", e.Provider, s.Provider)
	}
	if e.FromRecording != s.Recorded && want != provider.Cancelled && want != provider.Timeout {
		t.Errorf("got FromRecording %v, want %v", e.FromRecording, s.Recorded)
	}
}

var errStopped = errors.New("the run was stopped")

func (s Subject) cancellation(t *testing.T) {
	t.Parallel()
	c := s.New(t, Reply{Slow: true})
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(errStopped) })
	start := time.Now()
	_, err := c.Complete(ctx, Ask(t), nil)
	s.checkError(t, err, provider.Cancelled)
	if !errors.Is(err, errStopped) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's cause and error in its chain", err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("cancelling took %v", took)
	}
}

func (s Subject) deadline(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	_, err := s.New(t, Reply{Slow: true}).Complete(ctx, Ask(t), nil)
	s.checkError(t, err, provider.Timeout)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline in its chain", err)
	}
}

func (s Subject) concurrency(t *testing.T) {
	t.Parallel()
	const trials, calls = 8, 5
	c := s.New(t, Reply{Pieces: []string{"a", "b", "c"}, Calls: []Call{{"submit", `{"answer":"4"}`}}})
	failures := make(chan error, trials*calls)
	var wg sync.WaitGroup
	for i := range trials {
		req := Ask(t)
		req.Ref.Repetition = i + 1
		wg.Go(func() {
			for n := range calls {
				req.Ref.Call = n
				var heard strings.Builder
				res, err := c.Complete(t.Context(), req, func(d provider.Delta) { heard.WriteString(d.Text) })
				if err == nil && (res.Text != "abc" || heard.String() != "abc" || len(res.ToolCalls) != 1) {
					err = fmt.Errorf("got %q in pieces %q and %d calls", res.Text, heard.String(), len(res.ToolCalls))
				}
				if err != nil {
					failures <- err
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
}

func (s Subject) requestUnchanged(t *testing.T) {
	t.Parallel()
	req := askAgain(t)
	if _, err := s.New(t, Reply{Pieces: []string{"4"}}).Complete(t.Context(), req, nil); err != nil {
		t.Fatalf("call failed: %v", err)
	}
	if diff := cmp.Diff(askAgain(t), req); diff != "" {
		t.Errorf("the request was changed (-before +after):\n%s", diff)
	}
}

// askAgain is the second request of a conversation whose first reply was broken.
func askAgain(t *testing.T) provider.Request {
	t.Helper()
	req := Ask(t)
	req.Messages = append(req.Messages,
		provider.Message{Role: provider.Assistant, ToolCalls: []provider.ToolCall{
			{ID: "1", Name: "submit", Arguments: provider.RawArguments("{broken")}}},
		provider.Message{Role: provider.ToolRole, ToolCallID: "1", Content: "arguments are not JSON", IsError: true})
	return req
}
