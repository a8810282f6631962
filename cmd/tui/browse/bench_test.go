package browse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/tui/browse"
)

// longTranscript is a screen with a transcript of so many entries of 8 KB, in which a
// word is looked for that each line has.
func longTranscript(tb testing.TB, entries int) *browse.Page {
	tb.Helper()
	l := &library{runs: 1, trials: 1, long: entries}
	p := browse.NewPage(tb.Context(), browse.Options{Source: l, Color: true, Width: 80, Height: 24, Now: func() time.Time { return noon }}).Answer()
	p.Press("enter", "tab", "enter", "tab", "/", "parcel", "enter", "home")
	if !strings.Contains(p.Text(), "/parcel ") {
		tb.Fatalf("nothing is looked for:\n%s", p.Text())
	}
	return p
}

func BenchmarkKeysInALongTranscript(b *testing.B) {
	p := longTranscript(b, 1300)
	for b.Loop() {
		p.Type("down")
	}
}

func BenchmarkTypingASearchInALongTranscript(b *testing.B) {
	p := longTranscript(b, 1300)
	for b.Loop() {
		p.Type("esc", "/").Type(strings.Split("parcels", "")...).Type("enter")
	}
}
