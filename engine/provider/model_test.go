package provider_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
)

func TestParseModel(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"openai/gpt-4o":               {"openai", "gpt-4o"},
		"OpenAI/GPT-4o":               {"openai", "GPT-4o"},
		"anthropic/claude-sonnet-4-5": {"anthropic", "claude-sonnet-4-5"},
		"gemini/gemini-2.5-pro":       {"gemini", "gemini-2.5-pro"},
		"xai/grok-4":                  {"xai", "grok-4"},
		"mistral/codestral":           {"mistral", "codestral"},
		"openrouter/deepseek/chat":    {"openrouter", "deepseek/chat"},
		"ollama/llama3.2:3b":          {"ollama", "llama3.2:3b"},
		"scripted/dir/File.yaml":      {"scripted", "dir/File.yaml"},
		"scripted//tmp/File.yaml":     {"scripted", "/tmp/File.yaml"},
		"scripted/builtin:demo":       {"scripted", "builtin:demo"},
		"  openai/gpt-4o\n":           {"openai", "gpt-4o"},
		"gpt-4.1-mini":                {"openai", "gpt-4.1-mini"},
		"GPT-4o":                      {"openai", "GPT-4o"},
		"o1":                          {"openai", "o1"},
		"o3-mini":                     {"openai", "o3-mini"},
		"o4-mini":                     {"openai", "o4-mini"},
		"text-embedding-3":            {"openai", "text-embedding-3"},
		"claude-sonnet-4-5":           {"anthropic", "claude-sonnet-4-5"},
		"gemini-2.5-flash":            {"gemini", "gemini-2.5-flash"},
		"grok-4":                      {"xai", "grok-4"},
		"mistral-large":               {"mistral", "mistral-large"},
		"meta-llama/llama-3":          {"openrouter", "meta-llama/llama-3"},
		"gpt-oss/x":                   {"openrouter", "gpt-oss/x"},
		"moonshotai/kimi-k2/free":     {"openrouter", "moonshotai/kimi-k2/free"},
	} {
		p, m, err := provider.ParseModel(name)
		if err != nil || p != want[0] || m != want[1] {
			t.Errorf("%q: got %q, %q, %v; want %q", name, p, m, err, want)
		}
	}
}

func TestParseModelRefuses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                        "model name is empty; write provider/model",
		"  ":                      "model name is empty; write provider/model",
		"deepseek-chat":           `model "deepseek-chat": no provider goes by this name; write provider/model with one of openai, anthropic, gemini, xai, mistral, openrouter, ollama, scripted`,
		"chatgpt-4o":              `model "chatgpt-4o": no provider goes by this name; write provider/model with one of openai, anthropic, gemini, xai, mistral, openrouter, ollama, scripted`,
		"openai/":                 `model "openai/": no model after "openai/"`,
		"/gpt-4o":                 `model "/gpt-4o": write provider/model`,
		"vendor/":                 `model "vendor/": write provider/model`,
		"openai/a\x1b[31m":        `model "openai/a\x1b[31m": control characters are not allowed`,
		strings.Repeat("x", 5000): "model name of 5000 bytes: at most 4096 are allowed",
	} {
		p, m, err := provider.ParseModel(name)
		if err == nil || err.Error() != want {
			t.Errorf("%.40q: got %q, %q, %v; want %s", name, p, m, err, want)
		}
	}
}

// A model named in full means the same when it is parsed again.
func FuzzParseModel(f *testing.F) {
	for _, name := range []string{"gpt-4o", "openrouter/a/b", "a/b", "scripted/x.yaml", "OLLAMA/x", "/", "//"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p, m, err := provider.ParseModel(name)
		if err != nil {
			return
		}
		p2, m2, err := provider.ParseModel(p + "/" + m)
		if err != nil || p2 != p || m2 != m {
			t.Errorf("%q is %q %q, and %q is %q %q, %v", name, p, m, p+"/"+m, p2, m2, err)
		}
	})
}
