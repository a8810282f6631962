package openai_test

import (
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
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
