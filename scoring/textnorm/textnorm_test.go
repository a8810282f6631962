package textnorm_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/scoring/textnorm"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ step, text, want string }{
		{textnorm.Trim, "\u00a0 a b\r\n", "a b"},
		{textnorm.Lowercase, "Straße İ ΣΑΣ", "strasse i\u0307 σασ"},
		{textnorm.Collapse, " a\t\r\n b\u00a0\u00a0c ", " a b\u00a0\u00a0c "},
		{textnorm.Punctuation, "a-b, $5 + «x»!", "ab 5  x"},
		{"strip_currency", "USD 5 €1 usd UUSDSD", " 5 1 usd USD"},
		{"strip_formatting", "(1,000) [x] {y}", "1000 x {y}"},
		{"normalize_unicode", "ﬁ e\u0301 ①", "fi \u00e9 1"},
		{textnorm.Articles, "a cat, the an-imal, The theme", "  cat,    -imal, The theme"},
		{"sort_words", " b  a\nB ", "B a b"},
		{"sort_lines", "b\r\na\n", "\na\nb"},
	} {
		if got := textnorm.Pipeline([]string{c.step})(c.text); got != c.want {
			t.Errorf("%s of %q: got %q, want %q", c.step, c.text, got, c.want)
		}
	}
}

// A step changes nothing the second time. But taking currency codes out of a
// text can bring others together, and splitting "\r\r\n" leaves a "\r" before the
// end of a line; the format has it so.
func FuzzSteps(f *testing.F) {
	f.Add("The  Cat, $5 USD\r\n a\u0301 İ", uint16(0xffff))
	f.Add("ﬁ\u0301ß\u00a0\xff", uint16(0x41))
	f.Add(strings.Repeat("ΐﬃ", 20), uint16(0x42))
	f.Add("the the a an\nTHE a-b $USD EUREURO 日本 \u0301e\v x\r\r\n", uint16(0x3ff))
	f.Add("", uint16(0x3ff))
	f.Fuzz(func(t *testing.T, text string, mask uint16) {
		var steps []string
		for i, step := range textnorm.Steps() {
			if mask>>i&1 == 1 {
				steps = append(steps, step)
			}
			once := textnorm.Pipeline([]string{step})
			halves := strings.Contains(once(text), "\r\n") // of "\r\r\n"
			if step != "strip_currency" && !halves && once(once(text)) != once(text) {
				t.Errorf("%s of %q: once %q, twice %q", step, text, once(text), once(once(text)))
			}
		}
		if got := textnorm.Pipeline(steps)(text); len(got) > 20*len(text)+20 {
			t.Errorf("%v of %q has %d bytes", steps, text, len(got))
		}
		if slices.Contains(textnorm.Steps(), text) {
			return
		}
		if got := textnorm.Pipeline([]string{text})("X  x"); got != "X  x" {
			t.Errorf("%q is a step", text)
		}
	})
}
