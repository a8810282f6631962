package sandboxtest

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each sentence of the contract has a check, and each check a sentence.
func TestEveryPromiseHasACheck(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	promised, checked := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//   - ([A-Z]\d+)\. \S`).FindAllStringSubmatch(string(page), -1) {
		if promised[m[1]] {
			t.Errorf("doc.go has the number %s twice", m[1])
		}
		promised[m[1]] = true
	}
	names := map[string]bool{}
	for _, c := range allChecks() {
		if names[c.name] {
			t.Errorf("two checks are called %q", c.name)
		}
		names[c.name] = true
		for id := range strings.FieldsSeq(c.promises) {
			checked[id] = true
		}
		if c.promises == "" {
			t.Errorf("the check %q tries no promise", c.name)
		}
	}
	if len(promised) < 40 {
		t.Fatalf("found %d promises, which cannot be all", len(promised))
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(promised)), slices.Sorted(maps.Keys(checked))); d != "" {
		t.Errorf("promises that are not checked (-), and checks of what is not promised (+):\n%s", d)
	}
}
