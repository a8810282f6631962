package template

import "strings"

// PartKind says what a piece of a tool's text is.
type PartKind int

// The kinds of parts.
const (
	Literal    PartKind = iota // stands for itself
	Parameter                  // ${name} or ${name.member}: an argument of the call
	Parameters                 // ${parameters}: all arguments of the call
	Secret                     // ${secrets.NAME}
	Malformed                  // a ${ without an end, or with nothing in it
)

// Part is a piece of a text in a composed tool's args or a mock's template.
type Part struct {
	Kind     PartKind
	Text     string   // as it is written, ${ and } included
	Encoding string   // "json", "query", "path", or "" for none
	Path     []string // of a Parameter: its name, then the members on the way down
	Name     string   // of a Secret
}

// Parse cuts a text at its ${...} placeholders. The Texts of the parts, one
// after the other, are the text.
//
// A placeholder ends at the first }, and there is no escape: what looks like
// one is one. Whether a parameter exists is for its tool to say.
func Parse(text string) []Part {
	var parts []Part
	for text != "" {
		start := strings.Index(text, "${")
		if start < 0 {
			return append(parts, Part{Text: text})
		}
		if start > 0 {
			parts = append(parts, Part{Text: text[:start]})
			text = text[start:]
		}
		end := strings.IndexByte(text, '}')
		if end < 0 {
			return append(parts, Part{Kind: Malformed, Text: text})
		}
		parts = append(parts, placeholder(text[:end+1]))
		text = text[end+1:]
	}
	return parts
}

// Encodings returns the ways a placeholder may write its value: ${json:name}.
func Encodings() []string { return []string{"json", "query", "path"} }

func placeholder(text string) Part {
	p := Part{Text: text}
	inside := strings.TrimSuffix(strings.TrimPrefix(text, "${"), "}")
	for _, encoding := range Encodings() {
		if rest, ok := strings.CutPrefix(inside, encoding+":"); ok {
			p.Encoding, inside = encoding, rest
			break
		}
	}
	secret, isSecret := strings.CutPrefix(inside, "secrets.")
	switch {
	case strings.TrimSpace(inside) == "":
		p.Kind = Malformed
	case inside == "parameters":
		p.Kind = Parameters
	case isSecret && strings.TrimSpace(secret) != "":
		p.Kind, p.Name = Secret, secret
	default:
		p.Kind, p.Path = Parameter, strings.Split(inside, ".")
	}
	return p
}
