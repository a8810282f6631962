package pack_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

func TestInputSet(t *testing.T) {
	t.Parallel()
	p := everything(t) // keys modern and legacy, names Modern and Legacy
	for _, row := range []struct {
		selector, want string
		err            error
	}{
		{"modern", "modern", nil},
		{"Modern", "modern", nil},
		{"LEGACY", "legacy", nil},
		{"mod", "", pack.ErrNotFound},
		{"", "", pack.ErrAmbiguous},
	} {
		set, err := p.InputSet(row.selector)
		if set.Key != row.want || !errors.Is(err, row.err) {
			t.Errorf("%q: got %q, %v; want %q, %v", row.selector, set.Key, err, row.want, row.err)
		}
		if err != nil && !strings.Contains(err.Error(), `"modern", "legacy"`) {
			t.Errorf("%q: error %q does not name the keys", row.selector, err)
		}
	}
	if set, err := parsed(t, edgeBase).InputSet(""); err != nil || set.Key != "set" {
		t.Errorf("the only set: got %q, %v", set.Key, err)
	}
	twins := parsed(t, edgeBase+"  - {key: SET, name: Other, cases: [{challenge_key: c1, case_key: k}]}\n")
	if set, err := twins.InputSet("SET"); err != nil || set.Key != "SET" {
		t.Errorf("exact key beside a similar one: got %q, %v", set.Key, err)
	}
	if _, err := twins.InputSet("sEt"); !errors.Is(err, pack.ErrAmbiguous) {
		t.Errorf("two similar keys: got %v, want ErrAmbiguous", err)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	c := pack.Case{
		Payload: map[string]any{"who": "payload", "n": int64(3), "nothing": nil},
		Inputs: []pack.CaseInput{
			{Key: "who", Kind: "text", Value: "input"},
			{Key: "n", Kind: "text"},
		},
	}
	const text = "{{who}} {{n}} {{nothing}} {{missing}} {{who.deep}} {{missing}}"
	const want = "input 3 null {{missing}} {{who.deep}} {{missing}}"
	if got := c.Render(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got, missing := c.RenderStrict(text)
	if diff := cmp.Diff([]string{"missing", "who.deep"}, missing); got != want || diff != "" {
		t.Errorf("strict: got %q (-want +got):\n%s", got, diff)
	}
}

func TestStoredCase(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, yaml, want string }{
		{"nothing", "", `{}`},
		{"payload alone", "payload: {b: 1, a: '<'}", `{"a":"\u003c","b":1}`},
		{"empty lists", "payload: {a: 1}, inputs: [], expectations: []", `{"a":1}`},
		{"a timeout", "payload: {a: 1}, case_timeout_seconds: 5", `{"schema_version":1,"case_key":"k","payload":{"a":1},"case_timeout_seconds":5}`},
		{"an input", "inputs: [{key: i, kind: text, value: false}]", `{"schema_version":1,"case_key":"k","inputs":[{"key":"i","kind":"text","value":false}]}`},
		{"a payload that looks stored", "payload: {schema_version: 3}", `{"schema_version":1,"case_key":"k","payload":{"schema_version":3}}`},
	} {
		src := strings.Replace(edgeBase, "case_key: k1}", "case_key: k, "+row.yaml+"}", 1)
		if got := string(pack.StoredCase(parsed(t, src).InputSets[0].Cases[0])); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

func TestScoringCase(t *testing.T) {
	t.Parallel()
	p := everything(t)
	set, err := p.InputSet("modern")
	if err != nil {
		t.Fatal(err)
	}
	want := scoring.Case{
		Key: "full", ChallengeKey: "first",
		Payload: json.RawMessage(`{"limits":{"max":9},"workspace_files":[{"content":"exit 0\n","path":"check.sh"}]}`),
		Inputs: map[string]scoring.CaseInput{
			"mode":  {Kind: "text", Value: json.RawMessage(`"fast"`)},
			"table": {Kind: "artifact", ArtifactKey: "data"},
			"extra": {Kind: "workspace", Value: json.RawMessage(`[{"content":"x","path":"/workspace/deep/er/file.txt"}]`)},
		},
		Expectations: map[string]scoring.CaseInput{
			"answer": {Kind: "text", Value: json.RawMessage(`"42"`)},
			"echo":   {Kind: "text", Source: "input: mode"},
			"gold":   {Kind: "file", Source: "artifact:gold"},
		},
		Artifacts: map[string]scoring.AssetEvidence{
			"data": {Key: "data", Kind: "table", Path: "files/data.csv", MediaType: "text/csv", Text: new("a,b\n1,2\n")},
			"gold": {Key: "gold", Path: "./files/gold.txt", Text: new("the gold\n")},
			"own":  {Key: "own", Kind: "blob", Path: "files/own.bin", Unread: "it is not UTF-8"},
		},
	}
	if diff := cmp.Diff(want, p.ScoringCase(set.Cases[0])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// paths are the staged files as "path=text".
func paths(files []pack.StagedFile) []string {
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimPrefix(f.Path, "/workspace/")+"="+string(f.Data))
	}
	return out
}

const stagingPack = `pack: {slug: s, name: S, family: tests}
version:
  number: 1
  execution_mode: native
  assets:
    - {key: shared, path: shared.txt}
    - {key: gold1, path: gold1.txt}
    - {key: gold2, path: gold2.txt}
    - {key: both, path: ./both.txt}
    - {key: gold1-again, path: ./gold1.txt}
  evaluation_spec:
    name: s-v1
    version_number: 1
    judge_mode: deterministic
    validators:
      - {key: same, type: exact_match, target: final_output, expected_from: "literal:ok"}
    scorecard: {dimensions: [correctness]}
challenges:
  - key: c
    title: C
    category: general
    difficulty: easy
    assets:
      - {key: task, path: task.txt}
      - {key: rubric, path: rubric.txt}
input_sets:
  - key: one
    name: One
    cases:
      - challenge_key: c
        case_key: k1
        payload: {workspace_files: [{path: dir/in.txt, content: payload}, {path: /workspace/shared.txt, content: mine}]}
        inputs:
          - {key: more, kind: workspace, value: [{path: dir/in.txt, content: input}]}
          - {key: table, kind: file, artifact_key: both}
        expectations:
          - {key: a, kind: file, artifact_key: gold1}
          - {key: b, kind: file, source: "artifact:both"}
          - {key: c, kind: file, source: "artifact: rubric"}
        assets:
          - {key: own, path: own.txt}
  - key: two
    name: Two
    cases:
      - challenge_key: c
        case_key: k2
        expectations:
          - {key: a, kind: file, artifact_key: gold2}
`

func stagingFiles() fstest.MapFS {
	fsys := fstest.MapFS{"pack.yaml": {Data: []byte(stagingPack)}}
	for _, name := range []string{"shared", "gold1", "gold2", "both", "task", "rubric", "own"} {
		fsys[name+".txt"] = &fstest.MapFile{Data: []byte(strings.ToUpper(name))}
	}
	return fsys
}

// What only expectations refer to, be it those of another case, never reaches
// an agent.
func TestStaging(t *testing.T) {
	t.Parallel()
	loaded, problems, err := pack.LoadFS(stagingFiles(), "pack.yaml")
	if err != nil || loaded == nil {
		t.Fatal(err, problems)
	}
	restored, err := pack.FromManifest(manifest(t, loaded), loaded.Assets(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*pack.Pack{"loaded": loaded, "from manifest": restored} {
		k1, k2 := p.InputSets[0].Cases[0], p.InputSets[1].Cases[0]
		for _, row := range []struct {
			what string
			got  []pack.StagedFile
			want []string
		}{
			{"k1's workspace", p.WorkspaceFiles(k1), []string{"both.txt=BOTH", "dir/in.txt=input", "own.txt=OWN", "shared.txt=mine", "task.txt=TASK"}},
			{"k1's graders", p.GraderFiles(k1), []string{"gold1.txt=GOLD1", "rubric.txt=RUBRIC"}},
			{"k2's workspace", p.WorkspaceFiles(k2), []string{"shared.txt=SHARED", "task.txt=TASK"}},
			{"k2's graders", p.GraderFiles(k2), []string{"gold2.txt=GOLD2"}},
		} {
			if diff := cmp.Diff(row.want, paths(row.got)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, row.what, diff)
			}
		}
	}
}

const secretive = `pack: {slug: view, name: View, family: FAMILYTOKEN, description: DESCRIPTIONTOKEN}
version:
  number: 31337
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file]}
  filesystem: {max_workspace_bytes: 777777}
  sandbox: {env_vars: {TOKEN: ENVTOKEN}, sandbox_template_id: IMAGETOKEN}
  assets:
    - {key: visible, path: visible.txt, kind: KINDTOKEN, media_type: MEDIATOKEN}
    - {key: hidden, path: HIDDENPATHTOKEN.txt}
  evaluation_spec:
    name: SPECTOKEN
    version_number: 1
    judge_mode: deterministic
    validators:
      - {key: VALIDATORTOKEN, type: exact_match, target: final_output, expected_from: "literal:LITERALTOKEN"}
    scorecard: {dimensions: [correctness]}
tools: {denied: [exec]}
challenges:
  - key: c
    title: Title
    category: Category
    difficulty: easy
    instructions: Do it.
    definition: {hint: look}
  - {key: other, title: OTHERCHALLENGETOKEN, category: general, difficulty: easy}
input_sets:
  - key: SETTOKEN
    name: SETNAMETOKEN
    description: SETDESCRIPTIONTOKEN
    cases:
      - challenge_key: c
        case_key: k1
        item_key: ITEMTOKEN
        case_timeout_seconds: 4242
        payload:
          question: why
          workspace_files: [{path: in.txt, content: FILETOKEN}]
        inputs:
          - {key: i, kind: text, value: hello}
          - {key: f, kind: file, artifact_key: visible, path: part}
          - {key: w, kind: workspace, value: [{path: more.txt, content: MORETOKEN}]}
          - {key: g, kind: file, artifact_key: visible}
        expectations:
          - {key: EXPECTATIONTOKEN, kind: text, value: VALUETOKEN}
          - {key: e2, kind: text, source: "input:i"}
          - {key: e3, kind: file, artifact_key: hidden}
      - {challenge_key: c, case_key: OTHERCASETOKEN, payload: {x: OTHERPAYLOADTOKEN}}
`

// The view is an allow-list: this is all of it, and nothing that the pack
// marks as not for the agent is anywhere in it or in a staged path.
func TestAgentView(t *testing.T) {
	t.Parallel()
	fsys := fstest.MapFS{
		"pack.yaml":           {Data: []byte(secretive)},
		"visible.txt":         {Data: []byte("BYTESTOKEN")},
		"HIDDENPATHTOKEN.txt": {Data: []byte("HIDDENTOKEN")},
	}
	p, problems, err := pack.LoadFS(fsys, "pack.yaml")
	if err != nil || p == nil {
		t.Fatal(err, problems)
	}
	c := p.InputSets[0].Cases[0]
	got, err := json.Marshal(p.AgentView(c))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"pack":{"slug":"view","name":"View"},` +
		`"challenge":{"key":"c","title":"Title","category":"Category","difficulty":"easy","instructions":"Do it.","definition":{"hint":"look"}},` +
		`"case":{"case_key":"k1","payload":{"question":"why"},"inputs":[{"key":"i","kind":"text","value":"hello"},` +
		`{"key":"f","kind":"file","file":"/workspace/visible.txt","path":"part"},{"key":"w","kind":"workspace"},` +
		`{"key":"g","kind":"file","file":"/workspace/visible.txt"}]},` +
		`"workspace_files":["/workspace/in.txt","/workspace/more.txt","/workspace/visible.txt"]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Contains(string(got), "TOKEN") {
		t.Errorf("the view leaks: %s", got)
	}
	for _, f := range p.WorkspaceFiles(c) {
		if strings.Contains(f.Path, "TOKEN") || strings.Contains(string(f.Data), "HIDDEN") {
			t.Errorf("staged for the agent: %s", f.Path)
		}
	}
}

func TestPrompt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, yaml, want string }{
		{"instructions", "instructions: ' do '", "do"},
		{"definition wins", "instructions: do, definition: {instructions: this}", "this"},
		{"definition alone", "definition: {instructions: this}", "this"},
		{"definition null", "instructions: do, definition: {instructions: null}", "do"},
		{"neither", "", ""},
	} {
		src := strings.Replace(edgeBase, "    difficulty: easy\n", "    difficulty: easy\n    <<: {"+row.yaml+"}\n", 1)
		if got := parsed(t, src).Challenges[0].Prompt(); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestModeAndWorkspaceBytes(t *testing.T) {
	t.Parallel()
	p := parsed(t, strings.Replace(edgeBase, "  execution_mode: native\n", "  filesystem: {max_workspace_bytes: 4096}\n", 1))
	if p.Mode() != pack.Native || p.BoxLimits() != (pack.BoxLimits{WorkspaceBytes: 4096}) {
		t.Errorf("got %q, %d", p.Mode(), p.BoxLimits())
	}
	if got := parsed(t, edgeBase).BoxLimits(); got != (pack.BoxLimits{}) {
		t.Errorf("without a limit: got %d", got)
	}
}
