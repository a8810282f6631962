package main_test

import (
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/config"
)

// TestDocsNameEverySetting holds the table of docs/configuration.md against the
// settings there are.
func TestDocsNameEverySetting(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/configuration.md")
	list := config.Settings()
	if len(list) < 5 {
		t.Fatalf("found %d settings, which cannot be all", len(list))
	}
	for _, s := range list {
		project := "no"
		if s.Project != "" {
			project = "`" + s.Project + "`"
		}
		row, builtIn := "", "none"
		if s.Default != "" {
			builtIn = "`" + s.Default + "`"
		}
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "| `"+s.Key+"` |") {
				row = line
			}
		}
		cells := strings.Split(row, " | ")
		if len(cells) < 6 || !strings.Contains(cells[1], s.Flag) || cells[2] != "`"+s.Env+"`" || cells[3] != project || cells[4] != builtIn {
			t.Errorf("docs/configuration.md: the row of %s is %q", s.Key, row)
		}
	}
}
