package browse_test

import (
	"os"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/tui/browse"
)

const uiPage = "../../../docs/ui.md"

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
