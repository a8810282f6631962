package tuitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/cmd/tui/widget"
)

// Golden holds a picture against the one that is kept in testdata, but for blanks at
// the ends of lines, which nobody sees; with update it is written anew.
func Golden(t *testing.T, update bool, name, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got = strings.Join(lines, "\n") + "\n"
	file := filepath.Join("testdata", name+".golden")
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// NamesEveryKey wants a row for each key in the table of a page.
func NamesEveryKey(t *testing.T, file string, keys []widget.Key) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) < 10 {
		t.Fatalf("there are %d keys, which cannot be all", len(keys))
	}
	for _, k := range keys {
		var names []string
		for _, name := range strings.Fields(strings.ReplaceAll(k.Keys, ",", "")) {
			names = append(names, "`"+name+"`")
		}
		if row := "\n| " + strings.Join(names, " ") + " | "; !strings.Contains(string(page), row) {
			t.Errorf("%s has no row%s", file, row)
		}
	}
}
