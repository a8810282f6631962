package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpgradeOfAReadOnlyHome reads stores of earlier schemas where they cannot be brought
// up to date, by a user who may write nothing. What cannot be done says what to type.
func TestUpgradeOfAReadOnlyHome(t *testing.T) {
	t.Parallel()
	all, _ := schemas(t)
	for _, n := range tried(all) {
		t.Run(fmt.Sprintf("schema%d", n), func(t *testing.T) {
			t.Parallel()
			readOnlyHome(t, n)
		})
	}
}

func readOnlyHome(t *testing.T, schema int) {
	p := sharedProgram(t)
	home := filepath.Join(p.dir, "home")
	raw, err := unpacked(schema)
	if err == nil {
		err = os.Mkdir(home, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "agentclash.db"), raw, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	protect(t, home)
	before := contents(t, home)
	for args, want := range map[string]string{
		"run list": "thrice",
		"eval scorecard first --agent quickstart-bad": "Pass rate: ",
		"eval session list":                           "",
		"compare latest":                              "",
		"run events files --filter tool.*":            "write_file",
		"baseline list":                               "quickstart",
		"infra provider-account list":                 "",
		"deployment list":                             "kept",
		"run failures lost":                           "unavailable",
		"doctor":                                      fmt.Sprintf("schema %d, ", schema),
	} {
		got := p.says(t, nobody(), args)
		if !strings.Contains(got.stdout, want) || got.status != 0 && args != "doctor" {
			t.Errorf("%s: got %+v, want %q", args, got, want)
		}
	}
	for _, args := range []string{
		"baseline set second", "eval rescore first", "run resume killed",
		"eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good",
	} {
		got := p.says(t, nobody(), args)
		if got.status != 77 || !strings.Contains(got.stderr, "the store is read-only") || !strings.Contains(got.stderr, "hint: make the directory writable, or set AGENTCLASH_HOME to another one") {
			t.Errorf("%s: got %+v", args, got)
		}
	}
	if got := p.says(t, nobody(), "eval session get thrice"); schema < 6 && !strings.Contains(got.stderr, "made by an agentclash without sessions, and cannot be written to be brought up to date") {
		t.Errorf("a session: got %+v", got)
	}
	if after := contents(t, home); after != before {
		t.Errorf("the home was\n%s\nand is\n%s", before, after)
	}
}
