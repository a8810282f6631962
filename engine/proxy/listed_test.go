package proxy

import (
	"os"
	"strings"
	"testing"
)

// The docs name every key that is let through, and no example of one that is not
// stands on the list.
func TestTheDocsHaveTheList(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []struct {
		name string
		keys []string
	}{
		{"chat/completions", allowed[chat]}, {"responses", allowed[responses]}, {"messages", allowed[messages]},
		{"generateContent", append(allowed[generate], allowedIn["generationConfig"]...)},
	} {
		_, row, found := strings.Cut(string(raw), "\n| `"+line.name+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		if !found {
			t.Fatalf("the docs have no row for %s", line.name)
		}
		for _, key := range line.keys {
			if !strings.Contains(row, "`"+key+"`") {
				t.Errorf("%s: the docs do not name %q", line.name, key)
			}
		}
		for key := range refused {
			if strings.Contains(row, "`"+key+"`") {
				t.Errorf("%s: the docs name %q, which is refused", line.name, key)
			}
		}
	}
}
