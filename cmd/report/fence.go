package report

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fenced is untrusted text as a block of a Markdown page that shows it as it is: its
// fence is longer than any run of backticks in it. About so many bytes are shown at
// most, and what is left out is said in its last line.
func fenced(info, text string, most int) string {
	text, left := revealed(strings.TrimRight(text, "\n"), most)
	if left > 0 {
		text += fmt.Sprintf("\n[... %d more bytes are left out]", left)
	}
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	return fence + info + "\n" + text + "\n" + fence + "\n"
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
// taken out, line ends are newlines. The joiners that scripts and emoji need stay. It
// ends with the character with which it has the most bytes that are asked for, or
// more; left is how many bytes of the text come after that.
func revealed(text string, most int) (shown string, left int) {
	text = strings.ReplaceAll(colours.ReplaceAllString(text, ""), "\r\n", "\n")
	var b strings.Builder
	for i, r := range text {
		if b.Len() >= most {
			return b.String(), len(text) - i
		}
		switch {
		case r == '\r':
			b.WriteByte('\n')
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			b.WriteRune(r)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r) // a byte that is no UTF-8 is U+FFFD
		}
	}
	return b.String(), 0
}

// inline is untrusted text within a line of a Markdown page, with every character in
// sight.
func inline(text string, most int) string {
	shown, left := revealed(text, utf8.UTFMax*most)
	if left > 0 {
		shown += "…"
	}
	return inMarkdown(shown, most)
}
