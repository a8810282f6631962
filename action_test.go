package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gopkg.in/yaml.v3"
	"mvdan.cc/sh/v3/syntax"

	"github.com/agentclash/agentclash/cmd/report"
)

// action is what is read of action.yml.
type action struct {
	Inputs map[string]struct {
		Description string
		Default     string
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	Name, ID, If, Shell, Run, Uses string
	Env, With                      map[string]string
}

func readAction(t *testing.T) action {
	t.Helper()
	var a action
	if err := yaml.Unmarshal([]byte(read(t, "action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || len(a.Runs.Steps) < 5 {
		t.Fatalf("got %+v", a)
	}
	return a
}

var expression = regexp.MustCompile(`\$\{\{(.*?)\}\}`)

// TestAction holds the action against itself: every input that is used is there
// and is in the docs, every script is bash that parses, and nothing that an event
// says is put into one.
func TestAction(t *testing.T) {
	t.Parallel()
	a, page, text := readAction(t), read(t, "docs/ci.md"), read(t, "action.yml")
	ids := map[string]bool{}
	for _, s := range a.Runs.Steps {
		ids[s.ID] = true
		switch {
		case s.Run == "" && !regexp.MustCompile(`^actions/[a-z/-]+@v\d+$`).MatchString(s.Uses):
			t.Errorf("step %s uses %q", s.Name, s.Uses)
		case s.Run == "":
			continue
		case s.Shell != "bash":
			t.Errorf("step %s names no shell", s.Name)
		case strings.Contains(s.Run, "${{"):
			t.Errorf("step %s has an expression in its script", s.Name)
		}
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(s.Run), s.Name); err != nil {
			t.Errorf("step %s: %v", s.Name, err)
		}
		if out, err := exec.Command("bash", "-n", "-c", s.Run).CombinedOutput(); err != nil {
			t.Errorf("step %s: %v\n%s", s.Name, err, out)
		}
		for name, value := range s.Env {
			if !strings.Contains(s.Run, name) {
				t.Errorf("step %s does not use its variable %s", s.Name, name)
			}
			if !expression.MatchString(value) {
				t.Errorf("step %s: %s is always %q", s.Name, name, value)
			}
		}
	}
	uses := regexp.MustCompile(`\binputs\.([a-z-]+)|\bsteps\.([a-z]+)\.outputs`)
	for _, m := range uses.FindAllStringSubmatch(text, -1) {
		if _, known := a.Inputs[m[1]]; m[1] != "" && !known {
			t.Errorf("the input %s is used and not there", m[1])
		}
		if m[2] != "" && !ids[m[2]] {
			t.Errorf("there is no step %s", m[2])
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(a.Inputs)), slices.Sorted(maps.Keys(a.Outputs))) {
		if _, input := a.Inputs[name]; input && !strings.Contains(text, "inputs."+name) {
			t.Errorf("the input %s is not used", name)
		}
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/ci.md does not name %s", name)
		}
	}
}

// runner does what a runner does with a step of the action.
type runner struct {
	t    *testing.T
	a    action
	work string
	env  map[string]string
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	r := &runner{t: t, a: readAction(t), work: filepath.Join(dir, "work"), env: map[string]string{
		"PATH": filepath.Dir(bin) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME": dir, "AGENTCLASH_HOME": filepath.Join(dir, "home"),
		"RUNNER_TEMP": dir, "GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": filepath.Join(dir, "output"), "GITHUB_PATH": filepath.Join(dir, "path"),
		"GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"), "GITHUB_REPOSITORY": "org/repo", "GITHUB_EVENT_NAME": "pull_request", "CI": "true",
	}}
	for name, text := range map[string]string{
		"good.yaml":           "default: [{text: \"4\", usage: {input_tokens: 3, output_tokens: 1}}]\n",
		"bad.yaml":            "default: [{text: \"::error::5\", usage: {input_tokens: 3, output_tokens: 1}}]\n",
		"pack.yaml":           actionPack,
		".agentclash/ci.yaml": "version: 1\ntrigger: {paths: [\"prompts/**\"]}\ncandidate: {deployment: {model: scripted/good.yaml}}\nevaluation: {pack: pack.yaml}\nbaseline: {file: baseline.json}\n",
		"bad-ci.yaml":         "version: 1\ntrigger: {paths: [\"prompts/**\"]}\ncandidate: {deployment: {model: scripted/bad.yaml}}\nevaluation: {pack: pack.yaml}\nbaseline: {file: baseline.json}\n",
	} {
		writeFile(t, filepath.Join(r.work, name), text)
	}
	r.command("git", "init", "-q", ".")
	r.command("agentclash", "eval", "start", "--pack", "pack.yaml", "--model", "scripted/good.yaml", "--quiet")
	r.command("agentclash", "baseline", "set", "latest", "--quiet")
	r.command("agentclash", "baseline", "export", "baseline.json", "--quiet")
	return r
}

