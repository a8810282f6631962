package browse_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/tui/browse"
)

const uiPage = "../../../docs/ui.md"

// The page about the screen shows it as it is.
func TestThePageShowsTheScreen(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(uiPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-update -->\n```\n", "```\n<!-- until here -->"
	before, rest, found := strings.Cut(string(raw), begin)
	shown, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("docs/ui.md has no place for the screen")
	}
	lines := sized(t.Context(), &library{runs: 300, trials: 200}, 150, 26).Answer().Press("enter").Lines()
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	want := strings.Join(lines, "\n") + "\n"
	if shown == want {
		return
	}
	if !*update {
		t.Fatalf("docs/ui.md shows another screen (make update): got\n%s\nwant\n%s", shown, want)
	}
	if err := os.WriteFile(uiPage, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The page about the screen has a row for each key.
func TestThePageNamesEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(uiPage)
	if err != nil {
		t.Fatal(err)
	}
	if len(browse.Keys()) < 10 {
		t.Fatalf("found %d keys, which cannot be all", len(browse.Keys()))
	}
	for _, k := range browse.Keys() {
		var names []string
		for _, name := range strings.Fields(strings.ReplaceAll(k.Keys, ",", "")) {
			names = append(names, "`"+name+"`")
		}
		if row := "\n| " + strings.Join(names, " ") + " | "; !strings.Contains(string(page), row) {
			t.Errorf("docs/ui.md has no row%s", row)
		}
	}
}
