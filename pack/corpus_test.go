package pack_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack"
)

var update = flag.Bool("update", false, "rewrite golden files")

// corpus returns the packs under testdata/corpus.
func corpus(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/corpus/*.yaml")
	if err != nil || len(files) < 20 {
		t.Fatalf("got %d corpus files (%v), want at least 20", len(files), err)
	}
	return files
}

// Every file has a .want beside it: one problem a line, without the file's
// name; nothing for a pack about which there is nothing to say.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, file := range corpus(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			p, problems, err := pack.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			valid := strings.HasPrefix(filepath.Base(file), "valid-")
			if got := problems.Err() == nil; got != valid || (p != nil) != valid {
				t.Errorf("valid is %v and pack given %v, want %v", got, p != nil, valid)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".want", listing(file, problems))
		})
	}
}

func listing(file string, problems pack.Problems) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(strings.TrimPrefix(p.String(), file+":") + "\n")
	}
	return b.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
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
