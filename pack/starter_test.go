package pack_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

func checkAllPass(t *testing.T, outcomes map[string]scoring.Outcome) {
	t.Helper()
	for name, outcome := range outcomes {
		if outcome != scoring.OutcomePassed {
			t.Errorf("%s: got %s, want passed", name, outcome)
		}
	}
	if len(outcomes) < 2 {
		t.Errorf("got %d cases, want at least 2", len(outcomes))
	}
}

func checkOutcomes(t *testing.T, got, want map[string]scoring.Outcome) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStarters(t *testing.T) {
	t.Parallel()
	for _, kind := range pack.StarterTemplates() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			src, err := pack.Starter(kind, "My \"first\": pack", "")
			if err != nil {
				t.Fatal(err)
			}
			p, problems := pack.Parse("starter.yaml", []byte(src), nil)
			if problems.Err() != nil || len(problems) != len(problems.Blocks()) {
				t.Fatal(problems)
			}
			want := pack.Meta{Slug: "my-first-pack", Name: "My \"first\": pack", Family: "my-first-pack"}
			if diff := cmp.Diff(want, p.Pack); diff != "" {
				t.Errorf("pack block (-want +got):\n%s", diff)
			}
			if p.Mode() != kind || p.Version.EvaluationSpec.Name != "my-first-pack-v1" {
				t.Errorf("got mode %q and spec %q", p.Mode(), p.Version.EvaluationSpec.Name)
			}
			if first, _, _ := strings.Cut(src, "\n"); first != "# yaml-language-server: $schema="+pack.SchemaURL {
				t.Errorf("got first line %q, want the one that leads an editor to the schema", first)
			}
			for _, section := range [][2]string{{"pack:", "version:"}, {"version:", "challenges:"}, {"challenges:", "input_sets:"}} {
				if strings.Index(src, "\n"+section[0]) > strings.Index(src, "\n"+section[1]) {
					t.Errorf("%s does not come before %s", section[0], section[1])
				}
			}
			text, err := pack.StarterReference(kind)
			if err != nil {
				t.Fatal(err)
			}
			agent := readScript(t, []byte(text))
			if b := p.Blockers(); len(b) == 1 && b[0].Field == "version.execution_mode" {
				t.Logf("%s: its agent is not acted out", b[0].Message)
				return
			} else if len(b) > 0 {
				t.Fatal(b)
			}
			checkAllPass(t, play(t, p, agent))
		})
	}
}

func TestStarterNames(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ file, name, slug string }{
		{"dir/my pack_v2.yml", "My Pack V2", "my-pack-v2"},
		{".yaml", "Starter Eval", "starter-eval"},
		{"ÉCLAIR.yaml", "Éclair", "clair"},
		{"a.b-C.yaml", "A.b C", "a-b-c"},
		{"日本.yaml", "日本", ""},
	} {
		name := pack.StarterName(row.file)
		if slug := pack.Slug(name); name != row.name || slug != row.slug {
			t.Errorf("%s: got %q %q, want %q %q", row.file, name, slug, row.name, row.slug)
		}
	}
	if _, err := pack.Starter(pack.PromptEval, "日本", ""); !errors.Is(err, pack.ErrNoSlug) {
		t.Errorf("no slug to make: got %v, want ErrNoSlug", err)
	}
	if _, err := pack.Starter("natve", "", ""); err == nil || !strings.Contains(err.Error(), `did you mean "native"?`) {
		t.Errorf("unknown template: got %v", err)
	}
	// Whatever the name and slug, the text stays one valid pack.
	for _, text := range []string{"no", "12", "2024-01-02", "a: b", "# x", "'", "\"\n", "x\ty", "-", "@SLUG@", "null", "~", "é"} {
		src, err := pack.Starter(pack.PromptEval, text, text)
		if err != nil {
			t.Fatal(err)
		}
		p, problems := pack.Parse("p.yaml", []byte(src), nil)
		if p == nil || p.Pack.Name != strings.TrimSpace(text) || p.Pack.Slug != strings.TrimSpace(text) {
			t.Errorf("%q: got %v", text, problems)
		}
	}
}

