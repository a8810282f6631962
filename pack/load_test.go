package pack_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentclash/agentclash/pack"
)

func files(src string) fstest.MapFS {
	return fstest.MapFS{
		"pack.yaml": {Data: []byte(src)},
		"edge.txt":  {Data: []byte("edge\n")},
	}
}

// withAssets is a valid pack with one version asset at each path.
func withAssets(paths ...string) string {
	var b strings.Builder
	b.WriteString("  number: 1\n  assets:\n")
	for i, p := range paths {
		fmt.Fprintf(&b, "    - {key: a%d, path: '%s'}\n", i, p)
	}
	return strings.Replace(edgeBase, "  number: 1\n", b.String(), 1)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestLoadReadsAssetsBesideThePack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "pack.yaml"), withAssets("data/a.txt", "./data/b.txt"))
	write(t, filepath.Join(dir, "data/a.txt"), "A")
	write(t, filepath.Join(dir, "data/b.txt"), "B")
	p, problems, err := pack.Load(filepath.Join(dir, "pack.yaml"))
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	want := map[string]string{"data/a.txt": "A", "data/b.txt": "B"}
	got := p.Assets()
	for name, text := range want {
		if string(got[name]) != text {
			t.Errorf("asset %s: got %q, want %q", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d assets, want %d", len(got), len(want))
	}
}

func TestAssetSizesAreBounded(t *testing.T) {
	t.Parallel()
	big := &fstest.MapFile{Data: make([]byte, pack.MaxAssetBytes)}
	fsys := fstest.MapFS{
		"pack.yaml": {Data: []byte(withAssets("1", "2", "3", "4", "5", "over"))},
		"1":         big, "2": big, "3": big, "4": big,
		"5":    {Data: []byte("one too many")},
		"over": {Data: make([]byte, pack.MaxAssetBytes+1)},
	}
	_, problems, err := pack.LoadFS(fsys, "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checkProblems(t, problems, []string{"~version.assets[4].path: too large", "~version.assets[5].path: too large"})
}

func TestLoadErrsOnlyOnWhatItCannotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, _, err := pack.Load(filepath.Join(dir, "no.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v, want fs.ErrNotExist", err)
	}
	if _, _, err := pack.Load(dir); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: got %v", err)
	}
	if _, _, err := pack.LoadFS(fstest.MapFS{}, "no.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file in a file system: got %v, want fs.ErrNotExist", err)
	}
}

func TestLoadFSReadsAssetsBesideThePack(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"packs/pack.yaml": {Data: []byte(withAssets("x.txt"))},
		"packs/x.txt":     {Data: []byte("right")},
		"x.txt":           {Data: []byte("wrong")},
	}
	p, problems, err := pack.LoadFS(fsys, "packs/pack.yaml")
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if got := string(p.Assets()["x.txt"]); got != "right" {
		t.Errorf("got %q, want right", got)
	}
}

func TestParseHasNoDirectory(t *testing.T) {
	t.Parallel()
	if _, problems := pack.Parse("-", []byte(edgeBase), nil); len(problems) > 0 {
		t.Errorf("without assets: got %v", problems)
	}
	_, problems := pack.Parse("-", []byte(withAssets("x.txt")), nil)
	checkProblems(t, problems, []string{"~version.assets[0].path: not loaded from a directory"})
}

func TestHostileFilesAreBounded(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"too long":         strings.Repeat("# x\n", pack.MaxBytes/4+1),
		"50 MB":            strings.Repeat("a", 50<<20),
		"deep lists":       strings.Repeat("[", 9000),
		"deep mappings":    strings.Repeat("{a: ", 9000),
		"deep block lists": strings.Repeat("- ", 5000),
		"binary":           "\x7fELF\x02\x01\x01\x00\x00",
		"merge bomb":       "a: &a {" + strings.Repeat("k: 1, ", 1) + "l: " + strings.Repeat("x", 1000) + "}\nb:\n" + strings.Repeat("- {<<: *a}\n", 20000),
		"many problems":    strings.Repeat("- {a: 1, a: 2}\n", 2000),
	} {
		if name == "many problems" {
			src = "x-list:\n" + src
		}
		p, problems := pack.Parse(name, []byte(src), nil)
		if p != nil || problems.Err() == nil {
			t.Errorf("%s: got a pack, want problems", name)
		}
		if len(problems) > 501 {
			t.Errorf("%s: got %d problems, want at most 501", name, len(problems))
		}
		for _, problem := range problems {
			if problem.Line < 1 || len(problem.String()) > 1000 {
				t.Errorf("%s: got problem %.300q", name, problem.String())
			}
		}
	}
}

