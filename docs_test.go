package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
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

// TestDocsNameEveryPolicyField holds the tables of docs/deciding.md against the
// fields that a policy file has.
func TestDocsNameEveryPolicyField(t *testing.T) {
	t.Parallel()
	page, fields := read(t, "docs/deciding.md"), 0
	for prefix, of := range map[string]reflect.Type{"": reflect.TypeFor[compare.Policy](), "statistics.": reflect.TypeFor[compare.StatisticalRules](), "sequential.": reflect.TypeFor[compare.SequentialRules]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if fields++; !regexp.MustCompile("(?m)^\\|[^|]*`" + regexp.QuoteMeta(prefix+name) + "`[^|]*\\|").MatchString(page) {
				t.Errorf("docs/deciding.md has no row for %s%s", prefix, name)
			}
		}
	}
	if fields < 20 {
		t.Fatalf("found %d fields, which cannot be all", fields)
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

// TestAgentsExample runs the worked example of docs/agents.md as it stands there,
// up to where it wants a key.
func TestAgentsExample(t *testing.T) {
	t.Parallel()
	if !dockerAnswers(t) {
		t.Skip("no Docker engine")
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("examples/cli-agent")); err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(read(t, "docs/agents.md"), "## A worked example")
	example, _, _ = strings.Cut(example, "## ")
	ran := ""
	for line := range strings.Lines(example) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "agentclash ")
		if !is || strings.Contains(command, "openai/") {
			continue
		}
		command = strings.ReplaceAll(command, "eval start", "eval start --image agentclash/sandbox:local")
		c := exec.CommandContext(t.Context(), "sh", "-c", bin+" "+command)
		c.Dir = dir
		c.Env = append(os.Environ(), "HOME="+dir, "AGENTCLASH_HOME="+filepath.Join(dir, ".home"), "AGENTCLASH_SECRET_STORE=file", "CI=1")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		ran += string(out)
	}
	for _, want := range []string{"deployment mine runs command/python3", "march#1 passed", "1,410", "model.call.completed", "The sum is 42."} {
		if !strings.Contains(ran, want) {
			t.Errorf("the example did not say %q:\n%s", want, ran)
		}
	}
}
