package tui_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/tui"
)

const followPage = "../../docs/follow.md"

// The page about the screen shows it as it is.
func TestThePageShowsTheScreen(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(followPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-update -->\n```\n", "```\n<!-- until here -->"
	before, rest, found := strings.Cut(string(raw), begin)
	shown, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("docs/follow.md has no place for the screen")
	}
	want := draw(talking(), tui.Frame{Width: 120, Height: 26, Now: noon.Add(25 * time.Second)}) + "\n"
	lines := strings.Split(want, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	if want = strings.Join(lines, "\n"); shown == want {
		return
	}
	if !*update {
		t.Fatalf("docs/follow.md shows another screen (make update): got\n%s\nwant\n%s", shown, want)
	}
	if err := os.WriteFile(followPage, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The page about the screen has a row for each key.
func TestThePageNamesEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(followPage)
	if err != nil {
		t.Fatal(err)
	}
	if len(tui.Keys()) < 10 {
		t.Fatalf("found %d keys, which cannot be all", len(tui.Keys()))
	}
	for _, k := range tui.Keys() {
		var names []string
		for _, name := range strings.Fields(strings.ReplaceAll(k.Keys, ",", "")) {
			names = append(names, "`"+name+"`")
		}
		if row := "\n| " + strings.Join(names, " ") + " | "; !strings.Contains(string(page), row) {
			t.Errorf("docs/follow.md has no row%s", row)
		}
	}
}
