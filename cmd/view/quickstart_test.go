package view

import (
	"strings"
	"testing"
)

// A command that is to be typed is never cut, however narrow the terminal is.
func TestQuickstartCutsNoCommand(t *testing.T) {
	const next = "agentclash eval start --pack my-pack.yaml --model scripted/my-pack.reference.yaml --follow"
	d := QuickstartDocument{Steps: List[Check]{{Name: "run", Status: "todo", Detail: "run the pack"}}, NextCommand: next}
	for _, width := range []int{40, 80, 160} {
		var out strings.Builder
		if err := Quickstart(&out, d, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		if said := strings.Join(strings.Fields(out.String()), " "); !strings.HasSuffix(said, next) && width > 60 {
			t.Errorf("at %d columns the command is not whole:\n%s", width, out.String())
		}
		if said := strings.Join(strings.Fields(out.String()), ""); !strings.HasSuffix(said, strings.ReplaceAll(next, " ", "")) {
			t.Errorf("at %d columns a part of the command is missing:\n%s", width, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if Width(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("a line is wider than %d: %q", width, line)
			}
		}
	}
}
