package tui_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/tui"
)

const followPage = "../../docs/follow.md"

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
