package provider

import (
	"context"
	"encoding/json"
	"time"
)

// Client makes calls to one provider. Implementations are safe for concurrent
// use, never retry, and never print.
type Client interface {
	// Complete makes one call and returns the whole reply. Pieces are handed
	// to onDelta (which may be nil) as they arrive, from the calling
	// goroutine. Every error is an *Error or wraps one.
	Complete(ctx context.Context, req Request, onDelta func(Delta)) (Response, error)
}

// Ref says on whose behalf a call is made. It never reaches a vendor; scripted
// replies are chosen by it, and names made for a call come from it.
type Ref struct {
	Agent      string
	Case       string
	Repetition int
	Attempt    int // 1 for the first
	Call       int // 0-based number of the provider call within the attempt, retries included
}

// Request is one call to one model.
type Request struct {
	Ref      Ref
	Model    string
	Messages []Message
	Tools    []Tool
	Sampling Sampling
	// Task is what an endpoint that is an agent is given of its case, as JSON
	// marshals it; models get messages only.
	Task any
	// Seed is the run's: what a script draws by chance goes by it. No server is
	// told of it; [Sampling.Seed] is theirs.
	Seed int64
}

// Sampling holds the optional knobs; nil and zero mean the provider's default.
type Sampling struct {
	Temperature     *float64 `json:"temperature,omitempty" yaml:"temperature,omitempty"`
	TopP            *float64 `json:"top_p,omitempty" yaml:"top_p,omitempty"`
	Seed            *int64   `json:"seed,omitempty" yaml:"seed,omitempty"`
	Stop            []string `json:"stop,omitempty" yaml:"stop,omitempty"`
	MaxOutputTokens int64    `json:"max_output_tokens,omitempty" yaml:"max_output_tokens,omitempty"`
	ReasoningEffort string   `json:"reasoning_effort,omitempty" yaml:"reasoning_effort,omitempty"`
}

// Role is who a message is from.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one turn of a conversation. ToolCalls belongs to Assistant
// messages, ToolCallID and IsError to ToolRole ones.
type Message struct {
	Role       Role       `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	IsError    bool       `json:"is_error,omitempty"`
	// State is the Response.State of the reply that an Assistant message was.
	// Messages are written down without it.
	State json.RawMessage `json:"-"`
}

// Forgetter is a Client that keeps something for each trial. Whoever runs
// trials calls Forget once a trial is over, with all its attempts; the Attempt
// and Call of ref do not matter.
type Forgetter interface {
	Forget(ref Ref)
}

// ToolCall is one call a model asked for. Arguments is always valid JSON, as
// [RawArguments] makes it: what the model sent when that was valid, or else a
// JSON string that holds the broken text, for the loop to report back. No tool
// takes a bare string, so the two are never confused.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Tool is a tool definition as a model sees it; Parameters is a JSON Schema.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Delta is a piece of a reply: text, or a sign that a tool call has begun.
type Delta struct {
	Text     string
	ToolName string
}

// FinishReason is why a model stopped, in one vocabulary for all vendors.
type FinishReason string

// The finish reasons.
const (
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishMaxTokens     FinishReason = "max_tokens"
	FinishContentFilter FinishReason = "content_filter"
	FinishOther         FinishReason = "other"
)

// Response is a whole reply.
type Response struct {
	Model     string // as the provider reports it
	Text      string
	ToolCalls []ToolCall
	Finish    FinishReason
	Usage     *Usage // nil: the provider reported none
	// State is what the provider must be shown again when the conversation goes
	// on, such as signed reasoning: opaque, of the adapter's own making, and
	// shown to nobody. Nil when there is none.
	State json.RawMessage
	// CostUSD is the cost that an endpoint reports of itself; models report none.
	CostUSD *float64
	// Note says what of the reply cannot be, and was left out; "" when nothing was.
	Note string
	// TTFT is the time from the request to the first piece of text or tool
	// call; Elapsed to the end. Scripted and recorded replies carry recorded
	// durations here, and Recorded is set.
	TTFT     time.Duration
	Elapsed  time.Duration
	Recorded bool
	// Cache is what a cache had to do with the reply; nil: nothing.
	Cache *CacheUse `json:"-"`
}

// CacheUse says whether a reply was taken from the cache. Then its durations and
// its usage are those of the call that was made for it at the time.
type CacheUse struct {
	Hit bool
	Key string
	Why string // it was not
}

// Cached says that the reply was taken from the cache: nothing was asked.
func (r Response) Cached() bool { return r.Cache != nil && r.Cache.Hit }

// Usage counts tokens. Input includes CacheRead and CacheWrite; Output
// includes Reasoning.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	Total      int64 `json:"total_tokens"`
	CacheRead  int64 `json:"cache_read_tokens,omitempty"`
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	Reasoning  int64 `json:"reasoning_tokens,omitempty"`
}