func demo(t *testing.T, name string) *pack.Pack {
	t.Helper()
	p, err := pack.Demo(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func demoAgent(t *testing.T, name string) script {
	t.Helper()
	text, err := fs.ReadFile(pack.DemoAgents(), name+".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return readScript(t, text)
}

func TestDemos(t *testing.T) {
	t.Parallel()
	for _, name := range pack.Demos() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkAllPass(t, play(t, demo(t, name), demoAgent(t, name+"-good")))
		})
	}
	if _, err := pack.Demo("quikstart"); !errors.Is(err, pack.ErrNotFound) {
		t.Errorf("unknown demo: got %v, want ErrNotFound", err)
	}
	agents, err := fs.Glob(pack.DemoAgents(), "*.yaml")
	if err != nil || len(agents) != 2*len(pack.Demos()) {
		t.Errorf("got agents %v (%v), want two for each of %v", agents, err, pack.Demos())
	}
}

func TestBadDemoAgents(t *testing.T) {
	t.Parallel()
	const passed, failed = scoring.OutcomePassed, scoring.OutcomeFailed
	checkOutcomes(t, play(t, demo(t, "quickstart"), demoAgent(t, "quickstart-bad")), map[string]scoring.Outcome{
		"default/arithmetic": passed, "default/capital": failed, "default/weekday": failed, "default/plural": failed})
	checkOutcomes(t, play(t, demo(t, "quickstart-native"), demoAgent(t, "quickstart-native-bad")), map[string]scoring.Outcome{
		"default/greet": passed, "default/total": failed, "default/longest": failed})
}

// The native demo is for images that have a shell and nothing else, such as the
// built-in one. Run in that shell's library, no script of it may start a
// program.
func TestNativeDemoNeedsOnlyAShell(t *testing.T) {
	t.Parallel()
	p, agent := demo(t, "quickstart-native"), demoAgent(t, "quickstart-native-good")
	scorer, problems := scoring.Compile(p.Version.EvaluationSpec)
	if scorer == nil || len(scorer.Graders()) != 1 {
		t.Fatalf("want one grader: %v", problems)
	}
	for _, c := range p.InputSets[0].Cases {
		st := &stage{t: t, p: p, c: c, dir: t.TempDir()}
		st.put(p.GraderFiles(c))
		st.call(&scoring.Evidence{}, "write_file", agent.Cases[c.Key()][0].ToolCalls[0].Arguments)
		out, err := builtinShell(t, st.dir, c.Render(scorer.Graders()[0].Config.TestCommand))
		if err != nil || !strings.Contains(out, "passed, 0 failed") {
			t.Errorf("%s: got %q, %v", c.Key(), out, err)
		}
	}
}

func builtinShell(t *testing.T, dir, command string) (string, error) {
	t.Helper()
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "test_command")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	noPrograms := func(interp.ExecHandlerFunc) interp.ExecHandlerFunc {
		return func(_ context.Context, args []string) error {
			return fmt.Errorf("started a program: %q", args)
		}
	}
	r, err := interp.New(interp.Dir(dir), interp.StdIO(nil, &out, &out), interp.ExecHandlers(noPrograms))
	if err != nil {
		t.Fatal(err)
	}
	err = r.Run(t.Context(), file)
	return out.String(), err
}

const examples = "../examples"

func TestExamples(t *testing.T) {
	t.Parallel()
	const failed = scoring.OutcomeFailed
	bad := map[string]map[string]scoring.Outcome{
		"python-functions": {"default/slugify": failed, "default/duration": failed},
	}
	dirs, err := filepath.Glob(filepath.Join(examples, "*", "good.yaml")) // others come with agents of another kind
	if err != nil || len(dirs) != len(bad) {
		t.Fatalf("got examples %v (%v), want %d", dirs, err, len(bad))
	}
	for _, script := range dirs {
		dir := filepath.Dir(script)
		file := filepath.Join(dir, "pack.yaml")
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			p, problems, err := pack.Load(file)
			if err != nil || len(problems) > 0 {
				t.Fatal(err, problems)
			}
			if _, err := exec.LookPath("python3"); err != nil && strings.Contains(dir, "python") {
				t.Skip("no python3 on this machine")
			}
			checkAllPass(t, play(t, p, exampleAgent(t, dir, "good")))
			checkOutcomes(t, play(t, p, exampleAgent(t, dir, "bad")), bad[filepath.Base(dir)])
			for _, c := range p.InputSets[0].Cases {
				if shown := paths(p.WorkspaceFiles(c)); slices.ContainsFunc(shown, func(f string) bool { return strings.HasPrefix(f, "tests/") }) {
					t.Errorf("%s: the agent sees %q", c.Key(), shown)
				}
			}
		})
	}
}

func exampleAgent(t *testing.T, dir, name string) script {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return readScript(t, text)
}
