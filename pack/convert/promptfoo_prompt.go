package convert

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// prompt is one prompt of a config.
type prompt struct {
	text, label string
	vars        []string // that it is filled with
}

// maxPrompts bounds a config.
const maxPrompts = 100

// placeholder is a variable as both sides write it; braces is anything else that
// a template engine would look at.
var (
	placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z_][A-Za-z0-9_]*)*\s*\}\}`)
	braces      = regexp.MustCompile(`\{\{|\{%|\{#`)
)

// plainTemplate tells whether all that a template engine would do with a text is
// to fill in variables.
func plainTemplate(text string) bool {
	return !braces.MatchString(placeholder.ReplaceAllString(text, "")) && !strings.Contains(text, "{{{")
}

func (r *reader) prompts(n *yaml.Node) []prompt {
	var list []prompt
	for i, item := range itemsOf(n) {
		at := fmt.Sprintf("prompts[%d]", i)
		text, label := item.Value, ""
		if item.Kind == yaml.MappingNode {
			text, label = textAt(item, "raw"), textAt(item, "label")
			if text == "" {
				text = textAt(item, "id")
			}
		}
		if text == "" {
			r.lost(item, at, "it is no text")
			continue
		}
		texts, why := r.promptTexts(text)
		for _, t := range texts {
			if why = untranslatable(t); why != "" || len(list) == maxPrompts {
				break
			}
			p := prompt{text: t, label: label}
			for _, m := range placeholder.FindAllStringSubmatch(t, -1) {
				if !slices.Contains(p.vars, m[1]) {
					p.vars = append(p.vars, m[1])
				}
			}
			list = append(list, p)
		}
		if why != "" {
			r.lost(item, at, "%s", why)
		}
	}
	return list
}

// promptTexts are the prompts that a text stands for: itself, or those of a file.
func (r *reader) promptTexts(text string) (texts []string, why string) {
	name, isFile := strings.CutPrefix(text, "file://")
	if !isFile && (strings.ContainsAny(text, " \n{") || !slices.Contains([]string{".txt", ".md", ".json", ".js", ".py"}, path.Ext(text))) {
		return []string{text}, ""
	}
	if ext := path.Ext(name); ext != ".txt" && ext != ".md" {
		return nil, fmt.Sprintf("a prompt in a file is read of .txt and .md files: %s has no counterpart", clip(path.Base(name)))
	}
	if strings.ContainsAny(name, "*?[") || r.o.ReadFile == nil {
		return nil, "name each file of prompts"
	}
	raw, err := r.o.ReadFile(name)
	if err != nil {
		return nil, "the file cannot be read: " + clip(err.Error())
	}
	for part := range strings.SplitSeq("\n"+strings.ReplaceAll(string(raw), "\r\n", "\n")+"\n", "\n---\n") {
		if part = strings.TrimSpace(part); part != "" {
			texts = append(texts, part)
		}
	}
	return texts, ""
}

// untranslatable says why a prompt cannot be one of a pack.
func untranslatable(text string) string {
	var messages []struct{ Role string }
	switch {
	case !plainTemplate(text):
		return "the template does more than fill in {{variables}}"
	case json.Unmarshal([]byte(text), &messages) == nil && len(messages) > 0 && messages[0].Role != "":
		return "it is a list of chat messages: put the system message into a deployment (--system), and the rest into one text"
	case strings.TrimSpace(text) == "":
		return "it is empty"
	}
	return ""
}

// providers are said as models: what a pack is run on is no part of it.
func (r *reader) providers(n *yaml.Node) {
	for i, item := range itemsOf(n) {
		at := fmt.Sprintf("providers[%d]", i)
		id, config := item.Value, (*yaml.Node)(nil)
		if item.Kind == yaml.MappingNode {
			id, config = textAt(item, "id"), lookup(item, "config")
			if fields := fieldsOf(item); id == "" && len(fields) > 0 {
				id, config = fields[0].key.Value, lookup(fields[0].value, "config")
			}
		}
		model := modelOf(id)
		if model == "" {
			r.lost(item, at, "the provider %q has no counterpart: an endpoint or a program of your own can be a deployment", clip(id))
			continue
		}
		if config != nil {
			r.lost(config, at+".config", "settings of a model belong into a deployment: agentclash deployment create --model %s", model)
		}
		if !slices.Contains(r.models, model) {
			r.models = append(r.models, model)
		}
	}
}

// modelOf is a provider's id as provider/model, "" for none.
func modelOf(id string) string {
	head, rest, ok := strings.Cut(id, ":")
	provider := map[string]string{"openai": "openai", "anthropic": "anthropic", "google": "gemini", "mistral": "mistral",
		"xai": "xai", "openrouter": "openrouter", "ollama": "ollama"}[head]
	if !ok || provider == "" {
		return ""
	}
	kind, model, ok := strings.Cut(rest, ":")
	switch {
	case !ok || provider == "ollama" && kind != "chat" && kind != "completion":
		model = rest // a tag of ollama's is part of the name
	case !slices.Contains([]string{"chat", "messages", "responses", "completion"}, kind):
		return ""
	}
	if model == "" || strings.ContainsFunc(model, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }) ||
		slices.Contains([]string{"chat", "messages", "responses", "completion", "embedding", "image", "assistant"}, model) {
		return ""
	}
	return provider + "/" + model
}
