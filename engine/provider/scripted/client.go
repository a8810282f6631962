package scripted

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
)

// Client answers calls from a script. It is safe for concurrent use and keeps
// the positions of a trial until [Client.Forget].
type Client struct {
	script *Script
	book   *book
	role   string

	mu     sync.Mutex
	trials map[trialKey]*trial
}

var (
	_ provider.Client      = (*Client)(nil)
	_ provider.Forgetter   = (*Client)(nil)
	_ provider.Prerecorded = (*Client)(nil)
)

// New returns the model under test of a script: its cases and default.
func New(s *Script) *Client { return newClient(s, &s.agent, "model") }

// NewJudge returns the judge of a script, which reads its judges list.
func NewJudge(s *Script) *Client { return newClient(s, &s.judges, "judge") }

// NewSimulator returns the simulated user of a script, which reads its
// simulators list.
func NewSimulator(s *Script) *Client { return newClient(s, &s.simulators, "simulator") }

func newClient(s *Script, b *book, role string) *Client {
	return &Client{script: s, book: b, role: role, trials: map[trialKey]*trial{}}
}

// trialKey is what a position belongs to. Attempts of a trial share it.
type trialKey struct {
	agent, caseKey string
	repetition     int
}

// trial is where a trial stands in the lists it has used, nearly always one.
type trial struct {
	calls int
	seats []seat
}

type seat struct {
	entry *entry
	next  int
}

func keyOf(ref provider.Ref) trialKey {
	return trialKey{agent: ref.Agent, caseKey: ref.Case, repetition: ref.Repetition}
}

// Forget drops the positions of a trial that is over; a call made for it
// afterwards starts at the beginning.
func (c *Client) Forget(ref provider.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.trials, keyOf(ref))
}

// Prerecorded says that no server stands behind the client.
func (c *Client) Prerecorded() {}

// Forecast is what the trial's next reply uses: nothing when it does not say, or
// fails.
func (c *Client) Forecast(req provider.Request) provider.Usage {
	found := c.book.find(req)
	if found == nil {
		return provider.Usage{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := 0
	if t := c.trials[keyOf(req.Ref)]; t != nil {
		at = t.place(found)
	}
	if at >= len(found.replies) {
		at = len(found.replies) - 1
	}
	if r := found.replies[at]; r.fail == nil && r.usage != nil {
		return *r.usage
	}
	return provider.Usage{}
}

// Complete gives the next reply of the trial's list. It waits for the reply's
// delay_ms, and reports just that as the call's duration.
func (c *Client) Complete(ctx context.Context, req provider.Request, onDelta func(provider.Delta)) (provider.Response, error) {
	if ended := provider.FromContext(ctx, provider.Scripted); ended != nil {
		return provider.Response{}, ended
	}
	r, call, err := c.next(req)
	if err != nil {
		return provider.Response{}, err
	}
	if ended := wait(ctx, r.delay); ended != nil {
		return provider.Response{}, ended
	}
	if r.fail != nil {
		return provider.Response{}, &provider.Error{Provider: provider.Scripted, Code: r.fail.code,
			Message: r.fail.message, RetryAfter: r.fail.retryAfter, FromRecording: true, Recorded: r.delay}
	}
	res := r.response(req, call)
	if onDelta != nil {
		tell(res, onDelta)
	}
	return res, nil
}

// next takes the trial's next reply, and numbers the trial's calls from 1.
func (c *Client) next(req provider.Request) (reply, int, error) {
	found := c.book.find(req)
	if found == nil {
		return reply{}, 0, c.refused("no replies for case %q: neither an entry of its own nor a default", req.Ref.Case)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := keyOf(req.Ref)
	t := c.trials[key]
	if t == nil {
		t = &trial{}
		c.trials[key] = t
	}
	t.calls++
	at := t.take(found)
	if at >= len(found.replies) {
		if found.endError {
			return reply{}, 0, c.refused("out of replies for case %q after %d (end: error)", req.Ref.Case, len(found.replies))
		}
		at = len(found.replies) - 1
	}
	return found.replies[at], t.calls, nil
}

// place is the trial's position in an entry's list.
func (t *trial) place(e *entry) int {
	for _, s := range t.seats {
		if s.entry == e {
			return s.next
		}
	}
	return 0
}

// take returns the trial's position in an entry's list and moves on.
func (t *trial) take(e *entry) int {
	for i := range t.seats {
		if t.seats[i].entry == e {
			t.seats[i].next++
			return t.seats[i].next - 1
		}
	}
	t.seats = append(t.seats, seat{entry: e, next: 1})
	return 0
}

// refused is the script's author's mistake: no retry and no other trial mends
// it.
func (c *Client) refused(format string, args ...any) error {
	return &provider.Error{Provider: provider.Scripted, Code: provider.InvalidRequest, FromRecording: true,
		Message: fmt.Sprintf("script %q, %s: ", c.script.name, c.role) + fmt.Sprintf(format, args...)}
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return provider.FromContext(ctx, provider.Scripted)
	case <-timer.C:
		return nil
	}
}

// response builds what the caller gets, sharing nothing with the script that
// could be changed.
func (r reply) response(req provider.Request, call int) provider.Response {
	res := provider.Response{Model: req.Model, Text: r.text, Finish: r.finish,
		TTFT: r.delay, Elapsed: r.delay, Recorded: true}
	if r.echo {
		res.Text = lastUser(req.Messages)
	}
	if r.usage != nil {
		res.Usage = new(*r.usage)
	}
	for i, tc := range r.calls {
		res.ToolCalls = append(res.ToolCalls, provider.ToolCall{
			ID: fmt.Sprintf("call_%d_%d", call, i+1), Name: tc.name, Arguments: bytes.Clone(tc.arguments)})
	}
	return res
}

func lastUser(messages []provider.Message) string {
	for i := len(messages); i > 0; i-- {
		if messages[i-1].Role == provider.User {
			return messages[i-1].Content
		}
	}
	return ""
}

func tell(res provider.Response, onDelta func(provider.Delta)) {
	if res.Text != "" {
		onDelta(provider.Delta{Text: res.Text})
	}
	for _, tc := range res.ToolCalls {
		onDelta(provider.Delta{ToolName: tc.Name})
	}
}
