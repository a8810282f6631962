package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// hook is an entry of .pre-commit-hooks.yaml.
type hook struct {
	ID, Entry, Language, Files, Exclude string
	PassFilenames                       *bool `yaml:"pass_filenames"`
}

// TestPreCommitHook does what pre-commit does with the hook: installs the
// programs of the repository into a directory that is first on the path, and
// calls the entry with the staged files that its patterns let through.
func TestPreCommitHook(t *testing.T) {
	t.Parallel()
	var hooks []hook
	if err := yaml.Unmarshal([]byte(read(t, ".pre-commit-hooks.yaml")), &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) != 2 || hooks[0].ID != "agentclash-validate" || hooks[0].Language != "golang" || hooks[1].ID != "agentclash-ci-validate" {
		t.Fatalf("got %+v", hooks)
	}
	programs := install(t)
	work := t.TempDir()
	good := read(t, "pack/catalog/quantities.yaml")
	for name, text := range map[string]string{
		"packs/good.yaml":           good,
		"packs/good.reference.yaml": "cases: {}\n",
		"packs/deep/er/other.yml":   good,
		"triage/pack.yaml":          good,
		"my-pack.yaml":              good,
		"compose.yaml":              "services: {}\n",
		"backpack.yaml":             "brand: none\n",
		"packs/README.md":           "# packs\n",
	} {
		writeFile(t, filepath.Join(work, name), text)
	}
	run := func() (out string, status int) {
		files := hooks[0].staged(t, work)
		entry := strings.Fields(hooks[0].Entry)
		c := exec.Command(filepath.Join(programs, entry[0]), append(entry[1:], files...)...) //nolint:gosec // our own program
		c.Dir, c.Env = work, []string{"PATH=" + programs}
		b, err := c.CombinedOutput()
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		return string(b), c.ProcessState.ExitCode()
	}
	out, status := run()
	if want := "✓ my-pack.yaml is valid\n✓ packs/deep/er/other.yml is valid\n✓ packs/good.yaml is valid\n✓ triage/pack.yaml is valid\n"; status != 0 || out != want {
		t.Errorf("valid packs: got status %d and\n%s\nwant\n%s", status, out, want)
	}
	writeFile(t, filepath.Join(work, "packs/bad.yaml"), strings.Replace(good, "difficulty:", "dificulty:", 1))
	if out, status := run(); status != 64 || !strings.Contains(out, "packs/bad.yaml:") {
		t.Errorf("an invalid pack: got status %d and\n%s", status, out)
	}
}

// TestPreCommitManifestHook calls the hook for the manifest, which gets no file names.
func TestPreCommitManifestHook(t *testing.T) {
	t.Parallel()
	var hooks []hook
	if err := yaml.Unmarshal([]byte(read(t, ".pre-commit-hooks.yaml")), &hooks); err != nil {
		t.Fatal(err)
	}
	h := hooks[1]
	if h.PassFilenames == nil || *h.PassFilenames || h.Language != "golang" {
		t.Fatalf("got %+v", h)
	}
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	writeFile(t, filepath.Join(work, ".git"), "gitdir: /nowhere\n")
	writeFile(t, filepath.Join(work, "pack.yaml"), actionPack)
	for _, row := range []struct{ manifest, want string }{
		{"version: 1\ntrigger: {paths: [a]}\ncandidate: {deployment: {model: openai/gpt-4.1-mini}}\nevaluation: {pack: pack.yaml}\nbaseline: {file: b.json}\n", "baseline: there is no baseline"},
		{"version: 1\ntriggers: {}\n", "ci.yaml:2:1: triggers: is not a key of the manifest format"},
	} {
		writeFile(t, filepath.Join(work, ".agentclash/ci.yaml"), row.manifest)
		c := exec.Command(bin, strings.Fields(h.Entry)[1:]...) //nolint:gosec // our own program
		c.Dir, c.Env = work, []string{"HOME=" + work, "GIT_DIR=/nowhere"}
		out, err := c.CombinedOutput()
		if err == nil || c.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), row.want) {
			t.Errorf("got %v and\n%s\nwant %s", err, out, row.want)
		}
	}
}

// staged are the files below a directory that the hook is called with, sorted.
func (h hook) staged(t *testing.T, dir string) []string {
	t.Helper()
	want, skip := regexp.MustCompile(h.Files), regexp.MustCompile(h.Exclude)
	var files []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		if err == nil && !e.IsDir() && want.MatchString(rel) && !skip.MatchString(rel) {
			files = append(files, rel)
		}
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func install(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	c := exec.Command("go", "install", "./...")
	c.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-mod=readonly")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
