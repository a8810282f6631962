package pack_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack"
)

func TestCaseLines(t *testing.T) {
	t.Parallel()
	src := strings.Join([]string{
		"input_sets:",                // 1
		"  - key: other",             // 2
		"    cases: [{case_key: a}]", // 3
		"  - key: default",           // 4
		"    cases:",                 // 5
		"      - {case_key: a}",      // 6
		"      -",                    // 7
		"      - challenge_key: x",   // 8
		"        case_key: ' b '",    // 9
		"      - {item_key: 12}",     // 10
		"      - {case_key: a}",      // 11, a second a, which is not valid
		"      - word",               // 12
	}, "\n")
	if diff := cmp.Diff(map[string]int{"a": 6, "b": 8, "12": 10}, pack.CaseLines([]byte(src), "default")); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	for _, src := range []string{"", "- x", "input_sets: 3", "input_sets: [3, {key: [default]}]", "a: [", "x: *x"} {
		if got := pack.CaseLines([]byte(src), "default"); len(got) != 0 {
			t.Errorf("%q: got %v", src, got)
		}
	}
}
