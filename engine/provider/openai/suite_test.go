package openai_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/providertest"
	"github.com/agentclash/agentclash/engine/provider/vendortest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

func TestSuite(t *testing.T) {
	chat := func(o wire.Options) (provider.Client, error) { return openai.New(openai.Options{Options: o}) }
	for name, s := range map[string]vendortest.Subject{
		"openai":     {Dialect: vendortest.Chat(provider.OpenAI), New: chat},
		"xai":        {Dialect: vendortest.XAI(), New: chat},
		"mistral":    {Dialect: vendortest.Mistral(), New: chat},
		"openrouter": {Dialect: vendortest.OpenRouter(), New: chat},
		"ollama":     {Dialect: vendortest.Ollama(), New: chat},
		"responses":  {Dialect: vendortest.Responses(), New: func(o wire.Options) (provider.Client, error) { return openai.NewResponses(o) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			vendortest.Run(t, s)
		})
	}
}

func TestResponsesOnTheWire(t *testing.T) {
	t.Parallel()
	s := vendortest.Subject{Dialect: vendortest.Responses(), New: func(o wire.Options) (provider.Client, error) { return openai.NewResponses(o) }}
	vendortest.Golden(t, s, vendortest.FullRequest(), "responses.golden.json", *update)
}

// Reasoning is asked for where it can be shown again: other models refuse it.
func TestReasoningIsAskedForWhereThereIsSome(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{"gpt-4.1": false, "gpt-4o-mini": false, "llama3": false, "o3-mini": true, "gpt-5.1": true, "openai/o4-mini": true, "olmo": false} {
		server := vendortest.New(t, vendortest.Responses(), vendortest.Text("ok"))
		c, err := openai.NewResponses(wire.Options{BaseURL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		req := providertest.Ask(t)
		req.Model = model
		if _, err := c.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(server.Requests()[0].Body), "reasoning.encrypted_content"); got != want {
			t.Errorf("%s: got %v, want %v", model, got, want)
		}
	}
}

func TestResponsesCannotBeSent(t *testing.T) {
	t.Parallel()
	server := vendortest.New(t, vendortest.Responses(), vendortest.Text("ok"))
	c, err := openai.NewResponses(wire.Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*provider.Request){
		"has no seed":           func(r *provider.Request) { r.Sampling.Seed = new(int64(1)) },
		"has no stop sequences": func(r *provider.Request) { r.Sampling.Stop = []string{"x"} },
		"no model":              func(r *provider.Request) { r.Model = "" },
	} {
		req := providertest.Ask(t)
		change(&req)
		if _, err := c.Complete(t.Context(), req, nil); provider.CodeOf(err) != provider.InvalidRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want it to say %q", err, want)
		}
	}
	if n := len(server.Requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// Items that come whole, as some servers send them.
func TestWholeItems(t *testing.T) {
	t.Parallel()
	raw := []string{
		`data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"look"}]}}` + "\n\n",
		`data: {"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"a\":1}"}}` + "\n\n",
		`data: {"type":"response.completed","response":{"status":"completed","usage":{"prompt_tokens":3,"completion_tokens":2}}}` + "\n\n",
	}
	c, err := openai.NewResponses(wire.Options{BaseURL: vendortest.New(t, vendortest.Responses(), vendortest.Reply{Raw: raw}).URL})
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Complete(t.Context(), providertest.Ask(t), nil)
	if err != nil || res.Text != "look" || len(res.ToolCalls) != 1 || string(res.ToolCalls[0].Arguments) != `{"a":1}` || res.Finish != provider.FinishToolCalls || res.Usage.Total != 5 {
		t.Errorf("got %+v, %v", res, err)
	}
}
