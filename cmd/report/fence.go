package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fenced is untrusted text as a block of a Markdown page that shows it as it is: its
// fence is longer than any run of backticks in it. At most so many bytes are shown,
// and what is left out is said in its last line.
func fenced(info, text string, most int) string {
	text, left := cutText(strings.TrimRight(text, "\n"), most)
	text = revealed(text)
	if left > 0 {
		text += fmt.Sprintf("\n[... %d more bytes are left out]", left)
	}
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return fence + info + "\n" + text + "\n" + fence + "\n"
}

// cutText keeps the first bytes of a text, in whole characters, and counts the rest.
func cutText(text string, most int) (kept string, left int) {
	if len(text) <= most {
		return text, 0
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], len(text) - most
}

func longestRun(text string, of byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// colours are the escape sequences that only paint.
var colours = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// revealed is untrusted text with every character in sight: those that control a
// terminal, and those that reorder or hide text, stand as their numbers. Colours are
// taken out, line ends are newlines. The joiners that scripts and emoji need stay.
func revealed(text string) string {
	text = strings.ReplaceAll(colours.ReplaceAllString(text, ""), "\r\n", "\n")
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\ufffd") {
		switch {
		case r == '\r':
			b.WriteByte('\n')
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			b.WriteRune(r)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inline is untrusted text within a line of a Markdown page, with every character in
// sight.
func inline(text string, most int) string {
	text, _ = cutText(text, 4*utf8.UTFMax*most) // what is not shown need not be read
	return inMarkdown(revealed(text), most)
}
