package cmd

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
)

// inBraces is a word in braces, with what stands before it: after a dollar sign it
// is a variable of a shell.
var inBraces = regexp.MustCompile(`\$?\{[A-Za-z_-]{1,20}\}`)

// misspelled finds what looks like a placeholder in a word of a command, and is one
// slip away from it: a letter more, less or other, or two that changed places.
func misspelled(word string) (found, meant string) {
	known := []string{plan.TaskText, plan.TaskFile, plan.AgentDir}
	for _, found := range inBraces.FindAllString(word, -1) {
		for _, meant := range known {
			if found != meant && found[0] == '{' && slipped(found, meant) {
				return found, meant
			}
		}
	}
	return "", ""
}

func slipped(a, b string) bool {
	if levenshtein.ComputeDistance(strings.ToLower(a), b) <= 1 {
		return true
	}
	for i := range len(a) - 1 {
		if a[:i]+a[i+1:i+2]+a[i:i+1]+a[i+2:] == b {
			return true
		}
	}
	return false
}

// elsewhere says what is wrong with another model of a program at a vendor: that its
// name begins with a provider's. A server of the user's own has whatever names it
// likes, and openrouter and ollama have such ones.
func elsewhere(model, vendor, name string) error {
	switch vendor {
	case provider.OpenAI, provider.Anthropic, provider.Gemini, provider.XAI, provider.Mistral:
	default:
		return nil
	}
	head, rest, slashed := strings.Cut(name, "/")
	if !slashed {
		return nil
	}
	for _, key := range provider.Names() {
		switch {
		case !strings.EqualFold(head, key):
		case key == vendor:
			return fmt.Errorf("--also-model %s: the provider is known from --model: write %s", name, rest)
		default:
			return fmt.Errorf("--also-model %s: a program's models are of one provider, and --model %s is of %s; make a deployment for the other", name, model, vendor)
		}
	}
	return nil
}
