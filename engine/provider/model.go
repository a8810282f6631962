package provider

import (
	"fmt"
	"strings"
	"unicode"
)

// The providers whose names mean something in a model's name. That a name is
// known does not say that this build has an adapter for it.
const (
	OpenAI     = "openai"
	Anthropic  = "anthropic"
	Gemini     = "gemini"
	XAI        = "xai"
	Mistral    = "mistral"
	OpenRouter = "openrouter"
	Ollama     = "ollama"
	Scripted   = "scripted"
)

// Names lists the known providers, in a fixed order.
func Names() []string {
	return []string{OpenAI, Anthropic, Gemini, XAI, Mistral, OpenRouter, Ollama, Scripted}
}

// maxModelName bounds a model's name; scripted ones hold a file's path.
const maxModelName = 4096

// ParseModel says which provider a model's name means and what that provider
// calls the model. The rules, first match first:
//
//   - "provider/model" with a known provider, in any case, is that provider;
//   - a name without a slash goes by its prefix: claude- is anthropic; gpt-,
//     o1, o3, o4 and text-embedding are openai; gemini-, grok- and mistral-
//     are gemini, xai and mistral;
//   - any other name with a slash is an openrouter model, whole.
//
// Space around the name is dropped; what is left after the provider is kept as
// it was written.
func ParseModel(name string) (provider, model string, err error) {
	name = strings.TrimSpace(name)
	if err := checkModelName(name); err != nil {
		return "", "", err
	}
	head, rest, slashed := strings.Cut(name, "/")
	if !slashed {
		if p := providerByPrefix(name); p != "" {
			return p, name, nil
		}
		return "", "", fmt.Errorf("model %q: no provider goes by this name; write provider/model with one of %s",
			name, strings.Join(Names(), ", "))
	}
	for _, p := range Names() {
		if !strings.EqualFold(head, p) {
			continue
		}
		if rest == "" {
			return "", "", fmt.Errorf("model %q: no model after %q", name, head+"/")
		}
		return p, rest, nil
	}
	if head == "" || rest == "" {
		return "", "", fmt.Errorf("model %q: write provider/model", name)
	}
	return OpenRouter, name, nil
}

func checkModelName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("model name is empty; write provider/model")
	case len(name) > maxModelName:
		return fmt.Errorf("model name of %d bytes: at most %d are allowed", len(name), maxModelName)
	case strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("model %q: control characters are not allowed", name)
	}
	return nil
}

func providerByPrefix(name string) string {
	name = strings.ToLower(name)
	for _, row := range [...]struct{ prefix, provider string }{
		{"claude-", Anthropic},
		{"gpt-", OpenAI}, {"o1", OpenAI}, {"o3", OpenAI}, {"o4", OpenAI}, {"text-embedding", OpenAI},
		{"gemini-", Gemini}, {"grok-", XAI}, {"mistral-", Mistral},
	} {
		if strings.HasPrefix(name, row.prefix) {
			return row.provider
		}
	}
	return ""
}

// CheckAlso says what is wrong with another model of a program at a vendor: that its
// name begins with a provider's. A server of the user's own has whatever names it
// likes, and openrouter and ollama have such ones.
func CheckAlso(vendor, name string) error {
	switch vendor {
	case OpenAI, Anthropic, Gemini, XAI, Mistral:
	default:
		return nil
	}
	head, rest, slashed := strings.Cut(name, "/")
	if !slashed {
		return nil
	}
	for _, key := range Names() {
		switch {
		case !strings.EqualFold(head, key):
		case key == vendor:
			return fmt.Errorf("model %q: the provider is known already: write %s", name, rest)
		default:
			return fmt.Errorf("model %q: a program's models are of one provider, here %s; make a deployment for the other", name, vendor)
		}
	}
	return nil
}
