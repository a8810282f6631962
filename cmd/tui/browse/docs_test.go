package browse_test

import (
	"testing"

	"github.com/agentclash/agentclash/cmd/tui/browse"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// The page about the screen has a row for each key.
func TestThePageNamesEveryKey(t *testing.T) {
	t.Parallel()
	tuitest.NamesEveryKey(t, "../../../docs/ui.md", browse.Keys())
}
