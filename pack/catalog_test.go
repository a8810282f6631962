package pack_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack"
)

func catalogPack(t *testing.T, name string) *pack.Pack {
	t.Helper()
	p, err := pack.CatalogPack(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func catalogReference(t *testing.T, name string) script {
	t.Helper()
	return readScript(t, catalogPack(t, name).Reference())
}

// eachCatalogued runs a test for every pack of the catalogue that can be played
// here.
func eachCatalogued(t *testing.T, test func(t *testing.T, p *pack.Pack, reference script)) {
	t.Helper()
	t.Parallel()
	for _, e := range pack.Catalog() {
		t.Run(e.Slug, func(t *testing.T) {
			t.Parallel()
			if e.Mode == pack.Native {
				needsPython(t)
			}
			test(t, catalogPack(t, e.Slug), catalogReference(t, e.Slug))
		})
	}
}

func needsPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 on this machine")
	}
}

// What lies in the directory is what the table lists.
func TestCatalogIsComplete(t *testing.T) {
	t.Parallel()
	var names, files []string
	for _, e := range pack.Catalog() {
		names = append(names, e.Slug)
	}
	found, err := filepath.Glob("catalog/*.reference.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		files = append(files, strings.TrimSuffix(filepath.Base(f), ".reference.yaml"))
	}
	slices.Sort(names)
	if diff := cmp.Diff(files, names); diff != "" || len(names) < 8 {
		t.Errorf("names (-in the directory +in the table):\n%s", diff)
	}
}

func TestCatalogEntries(t *testing.T) {
	t.Parallel()
	specs := map[string]string{}
	for _, e := range pack.Catalog() {
		p := catalogPack(t, e.Slug)
		if p.Pack.Slug != e.Slug || p.Pack.Name != e.Name || p.Mode() != e.Mode {
			t.Errorf("%+v does not say what its pack does", e)
		}
		if e.Summary == "" || len(e.Summary) > 120 || strings.ContainsAny(e.Summary, "\n\r") {
			t.Errorf("%s: the summary %q is not one short line", e.Slug, e.Summary)
		}
		if e.Cases < 4 || e.Cases > 8 {
			t.Errorf("%s: %d cases, want 4 to 8", e.Slug, e.Cases)
		}
		if len(p.InputSets) != 1 {
			t.Errorf("%s: %d input sets: a first run should not have to choose one", e.Slug, len(p.InputSets))
		}
		if w := p.Version.EvaluationSpec.Validate(); len(w) > 0 {
			t.Errorf("%s: the spec cannot do what it wants: %v", e.Slug, w)
		}
		if other, taken := specs[p.Version.EvaluationSpec.Name]; taken {
			t.Errorf("%s and %s have one name for their specs", e.Slug, other)
		}
		specs[p.Version.EvaluationSpec.Name] = e.Slug
	}
}

// A copy of a pack's files is the pack, and nothing in it is somebody else's.
func TestCatalogFiles(t *testing.T) {
	t.Parallel()
	for _, e := range pack.Catalog() {
		t.Run(e.Slug, func(t *testing.T) {
			t.Parallel()
			tree, err := pack.CatalogFiles(e.Slug)
			if err != nil {
				t.Fatal(err)
			}
			if err := fstest.TestFS(tree, e.Slug+".yaml", e.Slug+".reference.yaml"); err != nil {
				t.Error(err)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, tree); err != nil {
				t.Fatal(err)
			}
			p, problems, err := pack.Load(filepath.Join(dir, e.Slug+".yaml"))
			if err != nil || len(problems) > 0 {
				t.Fatalf("want no problem and no warning: %v %v", err, problems)
			}
			if got, want := digest(t, p), digest(t, catalogPack(t, e.Slug)); got != want {
				t.Errorf("the copy has digest %s, the pack %s", got, want)
			}
			checkOwnFiles(t, tree, p)
		})
	}
}

// checkOwnFiles sees that the tree holds the pack file, the reference and what
// the pack declares.
func checkOwnFiles(t *testing.T, tree fs.FS, p *pack.Pack) {
	t.Helper()
	want := []string{p.Pack.Slug + ".yaml", p.Pack.Slug + ".reference.yaml"}
	for _, a := range p.Version.Assets {
		want = append(want, a.Path)
	}
	var got []string
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got = append(got, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-declared +there):\n%s", diff)
	}
}

func TestCatalogNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"text-to-sq", "", ".", "../demo/quickstart", "CODE-FIX", "code-fix/run.py"} {
		_, packErr := pack.CatalogPack(name)
		_, filesErr := pack.CatalogFiles(name)
		for _, err := range []error{packErr, filesErr} {
			if !errors.Is(err, pack.ErrNotFound) {
				t.Errorf("%q: got %v, want ErrNotFound", name, err)
			}
		}
	}
	_, err := pack.CatalogPack("text-to-sq")
	if err == nil || !strings.Contains(err.Error(), `did you mean "text-to-sql"?`) || !strings.Contains(err.Error(), "code-fix") {
		t.Errorf("got %v, want the names there are and the nearest", err)
	}
}

func TestCatalogReferences(t *testing.T) {
	eachCatalogued(t, func(t *testing.T, p *pack.Pack, reference script) {
		checkAllPass(t, play(t, p, reference))
		if n := len(p.InputSets[0].Cases); len(reference.Cases) != n {
			t.Errorf("the reference has %d cases, the pack %d", len(reference.Cases), n)
		}
		for name, replies := range reference.Cases {
			for i, r := range replies {
				if r.DelayMS <= 0 || r.DelayMS > 250 || r.Usage["input_tokens"] <= 0 || r.Usage["output_tokens"] <= 0 {
					t.Errorf("%s: reply %d has no usage or no small delay: %+v", name, i+1, r)
				}
			}
		}
	})
}

// What only graders get is not in what an agent gets.
func TestCatalogHidesItsGraders(t *testing.T) {
	t.Parallel()
	for _, e := range pack.Catalog() {
		p := catalogPack(t, e.Slug)
		for _, c := range p.InputSets[0].Cases {
			graders := paths(p.GraderFiles(c))
			if len(p.Version.Assets) > 0 && len(graders) == 0 {
				t.Errorf("%s %s: nothing is staged for the graders", e.Slug, c.Key())
			}
			for _, f := range paths(p.WorkspaceFiles(c)) {
				if slices.Contains(graders, f) {
					t.Errorf("%s %s: the agent sees %s", e.Slug, c.Key(), f)
				}
			}
		}
	}
}
