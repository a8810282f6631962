package view_test

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentclash/agentclash/cmd/view"
)

func TestSanitize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"plain", "two\nlines\tand a tab", "two\nlines\tand a tab"},
		{"colour", "a\x1b[1;31mb\x1b[0mc", "abc"},
		{"clear screen", "a\x1b[2Jb", "ab"},
		{"title", "a\x1b]0;gotcha\ab", "ab"},
		{"hyperlink keeps its text", "\x1b]8;;http://x\x1b\\click\x1b]8;;\x1b\\", "click"},
		{"device control", "a\x1bPq#0\x1b\\b", "ab"},
		{"reset", "a\x1bcb", "ab"},
		{"charset", "a\x1b(0b", "ab"},
		{"eight-bit introducer", "a\u009b31mb", "ab"},
		{"eight-bit string", "a\u009d0;t\u009cb", "ab"},
		{"an unfinished string hides nothing", "a\x1b]0;the rest stays", "a0;the rest stays"},
		{"a string does not cross a line", "a\x1b]0;one\ntwo\ab", "a0;one\ntwob"},
		{"an unfinished control sequence", "a\x1b[31", "a31"},
		{"escape at the end", "a\x1b", "a"},
		{"carriage return", "50%\r100%\r\nend", "50%\n100%\nend"},
		{"controls", "a\x00\b\x7f\vb", "ab"},
		{"direction", "user\u202e\u2066txt\u2069\u200fexe", "usertxtexe"},
		{"zero width", "pass\u200b\ufeff\u2060ed", "passed"},
		{"tags", "a\U000e0041b", "ab"},
		{"line separators", "a\u2028b\u0085c", "a\nb\nc"},
		{"not utf-8", "a\xff\x9bb", "a\ufffd\ufffdb"},
		{"emoji and scripts stay", "👩\u200d👩\u200d👧 数独 क्\u200dष", "👩\u200d👩\u200d👧 数独 क्\u200dष"},
	} {
		if got := view.Sanitize(c.in); got != c.want {
			t.Errorf("%s: Sanitize(%q): got %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestSanitizeLine(t *testing.T) {
	t.Parallel()
	if got, want := view.SanitizeLine("a\tb\r\nc\x1b[31m \n"), "a b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{hostile[:80], "\x1b[31mred", "\x1b]8;;x\a", "\u009d\x1b\\", "\x1b\x1b[[", "\xff\xc2\x9b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := view.Sanitize(s)
		if !utf8.ValidString(got) {
			t.Errorf("Sanitize(%q) is no UTF-8: %q", s, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Errorf("Sanitize(%q) kept %q", s, r)
			}
		}
		if again := view.Sanitize(got); again != got {
			t.Errorf("Sanitize is not idempotent: %q, then %q", got, again)
		}
		if line := view.SanitizeLine(s); strings.ContainsAny(line, "\n\t") {
			t.Errorf("SanitizeLine(%q) has several lines: %q", s, line)
		}
	})
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"longer", 1, "…"}, {"longer", 0, ""},
		{"数独数独", 5, "数独…"}, {"数独数独", 4, "数…"}, {"\x1b[31mlonger\x1b[0m", 4, "\x1b[31mlon…\x1b[0m"},
	} {
		if got := view.Fit(c.in, c.width); got != c.want {
			t.Errorf("Fit(%q, %d): got %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestClipCutsBetweenCharacters(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"", "a", "a", "a", "a数", "a数b", "a数b"} {
		if got := view.Clip("a数b", n); got != want {
			t.Errorf("Clip(%d): got %q, want %q", n, got, want)
		}
	}
}

func TestDurationsAndAges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0ms"}, {999 * time.Millisecond, "999ms"}, {time.Second, "1.0s"}, {59949 * time.Millisecond, "59.9s"},
		{59950 * time.Millisecond, "1m00s"}, {185 * time.Second, "3m05s"}, {2*time.Hour + 7*time.Minute, "2h07m"}, {-1, "-"},
	} {
		if got := view.Duration(c.d); got != c.want {
			t.Errorf("Duration(%v): got %q, want %q", c.d, got, c.want)
		}
	}
	for ago, want := range map[time.Duration]string{
		-time.Hour: "just now", 0: "just now", 5 * time.Second: "5s ago", 3 * time.Minute: "3m ago", 5 * time.Hour: "5h ago",
		50 * time.Hour: "2d ago", 61 * 24 * time.Hour: "2026-01-13",
	} {
		if got := view.Age(noon.Add(-ago), noon); got != want {
			t.Errorf("Age(%v ago): got %q, want %q", ago, got, want)
		}
	}
}
