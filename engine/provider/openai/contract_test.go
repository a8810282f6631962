package openai_test

import (
	"strconv"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/openai/openaitest"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

func TestContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		Provider: "loopback",
		New: func(t *testing.T, replies ...providertest.Reply) provider.Client {
			t.Helper()
			onWire := make([]openaitest.Reply, len(replies))
			for i, r := range replies {
				onWire[i] = wireReply(t, r)
			}
			return client(t, openaitest.New(t, onWire...), wire.Options{Provider: "loopback"})
		},
	})
}

// client makes a client of the server and closes it with the test.
func client(t *testing.T, s *openaitest.Server, o wire.Options) *openai.Client {
	t.Helper()
	o.BaseURL = s.URL
	c, err := openai.New(openai.Options{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func wireReply(t *testing.T, r providertest.Reply) openaitest.Reply {
	t.Helper()
	if r.Fail != nil {
		return wireFailure(t, *r.Fail)
	}
	out := openaitest.Reply{Pieces: r.Pieces, Finish: wireFinish(r.Finish)}
	for i, c := range r.Calls {
		out.ToolCalls = append(out.ToolCalls, openaitest.ToolCall{ID: "call_" + strconv.Itoa(i), Name: c.Name, Arguments: c.Arguments})
	}
	if r.Usage != nil {
		out.Usage = &openaitest.Usage{Prompt: r.Usage.Input, Completion: r.Usage.Output}
	}
	if r.Slow {
		out.StallAfter = 1
	}
	return out
}

func wireFinish(f provider.FinishReason) string {
	if f == provider.FinishMaxTokens {
		return "length"
	}
	return string(f)
}

func wireFailure(t *testing.T, f providertest.Failure) openaitest.Reply {
	t.Helper()
	const kind = "invalid_request_error"
	switch f.Code {
	case provider.Auth:
		return openaitest.Error(401, kind, "invalid_api_key", "Incorrect API key provided.")
	case provider.RateLimit:
		return openaitest.RateLimited(strconv.FormatFloat(f.RetryAfter.Seconds(), 'f', -1, 64))
	case provider.Timeout:
		return openaitest.Error(408, "timeout", "", "Request timed out.")
	case provider.Unavailable:
		return openaitest.Error(503, "server_error", "", "The engine is overloaded.")
	case provider.InvalidRequest:
		return openaitest.Error(400, kind, "unknown_parameter", "Unknown parameter: 'foo'.")
	case provider.UnknownModel:
		return openaitest.Error(404, kind, "model_not_found", "The model 'x' does not exist.")
	case provider.ContextLength:
		return openaitest.Error(400, kind, "context_length_exceeded", "This model's maximum context length is 8192 tokens.")
	case provider.ContentFilter:
		return openaitest.Error(400, kind, "content_filter", "The prompt was filtered.")
	case provider.MalformedResponse:
		return openaitest.Reply{Raw: []string{"data: {not json"}}
	default:
		t.Fatalf("no failure on the wire means %q", f.Code)
		return openaitest.Reply{}
	}
}
