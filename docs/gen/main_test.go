package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pages of docs/reference")

// TestReferencePages holds docs/reference against the program's own help.
func TestReferencePages(t *testing.T) {
	dir := filepath.Join("..", "reference")
	pages := referencePages()
	if *update {
		if err := save(dir, pages); err != nil {
			t.Fatal(err)
		}
	}
	there, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(pages) < 15 {
		t.Fatalf("%d pages, which cannot be all: %v", len(pages), err)
	}
	for name, want := range pages {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/reference/%s is not what the program says: make update (%v)", name, err)
		}
	}
	for _, file := range there {
		if pages[filepath.Base(file)] == nil {
			t.Errorf("%s is of no command: make update", file)
		}
	}
	if page := string(pages["eval.md"]); !strings.Contains(page, "## agentclash eval start") || !strings.Contains(page, "`auto`, `docker`, `scratch`, `e2b`") {
		t.Errorf("the page of eval is\n%s", page)
	}
}

// TestManuals writes what a release holds besides the program, twice: the same commit
// gives the same bytes.
func TestManuals(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	written := [2]map[string]string{}
	for i := range written {
		out := t.TempDir()
		if err := write(out, ""); err != nil {
			t.Fatal(err)
		}
		written[i] = map[string]string{}
		for _, dir := range []string{"man", "completions"} {
			files, err := filepath.Glob(filepath.Join(out, dir, "*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				written[i][filepath.Base(f)] = string(text)
			}
		}
	}
	for name, text := range written[0] {
		if text == "" || text != written[1][name] {
			t.Errorf("%s differs from one time to the next, or is empty", name)
		}
	}
	if len(written[0]) < 60 {
		t.Errorf("wrote %d files, which cannot be all", len(written[0]))
	}
	page := written[0]["agentclash-eval-start.1"]
	if !strings.Contains(page, `.TH "AGENTCLASH" "1" "Nov 2023"`) || !regexp.MustCompile(`\\fB?\\-\\-|--model|\\-\\-model`).MatchString(page) {
		t.Errorf("the page of eval start is\n%.800s", page)
	}
}