// What every case has to fill is bounded, whoever wrote the pack.
func TestPlaceholdersAreBounded(t *testing.T) {
	t.Parallel()
	names := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{{a%d}} ", i)
		}
		return b.String()
	}
	prompt := strings.NewReplacer("mode: native", "mode: prompt_eval",
		"difficulty: easy", "difficulty: easy\n    instructions: '"+names(101)+"'").Replace(edgeBase)
	_, problems := pack.Parse("p.yaml", []byte(prompt), nil)
	if len(problems) != 101 || problems.Err() != nil || !strings.Contains(problems[0].Message, "more than 100 placeholders") {
		t.Errorf("got %d problems, the first %v; want a note and 100 names", len(problems), problems[:1])
	}

	command := strings.Replace(edgeBase, "    validators:\n", "    post_execution_checks: [{key: o, type: file_capture, path: o}]\n    validators:\n"+
		"      - {key: run, type: code_execution, target: 'file:o', config: {test_command: '"+names(1001)+"'}}\n", 1)
	_, problems = pack.Parse("p.yaml", []byte(command), nil)
	checkProblems(t, problems, []string{"version.evaluation_spec.validators: more than 1000 placeholders"})
}

func TestAssetListsAreBounded(t *testing.T) {
	t.Parallel()
	_, problems, err := pack.LoadFS(files(withAssets(slices.Repeat([]string{"edge.txt"}, 1001)...)), "pack.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checkProblems(t, problems, []string{"version.assets: at most 1000 assets"})
}

func TestProblemsPrint(t *testing.T) {
	t.Parallel()
	problems := pack.Problems{
		{File: "p.yaml", Line: 3, Column: 5, Field: "pack.slug", Message: "is required"},
		{File: "p.yaml", Line: 9, Column: 1, Field: "extra", Message: "is ignored", Warning: true},
	}
	const want = "p.yaml:3:5: pack.slug: is required\np.yaml:9:1: warning: extra: is ignored"
	if got := problems.Error(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := problems.Err().Error(); got != "p.yaml:3:5: pack.slug: is required" {
		t.Errorf("Err: got %q", got)
	}
	if err := problems.Warnings().Err(); err != nil {
		t.Errorf("warnings alone: got error %v", err)
	}
}

func TestProblemsHoldNoTerminalCommands(t *testing.T) {
	t.Parallel()
	src := strings.Replace(edgeBase, "family: tests", "family: tests\n  \"\\e[31mred\\n\": 1", 1)
	src = strings.Replace(src, "difficulty: easy", "difficulty: \"\\e]0;x\\a\"", 1)
	_, problems := pack.Parse("p.yaml", []byte(src), nil)
	if len(problems) != 2 {
		t.Fatalf("got %v", problems)
	}
	if text := problems.Error(); strings.ContainsAny(text, "\x1b\a") || strings.Count(text, "\n") != 1 {
		t.Errorf("got %q", text)
	}
}

// A flood of warnings neither makes a pack invalid nor hides what does.
func TestWarningsLeaveRoomForErrors(t *testing.T) {
	t.Parallel()
	var flood strings.Builder
	for i := range 600 {
		fmt.Fprintf(&flood, "unknown%d: 1\n", i)
	}
	p, problems := pack.Parse("p.yaml", []byte(edgeBase+flood.String()), nil)
	if p == nil || problems.Err() != nil || len(problems) != 501 {
		t.Errorf("got a pack: %v, with %d problems, want 500 warnings and one that says so", p != nil, len(problems))
	}
	bad := strings.Replace(edgeBase, "type: exact_match", "type: nope", 1)
	_, problems = pack.Parse("p.yaml", []byte(bad+flood.String()), nil)
	checkProblems(t, problems.Errors(), []string{"version.evaluation_spec.validators[0].type: unknown validator type"})
}

// What takes memory is the number of values, so that it is bounded by itself.
func TestValuesAreBounded(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"a flow list":       "x: [" + strings.Repeat("1,", pack.MaxMarks) + "1]",
		"a list of lines":   strings.Repeat("- 1\n", pack.MaxMarks+1),
		"a mapping, nested": strings.Repeat("{a: {b: 1}}\n", pack.MaxMarks/3+1),
	} {
		_, problems := pack.Parse("p.yaml", []byte(src), nil)
		if len(problems) != 1 {
			t.Fatalf("%s: got %d problems", name, len(problems))
		}
		checkProblems(t, problems, []string{"bundle: is too large: it has more than"})
	}
}

func TestLooksLikeAPack(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"challenges:\n": true, "  input_sets: []": true, `{"challenges":[]}`: true, "{pack: {}, 'input_sets' : []}": true,
		"services: {}": false, "my_challenges: 1": false, "# challenges\n": false, "default: [{text: x}]": false,
	} {
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := pack.Looks(file); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// A path that no file can have is a missing file: the pack is not published.
func TestMissingAssets(t *testing.T) {
	t.Parallel()
	p, _ := pack.Parse("p.yaml", []byte(withAssets(".", "gone.txt")), fstest.MapFS{})
	if p == nil || len(p.MissingAssets()) != 2 {
		t.Errorf("got %v, want both missing", p)
	}
}
