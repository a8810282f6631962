package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/scoring"
)

// TestDocsNameEverything holds the pages against the code's own tables.
func TestDocsNameEverything(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/scoring.md")
	var names []string
	for _, v := range scoring.ValidatorTypes() {
		names = append(names, "| `"+v.Name+"` | "+v.Doc[:20])
	}
	for _, c := range scoring.Collectors() {
		names = append(names, "`"+c.Name+"`")
	}
	for _, s := range scoring.DimensionSources() {
		names = append(names, "`"+s+"`")
	}
	if len(names) < 20 {
		t.Fatalf("found %d names, which cannot be all", len(names))
	}
	for _, n := range names {
		if !strings.Contains(page, n) {
			t.Errorf("docs/scoring.md does not name %s", n)
		}
	}
	page = read(t, "docs/packs.md")
	for _, p := range template.Primitives() {
		if !strings.Contains(page, "`"+p.Name+"`") {
			t.Errorf("docs/packs.md does not name the tool %s", p.Name)
		}
	}
}

// TestLinks follows the relative links of every page.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md")
	link := regexp.MustCompile(`\]\(([^)#]+)\)`)
	found := 0
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
	if found < 5 {
		t.Fatalf("found %d links, which cannot be all", found)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
