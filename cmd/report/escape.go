package report

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/cmd/view"
)

// breaker is a space of no width. It keeps a page from finding mentions,
// references and addresses in a text, which it looks for after it has read all
// escapes.
const breaker = "\u200b"

// inMarkdown is untrusted text for a Markdown page or a cell of its tables: on
// one line, of at most so many characters, and nothing but text: no markup, no
// HTML, no link, no mention, no reference to an issue.
func inMarkdown(text string, most int) string {
	text = strings.TrimSpace(view.SanitizeLine(text)) // a space in front would hide what begins a list
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '@' || r == '#':
			b.WriteString("&#" + strconv.Itoa(int(r)) + ";" + breaker)
		case r == ':' && strings.HasPrefix(text[i:], "://"), r == '.' && i >= 3 && strings.EqualFold(text[i-3:i], "www"):
			b.WriteString(breaker + "&#" + strconv.Itoa(int(r)) + ";" + breaker)
		case r == '-' && i >= 2 && strings.EqualFold(text[i-2:i], "gh"): // GH-12 is an issue
			b.WriteString(breaker + "-" + breaker)
		case r < utf8.RuneSelf && strings.ContainsRune("&<>\"'`*_{}[]()!|~$:\\^", r), i == 0 && strings.ContainsRune("+-=.", r), startsList(text, i):
			b.WriteString("&#" + strconv.Itoa(int(r)) + ";")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// startsList says whether the dot or bracket at i would make a list of a text
// that begins with a number.
func startsList(text string, i int) bool {
	return text[i] == '.' && strings.Trim(text[:i], "0123456789") == ""
}

// inCSV is untrusted text for a cell of a sheet: one that a spreadsheet would
// take for a formula begins with an apostrophe instead.
func inCSV(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\ufffd")
	head := strings.TrimLeft(text, " \t\r\n\u00a0\ufeff\u200b")
	if head == "" {
		return text
	}
	first, _ := utf8.DecodeRuneInString(head)
	if strings.ContainsRune("=+-@|%＝＋－＠", first) || strings.ContainsAny(text[:1], "\t\r\n") {
		return "'" + text
	}
	return text
}
