package tui_test

import (
	"testing"

	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/cmd/tui/tuitest"
)

// The page about the screen has a row for each key.
func TestThePageNamesEveryKey(t *testing.T) {
	t.Parallel()
	tuitest.NamesEveryKey(t, "../../docs/follow.md", tui.Keys())
}
