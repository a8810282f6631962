package agents

import (
	"net/http"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/anthropic"
	"github.com/agentclash/agentclash/engine/provider/endpoint"
	"github.com/agentclash/agentclash/engine/provider/gemini"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/scripted"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

// server is a provider of models, and how it is to be asked.
type server struct {
	Provider string
	baseURL  string
	KeyVar   string // environment variable of its key; "" when it needs none
	api      string // of OpenAI's protocol: an engine.API, "" for chat
	research bool   // a response in the background, for responses packs
	noCache  bool   // of prompts, where they would be cached
}

// Servers are the providers whose address this version knows.
func Servers() []server {
	var list []server
	for _, e := range openai.Endpoints() {
		list = append(list, server{Provider: e.Provider, baseURL: e.BaseURL, KeyVar: e.KeyVar})
	}
	return append(list,
		server{Provider: provider.Anthropic, baseURL: anthropic.BaseURL, KeyVar: anthropic.KeyVar},
		server{Provider: provider.Gemini, baseURL: gemini.BaseURL, KeyVar: gemini.KeyVar})
}

func newEndpointClient(url string, headers map[string]string, secrets []string) (provider.Client, error) {
	return endpoint.New(endpoint.Options{URL: url, Headers: headers, Secrets: secrets, Proxy: http.ProxyFromEnvironment})
}

// checkEndpoint reads an endpoint's address and the names of its headers, and
// returns the address without what does not tell endpoints apart.
func checkEndpoint(url string, headers map[string]string) (at string, errs []error) {
	u, err := endpoint.ParseURL(url)
	if err != nil {
		errs = append(errs, err)
	} else {
		at = u.Host + u.Path
	}
	for name := range headers {
		if err := endpoint.CheckHeader(name); err != nil {
			errs = append(errs, err)
		}
	}
	return at, errs
}

func newServerClient(s server, key string) (provider.Client, error) {
	o := wire.Options{Provider: s.Provider, BaseURL: s.baseURL, Key: key, Proxy: http.ProxyFromEnvironment}
	switch {
	case s.Provider == provider.Anthropic:
		return anthropic.New(anthropic.Options{Options: o, NoPromptCache: s.noCache})
	case s.Provider == provider.Gemini:
		return gemini.New(o)
	case s.research:
		return openai.NewResearch(openai.ResearchOptions{Options: o})
	case s.api == plan.APIResponses:
		return openai.NewResponses(o)
	}
	return openai.New(openai.Options{Options: o})
}

// NewScriptClient makes the client that gives a script's replies; name stands in its
// errors.
func NewScriptClient(name string, src []byte) (provider.Client, error) {
	script, err := scripted.Load(name, src)
	if err != nil {
		return nil, err
	}
	return scripted.New(script), nil
}

// newScriptJudge is the judge of a script: its judges list.
func newScriptJudge(name string, src []byte) (provider.Client, error) {
	script, err := scripted.Load(name, src)
	if err != nil {
		return nil, err
	}
	return scripted.NewJudge(script), nil
}

// NewScriptUser is the simulated user of a script: its simulators list.
func NewScriptUser(name string, src []byte) (provider.Client, error) {
	script, err := scripted.Load(name, src)
	if err != nil {
		return nil, err
	}
	return scripted.NewSimulator(script), nil
}

// httpProvider is what an endpoint's answers are said to be of.
const httpProvider = endpoint.Name
