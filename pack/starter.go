package pack

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
)

//go:embed starter
var starterFiles embed.FS

// StarterTemplates returns the names that [Starter] knows, the default first.
func StarterTemplates() []string { return []string{PromptEval, Native, Responses, MultiTurn} }

// Starter returns the text of a pack to begin with: valid, in reading order,
// with several cases that expect different things. An empty name becomes
// "Starter Eval", an empty slug is made from the name.
func Starter(kind, name, slug string) (string, error) {
	text, err := starterFile(kind, ".yaml")
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(name) == "" {
		name = defaultName
	}
	if strings.TrimSpace(slug) == "" {
		slug = Slug(name)
	}
	if slug == "" {
		return "", fmt.Errorf("make a slug from %q: %w", clip(name), ErrNoSlug)
	}
	return strings.NewReplacer("@NAME@", yamlText(name), "@SLUG@", yamlText(slug), "@SPEC@", yamlText(slug+"-v1")).Replace(text), nil
}

// ErrNoSlug is the error of [Starter] for a name with nothing in it that a
// slug can be made of: the user has to give one.
var ErrNoSlug = errors.New("it has no letters a-z or digits; name a slug")

// StarterReference returns a scripted agent that passes the pack of the same
// template.
func StarterReference(kind string) (string, error) { return starterFile(kind, ".reference.yaml") }

func starterFile(kind, suffix string) (string, error) {
	b, err := starterFiles.ReadFile("starter/" + kind + suffix)
	if err != nil {
		return "", fmt.Errorf("find template %q: there are %s%s", clip(kind),
			strings.Join(StarterTemplates(), ", "), didYouMean(kind, StarterTemplates()))
	}
	return string(b), nil
}

const defaultName = "Starter Eval"

// StarterName makes a pack's name from the name of its file: the words of the
// base name without its extension, each with a capital.
func StarterName(file string) string {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	words := strings.FieldsFunc(base, func(r rune) bool { return r == '-' || r == '_' || r == ' ' })
	for i, w := range words {
		r := []rune(strings.ToLower(w))
		r[0] = unicode.ToUpper(r[0])
		words[i] = string(r)
	}
	if len(words) == 0 {
		return defaultName
	}
	return strings.Join(words, " ")
}

// Slug makes a slug from a name: a-z and 0-9 in lower case, everything else
// one dash. It is empty when nothing of the name is left.
func Slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return strings.Join(words, "-")
}

// yamlText writes text as a YAML scalar: as it is where that is safe, else in
// quotes.
func yamlText(text string) string {
	plain := func(r rune) bool {
		return r == ' ' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	// The first letter and the capitals keep it from reading as a number, a
	// date or one of YAML's words.
	if text == strings.TrimSpace(text) && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 && !ambiguous(text) {
		return text
	}
	b, err := json.Marshal(text)
	if err != nil {
		return `""` // a string always marshals
	}
	return string(b)
}

// ambiguous says whether YAML might read plain text as something else.
func ambiguous(text string) bool {
	switch strings.ToLower(text) {
	case "", "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return true
	}
	return !unicode.IsLetter(rune(text[0]))
}