const actionPack = `pack: {slug: four, name: Four, family: math}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: four
    version_number: 1
    judge_mode: deterministic
    validators: [{key: right, type: exact_match, target: final_output, expected_from: "literal:4"}]
    scorecard: {dimensions: [{key: correctness, gate: true, pass_threshold: 1}]}
challenges: [{key: add, title: Add, category: math, difficulty: easy, instructions: "What is 2 + 2?"}]
input_sets: [{key: default, name: Default, cases: [{challenge_key: add, case_key: small}]}]
`

func (r *runner) command(name string, args ...string) {
	r.t.Helper()
	if out, status := r.run(nil, append([]string{name}, args...)...); status != 0 {
		r.t.Fatalf("%s %v: status %d\n%s", name, args, status, out)
	}
}

func (r *runner) run(env map[string]string, args ...string) (out string, status int) {
	r.t.Helper()
	c := exec.Command("env", append([]string{"-C", r.work}, args...)...)
	c.Env = nil
	for _, vars := range []map[string]string{r.env, env} {
		for name, value := range vars {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	b, err := c.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		r.t.Fatal(err)
	}
	return string(b), c.ProcessState.ExitCode()
}

// step runs the script of a step with the inputs given, others by default.
func (r *runner) step(id string, inputs map[string]string, env map[string]string) (out string, status int) {
	r.t.Helper()
	i := slices.IndexFunc(r.a.Runs.Steps, func(s actionStep) bool { return s.ID == id || s.Name == id })
	if i < 0 {
		r.t.Fatalf("there is no step %s", id)
	}
	vars := map[string]string{}
	for name, value := range r.a.Runs.Steps[i].Env {
		vars[name] = expression.ReplaceAllStringFunc(value, func(e string) string {
			input, _, _ := strings.Cut(strings.TrimSpace(strings.Trim(e, "${}")), " ")
			input, is := strings.CutPrefix(input, "inputs.")
			if !is {
				return ""
			}
			if given, ok := inputs[input]; ok {
				return given
			}
			return r.a.Inputs[input].Default
		})
	}
	maps.Copy(vars, env)
	return r.run(vars, "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", r.a.Runs.Steps[i].Run)
}

// outputs are the step outputs so far; they are forgotten.
func (r *runner) outputs() map[string]string {
	r.t.Helper()
	file := r.env["GITHUB_OUTPUT"]
	b, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		all[name] = value
	}
	if err := os.Remove(file); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// TestActionEvaluates runs the main step with the real program.
func TestActionEvaluates(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for _, row := range []struct {
		name   string
		inputs map[string]string
		want   map[string]string
	}{
		{"nothing matches", map[string]string{"changed-files": "README.md\n"}, map[string]string{"should-run": "false", "skip-reason": "no_match", "exit-code": "0", "gate-verdict": ""}},
		{"a pass", map[string]string{"changed-files": "docs/a b.md\nprompts/a b.md"}, map[string]string{"should-run": "true", "skip-reason": "", "exit-code": "0", "gate-verdict": "pass", "result-file": "agentclash-out/result.json"}},
		{"a failure", map[string]string{"manifest": "bad-ci.yaml", "skip-if-unmatched": "false", "follow": "true"}, map[string]string{"should-run": "true", "exit-code": "1", "gate-verdict": "fail"}},
		{"asked alone", map[string]string{"mode": "should-run", "changed-files": "prompts/x"}, map[string]string{"should-run": "true", "exit-code": "0", "gate-verdict": ""}},
		{"validate", map[string]string{"mode": "validate"}, map[string]string{"exit-code": "0"}},
		{"no manifest", map[string]string{"mode": "validate", "manifest": "none.yaml"}, map[string]string{"exit-code": "66"}},
		{"an unknown ref", map[string]string{"base": "nowhere"}, map[string]string{"exit-code": "66", "should-run": ""}},
		{"a hostile ref", map[string]string{"base": "$(touch hacked)"}, map[string]string{"exit-code": "64"}},
		{"a hostile file", map[string]string{"changed-files": "$(touch hacked)\n--base=x\n`touch hacked`"}, map[string]string{"exit-code": "0", "should-run": "false"}},
		{"an unknown mode", map[string]string{"mode": "x"}, map[string]string{"exit-code": "64"}},
		{"two lines", map[string]string{"artifact-dir": "a\nexit-code=0"}, map[string]string{"exit-code": "64"}},
		{"a flag for a manifest", map[string]string{"mode": "validate", "manifest": "--help"}, map[string]string{"exit-code": "66"}},
		{"a file of the machine's", map[string]string{"changed-files": "/etc/passwd"}, map[string]string{"exit-code": "64", "should-run": ""}},
		{"no manifest to run", map[string]string{"manifest": "none.yaml", "skip-if-unmatched": "false"}, map[string]string{"exit-code": "10", "gate-verdict": ""}},
	} {
		out, status := r.step("evaluate", row.inputs, nil)
		got := r.outputs()
		if status != 0 {
			t.Errorf("%s: the step ended with %d\n%s", row.name, status, out)
		}
		for name, want := range row.want {
			if got[name] != want {
				t.Errorf("%s: %s is %q, want %q\n%s", row.name, name, got[name], want, out)
			}
		}
		if verdict := got["gate-verdict"]; (got["run-id"] != "") != (verdict != "") {
			t.Errorf("%s: run-id is %q", row.name, got["run-id"])
		}
		if before, after, _ := strings.Cut(out, "::stop-commands::"); before != "" || !strings.Contains(after, "\n::") {
			t.Errorf("%s: commands are not stopped first of all:\n%s", row.name, out)
		}
	}
	if _, err := os.Stat(filepath.Join(r.work, "hacked")); err == nil {
		t.Error("an input was run")
	}
	for event, want := range map[string]string{"schedule": "0", "workflow_dispatch": "0", "pull_request": "64"} {
		out, _ := r.step("evaluate", nil, map[string]string{"GITHUB_EVENT_NAME": event})
		if got := r.outputs(); got["exit-code"] != want || (got["gate-verdict"] == "pass") != (want == "0") {
			t.Errorf("%s, and no change that is known: got %v\n%s", event, got, out)
		}
	}
	// what the change brings along is not written through
	outside := filepath.Join(t.TempDir(), "outside")
	writeFile(t, outside, "mine")
	for link, input := range map[string]string{"linked/result.json": "linked", "whole": "whole"} {
		writeFile(t, filepath.Join(r.work, "linked", "x"), "")
		if err := os.Symlink(outside, filepath.Join(r.work, link)); err != nil {
			t.Skip(err)
		}
		r.step("evaluate", map[string]string{"artifact-dir": input, "skip-if-unmatched": "false"}, nil)
		if got := r.outputs()["exit-code"]; got != map[string]string{"linked": "0", "whole": "64"}[input] {
			t.Errorf("%s: exit-code %s", link, got)
		}
	}
	if got := read(t, outside); got != "mine" {
		t.Errorf("a link was written through: %q", got)
	}
	for _, code := range []string{"0", "1", "31"} {
		if _, status := r.step("end", nil, map[string]string{"CODE": code}); status != int(code[len(code)-1]-'0')+len(code[1:])*30 {
			t.Errorf("exit-code %s ended with %d", code, status)
		}
	}
}

// comments is the part of GitHub's API that keeps comments.
type comments struct {
	sync.Mutex
	bodies []string
	login  string // of whoever wrote the first one
	refuse bool
	asked  []string
}

func (c *comments) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	c.Lock()
	defer c.Unlock()
	c.asked = append(c.asked, q.Method+" "+q.URL.Path)
	if q.Header.Get("Authorization") != "Bearer token-of-the-job" || c.refuse {
		http.Error(w, "{}", http.StatusForbidden)
		return
	}
	var sent struct{ Body string }
	if raw, _ := io.ReadAll(q.Body); len(raw) > 0 {
		if err := json.Unmarshal(raw, &sent); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch {
	case q.URL.Path == "/graphql":
		_, _ = io.WriteString(w, `{"data": {"viewer": {"login": "github-actions[bot]"}}}`)
	case q.Method == http.MethodGet:
		list := []map[string]any{}
		for i, body := range c.bodies {
			login := "github-actions[bot]"
			if i == 0 {
				login = c.login
			}
			list = append(list, map[string]any{"id": i, "body": body, "user": map[string]string{"login": login}})
		}
		_ = json.NewEncoder(w).Encode(list)
	case q.Method == http.MethodPost:
		c.bodies = append(c.bodies, sent.Body)
	default: // a token that may write may change everybody's
		i, err := strconv.Atoi(path.Base(q.URL.Path))
		if err != nil || i >= len(c.bodies) {
			http.Error(w, "{}", http.StatusNotFound)
			return
		}
		c.bodies[i] = sent.Body
	}
}

// kept are the comments as they stand.
func (c *comments) kept() []string {
	c.Lock()
	defer c.Unlock()
	return slices.Clone(c.bodies)
}

// TestActionComment keeps one comment for each manifest.
func TestActionComment(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	r := newRunner(t)
	// a stranger has guessed the mark, and would change the verdict later
	api := &comments{bodies: []string{report.CommentMark("bad-ci.yaml") + "\nLGTM"}, login: "mallory"}
	server := httptest.NewServer(api)
	defer server.Close()
	comment := func(should string) {
		t.Helper()
		out, status := r.step("Keep the comment up to date", nil, map[string]string{
			"TOKEN": "token-of-the-job", "NUMBER": "7", "SHOULD": should, "GITHUB_API_URL": server.URL,
		})
		if status != 0 || strings.Contains(out, "token-of-the-job") {
			t.Errorf("status %d\n%s", status, out)
		}
	}
	evaluate := func(inputs map[string]string) {
		t.Helper()
		r.step("evaluate", inputs, nil)
		r.outputs()
	}
	evaluate(map[string]string{"changed-files": "README.md"})
	comment("false")
	if len(api.kept()) != 1 {
		t.Errorf("a pull request that changes nothing got a comment: %q", api.kept())
	}
	evaluate(map[string]string{"manifest": "bad-ci.yaml", "skip-if-unmatched": "false"})
	comment("true")
	if len(api.kept()) != 2 || !strings.Contains(api.kept()[1], "## agentclash: failed\n") || !strings.HasPrefix(api.kept()[1], "<!-- agentclash:") {
		t.Fatalf("got %q", api.kept())
	}
	evaluate(map[string]string{"manifest": "bad-ci.yaml", "changed-files": "README.md"})
	comment("false")
	if len(api.kept()) != 2 || !strings.Contains(api.kept()[1], "## agentclash: skipped\n") {
		t.Fatalf("got %q", api.kept())
	}
	evaluate(map[string]string{"changed-files": "prompts/a"})
	comment("true")
	if len(api.kept()) != 3 || !strings.Contains(api.kept()[2], "## agentclash: passed\n") {
		t.Fatalf("another manifest's comment: got %q", api.kept())
	}
	if !strings.HasSuffix(api.kept()[0], "\nLGTM") {
		t.Errorf("a stranger's comment was changed: %q", api.kept()[0])
	}
	writeFile(t, filepath.Join(r.work, "agentclash-out", "comment.md"), "no comment of ours\n")
	comment("true")
	if len(api.kept()) != 3 {
		t.Errorf("got %q", api.kept())
	}
	evaluate(map[string]string{"changed-files": "prompts/a"})
	api.Lock()
	api.refuse = true
	api.Unlock()
	comment("true")
	if len(api.kept()) != 3 {
		t.Errorf("got %q", api.kept())
	}
}

// TestActionInstalls takes an archive from a server, and refuses one that is not
// what the checksums say.
func TestActionInstalls(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	releases := t.TempDir()
	dir := filepath.Join(releases, "v1.2.3")
	writeFile(t, filepath.Join(dir, "agentclash"), "#!/bin/sh\necho installed\n")
	if err := os.Chmod(filepath.Join(dir, "agentclash"), 0o755); err != nil {
		t.Fatal(err)
	}
	goos, arch := goEnv(t, "GOOS"), goEnv(t, "GOARCH")
	name := "agentclash_1.2.3_" + goos + "_" + arch + ".tar.gz"
	r.work = dir
	r.command("tar", "-czf", name, "agentclash")
	out, _ := r.run(nil, "sh", "-c", "sha256sum "+name+" > checksums.txt && echo ok")
	if !strings.Contains(out, "ok") {
		t.Skip("no sha256sum")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(releases)))
	defer server.Close()
	at := map[string]string{"AGENTCLASH_RELEASES": server.URL}
	if out, status := r.step("install", map[string]string{"cli-version": "v1.2.3"}, at); status != 0 {
		t.Fatalf("status %d\n%s", status, out)
	}
	if got := r.outputs()["source"]; got != "false" {
		t.Errorf("source is %q", got)
	}
	if out, status := r.run(nil, filepath.Join(r.env["RUNNER_TEMP"], "agentclash-bin", "agentclash")); status != 0 || out != "installed\n" {
		t.Errorf("got %q, status %d", out, status)
	}
	if got := read(t, r.env["GITHUB_PATH"]); !strings.HasSuffix(strings.TrimSpace(got), "agentclash-bin") {
		t.Errorf("the path gets %q", got)
	}
	if _, status := r.step("install", map[string]string{"cli-version": "v9.9.9", "source-fallback": "false"}, at); status != 20 {
		t.Errorf("a release that is not there ended with %d", status)
	}
	if _, status := r.step("install", map[string]string{"cli-version": "main"}, at); status != 0 || r.outputs()["source"] != "true" {
		t.Errorf("a branch is not built: %d", status)
	}
	if _, status := r.step("install", map[string]string{"cli-version": "-x; touch hacked"}, at); status != 64 {
		t.Errorf("a hostile version ended with %d", status)
	}
	writeFile(t, filepath.Join(dir, name), "tampered")
	if out, status := r.step("install", map[string]string{"cli-version": "v1.2.3"}, at); status != 20 || !strings.Contains(out, "is not what checksums.txt") {
		t.Errorf("a changed archive: status %d\n%s", status, out)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
