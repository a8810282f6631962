package scoring

import (
	"slices"
	"strings"
	"unicode"
)

// ModelProviders are the providers whose names may stand before the slash of a
// model's name. Whoever calls models must know the same ones.
func ModelProviders() []string {
	return []string{"openai", "anthropic", "gemini", "xai", "mistral", "openrouter", "ollama", "scripted"}
}

// maxModelName bounds a model's name; some hold the path of a file.
const maxModelName = 4096

// ModelProvider says which provider a model's name means, and whether it means
// any: "provider/model" is that provider when it is a known one; a name
// without a slash goes by how it begins; any other name with a slash is a
// model of openrouter. Case and space around the name do not matter.
func ModelProvider(name string) (provider string, ok bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	if len(name) > maxModelName || strings.ContainsFunc(name, unicode.IsControl) {
		return "", false
	}
	head, rest, slashed := strings.Cut(name, "/")
	switch {
	case !slashed:
		return providerByPrefix(name)
	case head == "" || rest == "":
		return "", false
	case slices.Contains(ModelProviders(), head):
		return head, true
	}
	return "openrouter", true
}

func providerByPrefix(name string) (string, bool) {
	for _, row := range [...]struct{ prefix, provider string }{
		{"claude-", "anthropic"},
		{"gpt-", "openai"}, {"o1", "openai"}, {"o3", "openai"}, {"o4", "openai"}, {"text-embedding", "openai"},
		{"gemini-", "gemini"}, {"grok-", "xai"}, {"mistral-", "mistral"},
	} {
		if strings.HasPrefix(name, row.prefix) {
			return row.provider, true
		}
	}
	return "", false
}
