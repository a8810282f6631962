package view_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/cmd/view"
)

// On a narrow terminal whole columns are left out, spare ones first: a number that is
// cut is another number. In a pipe all stand.
func TestWhatDoesNotFitIsLeftOutWhole(t *testing.T) {
	t.Parallel()
	table := view.Table{Columns: []view.Column{
		{Title: "AGENT"}, {Title: "RESULT", Keep: true}, {Title: "PASSED", Right: true, Keep: true, Last: true},
		{Title: "FAILED", Right: true, Keep: true, Last: true}, {Title: "WHEN", Keep: true, Spare: true},
	}}
	table.Add(view.Text("a-very-long-name-of-an-agent"), view.Text("degraded"), view.Text("1234"), view.Text("5678"), view.Text("2h ago"))
	for width, want := range map[int]string{
		0: "AGENT RESULT PASSED FAILED WHEN", 80: "AGENT RESULT PASSED FAILED WHEN", 50: "AGENT RESULT PASSED FAILED", 36: "AGENT RESULT PASSED FAILED",
		30: "AGE… RESULT PASSED FAILED", 27: "AGENT RESULT PASSED", 15: "AGENT RESULT",
	} {
		var b bytes.Buffer
		if err := table.Write(&b, view.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		heading, _, _ := strings.Cut(b.String(), "\n")
		if got := strings.Join(strings.Fields(heading), " "); got != want {
			t.Errorf("at %d columns: got %q, want %q", width, got, want)
		}
		for _, line := range strings.Split(b.String(), "\n") {
			if width > 0 && view.Width(line) > width {
				t.Errorf("at %d columns: %q is wider", width, line)
			}
		}
	}
}

// In a pipe no cell is cut, and one that is very long leaves the other rows as they are.
func TestALongCellMakesOnlyItsOwnRowLong(t *testing.T) {
	t.Parallel()
	table := view.Table{Columns: []view.Column{{Title: "CASE"}, {Title: "RESULT"}}}
	name := strings.Repeat("n", 1<<20)
	table.Add(view.Text(name), view.Text("passed"))
	for range 1000 {
		table.Add(view.Text("short"), view.Text("failed"))
	}
	var b bytes.Buffer
	if err := table.Write(&b, view.Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), name+"  passed\n") {
		t.Error("the long name is not whole")
	}
	if got := b.Len() - len(name); got > 1000*256 {
		t.Errorf("the other rows take %d bytes", got)
	}
}
