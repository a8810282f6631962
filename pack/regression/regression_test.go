package regression_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/review"
)

const packSource = `
pack: {slug: sums, name: Sums, family: math}
version:
  number: 1
  execution_mode: native
  tool_policy: {allowed_tool_kinds: [file]}
  assets: [{key: rules, path: rules.md}]
  evaluation_spec:
    name: sums
    version_number: 1
    judge_mode: deterministic
    validators:
      - {key: right, type: exact_match, target: final_output, expected_from: case.expectations.sum}
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges: [{key: add, title: Add, category: math, difficulty: easy, instructions: "What is {{n}}?"}]
input_sets:
  - key: default
    name: Default
    cases:
      - challenge_key: add
        case_key: a
        payload: {n: "1"}
        artifacts: [{key: rules}]
        expectations: [{key: sum, kind: text, value: "1"}]
      - challenge_key: add
        case_key: b
        payload: {n: 2, list: [1.5, true, null, "yes", "2026-01-01", "<<", " lead", "trail ", "a\n b\n", "\n", "\ttab", "x\r\ny", "\u0085\u2028\ue000", "# no"]}
        assets: [{key: note, path: notes/b.txt}, {key: raw, path: notes/b.bin}]
        expectations: [{key: sum, kind: text, value: "2"}]
`

// loaded is the pack of a directory of its own, after a change of its source.
func loaded(t *testing.T, change ...string) *pack.Pack {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"pack.yaml": strings.NewReplacer(change...).Replace(packSource), "rules.md": "be right\n", "notes/b.txt": "line\n  two\n", "notes/b.bin": "\x00\xff",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, problems, err := pack.Load(filepath.Join(dir, "pack.yaml"))
	if err != nil || p == nil {
		t.Fatal(err, problems)
	}
	return p
}

func plain(raw []byte) []byte { return raw }

// promoted is a case of the pack, as if an agent had failed it.
func promoted(t *testing.T, p *pack.Pack, key string, w regression.Wish) regression.Case {
	t.Helper()
	card := scoring.Scorecard{Validators: []scoring.ValidatorResult{{Key: "right", Type: "exact_match", State: scoring.Available, Verdict: "fail", Target: "final_output"}}}
	result := scoring.Trial{TrialID: "t", CaseKey: key, Repetition: 1, Attempt: 1, Outcome: scoring.OutcomeFailed, Scorecard: &card, FinalOutput: new("no\nidea")}
	item := review.New(review.Trial{RunID: "r", RunAgentID: "ra", Agent: "bot", ChallengeKey: "add", Result: result})
	if w.Mode == "" {
		w.Mode = review.FullExecutable
	}
	c, _, err := regression.Promote(regression.Failure{Pack: p, InputSet: "default", CaseKey: key, Item: item, Result: result, Now: time.Unix(0, 0)}, w, plain)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func suiteOf(t *testing.T, cases ...regression.Case) (*regression.Suite, []byte) {
	t.Helper()
	s := regression.New("sums", "sums", review.Warning, "", time.Unix(0, 0))
	s.Cases = cases
	src, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	got, problems := regression.Parse("sums.yaml", src)
	if got == nil {
		t.Fatalf("%v\n%s", problems, src)
	}
	return got, src
}

// TestPromotedCaseIsTheCase: what was promoted gives a trial exactly what the
// pack's case did, so that it is run once beside it.
func TestPromotedCaseIsTheCase(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	a, b := promoted(t, p, "a", regression.Wish{}), promoted(t, p, "b", regression.Wish{})
	s, src := suiteOf(t, a, b)
	again, err := regression.Append(func() []byte { _, first := suiteOf(t, a); return first }(), b)
	if err != nil || !bytes.Equal(again, src) {
		t.Errorf("appending makes another file (%v):\n%s\nthan writing both:\n%s", err, again, src)
	}
	if bytes.Contains(src, []byte("item_key")) || bytes.Contains(src, []byte("definition")) {
		t.Errorf("the file says things twice:\n%s", src)
	}
	f, err := regression.Fit(p, regression.Selection{Suites: []regression.Placed{{Suite: s, File: "sums.yaml"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Keys) != 2 || f.Keys[0] != "a" || f.Refs["b"][0] != (scoring.Regression{Suite: "sums", CaseID: "b", Severity: "warning"}) {
		t.Errorf("keys %v, refs %v", f.Keys, f.Refs)
	}
	was, _ := p.Digest()
	if is, _ := f.Pack.Digest(); is != was {
		t.Error("the pack is another one though nothing was added")
	}
}

// TestCaseOutlivesThePack: the case runs as it was when the pack has changed it,
// and when the pack has dropped it and its files.
func TestCaseOutlivesThePack(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	s, _ := suiteOf(t, promoted(t, p, "b", regression.Wish{}))
	placed := []regression.Placed{{Suite: s, File: "sums.yaml"}}
	digest, err := p.CaseDigest("default", "b")
	if err != nil {
		t.Fatal(err)
	}
	dropped := loaded(t, "case_key: b", "case_key: other", ", {key: raw, path: notes/b.bin}", "")
	f, err := regression.Fit(dropped, regression.Selection{Suites: placed})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Pack.CaseDigest("default", "b"); err != nil || got != digest {
		t.Errorf("the case's digest is %s (%v), it was %s", got, err, digest)
	}
	own, _ := dropped.Digest()
	if got, _ := f.Pack.Own().Digest(); got != own {
		t.Error("the pack without the case is not the pack")
	}
	manifest, err := f.Pack.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := pack.FromManifest(manifest, f.Pack.Assets(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := stored.Own().Digest(); got != own {
		t.Error("the stored pack without the case is not the pack")
	}
	changed := loaded(t, `case_key: b
        payload: {n: 2,`, `case_key: b
        payload: {n: 22,`)
	if f, err = regression.Fit(changed, regression.Selection{Suites: placed}); err != nil || f.Keys[0] != "sums/b" {
		t.Fatalf("keys %v, %v", f, err)
	}
	if got, err := f.Pack.CaseDigest("default", "sums/b"); err != nil || got == digest {
		t.Errorf("digest %s, %v", got, err)
	}
}

func TestFitRefuses(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	good := promoted(t, p, "b", regression.Wish{})
	withRules := promoted(t, p, "a", regression.Wish{})
	for name, tt := range map[string]struct {
		pack   *pack.Pack
		change func(*regression.Suite)
		want   string
	}{
		"another pack":        {loaded(t, "slug: sums", "slug: other"), nil, `suite: is of pack "sums", not of "other"`},
		"archived":            {p, func(s *regression.Suite) { s.Status = regression.Archived }, "suite: is archived"},
		"no such challenge":   {loaded(t, "key: add", "key: plus"), nil, `case b: the pack has no challenge "add" any more`},
		"no such validator":   {loaded(t, "key: right", "key: wrong"), nil, `case b: the pack has no validator "right" any more`},
		"another validator":   {loaded(t, "type: exact_match", "type: contains"), nil, `case b: the pack's validator "right" is of type contains, it was exact_match`},
		"another file":        {p, func(s *regression.Suite) { s.Cases[0].Files[0].SHA256 = strings.Repeat("0", 64) }, "is not the one that the case was promoted with"},
		"a file that is gone": {p, func(s *regression.Suite) { s.Cases[0].Document.Assets[0].Path = "notes/gone.txt" }, "its file notes/gone.txt is not among files"},
		"a case that is no case": {loaded(t, "case_key: b", "case_key: x"), func(s *regression.Suite) { s.Cases[0].Document.Inputs = []pack.CaseInput{{Key: "k"}} },
			"case b: inputs[0].kind is required"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := suiteOf(t, good, withRules)
			if tt.change != nil {
				tt.change(s)
			}
			_, err := regression.Fit(tt.pack, regression.Selection{Suites: []regression.Placed{{Suite: s, File: "sums.yaml"}}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			var problems pack.Problems
			if !errors.As(err, &problems) {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

func TestParseSaysEverything(t *testing.T) {
	t.Parallel()
	src := `schema_version: 1
suite: Big Name
status: sleeping
pack: sums
default_gate_severity: warnin
surprise: 1
cases:
  - id: a
    title: A
    status: active
    promotion_mode: full_executable
    case: {challenge_key: add, case_key: 7}
  - id: a
    status: active
    promotion_mode: full
    case: {challenge_key: add, case_key: b, colour: red}
    files: [{path: ../x, sha256: "00"}, {path: y, sha256: "00", text: hi}]
`
	s, problems := regression.Parse("sums.yaml", []byte(src))
	if s != nil {
		t.Fatal("it is taken for a suite")
	}
	for _, want := range []string{
		`sums.yaml:2:8: suite: "Big Name" is no name of a suite`,
		`sums.yaml:3:9: status: must be one of active, archived`,
		`sums.yaml:5:24: default_gate_severity: must be one of info, warning, blocking; did you mean "warning"?`,
		`sums.yaml:6:1: surprise: is not a key of the suite format`,
		`sums.yaml:12:42: cases[0].case.case_key: must be text`,
		`sums.yaml:13:9: cases[1].id: must be unique`,
		`cases[1].title: is required`,
		`cases[1].promotion_mode: must be one of full_executable, output_only, manual`,
		`cases[1].case.colour: is not a key of the suite format`,
		`cases[1].files[0].path: must be relative`,
		`cases[1].files[1].sha256: is not that of the file's bytes`,
	} {
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("%q is not said:\n%v", want, problems)
		}
	}
}

// TestHandEditsStay: comments, order and styles of a person survive a change.
func TestHandEditsStay(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	src := []byte(`# our checkout must never again do this
suite: sums # the name
pack: sums
schema_version: 1
status: active
default_gate_severity: blocking
cases:
  # seen on a Monday
  - id: first
    title: "First" # short
    status: proposed # look at it
    promotion_mode: manual
    case: {challenge_key: add, case_key: z, payload: {n: 3}}
`)
	out, err := regression.SetStatus(src, "first", regression.Active)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(string(src), "proposed", "active", 1); string(out) != want {
		t.Errorf("got:\n%s\nwant:\n%s", out, want)
	}
	out, err = regression.Append(out, promoted(t, p, "a", regression.Wish{}))
	if err != nil || !strings.HasPrefix(string(out), strings.Replace(string(src), "proposed", "active", 1)) {
		t.Errorf("appending changes what was there (%v):\n%s", err, out)
	}
	out, err = regression.SetStatus(out, "", regression.Archived)
	if err != nil || !strings.Contains(string(out), "\nstatus: archived\n") || !strings.Contains(string(out), "# look at it") {
		t.Errorf("archiving: %v\n%s", err, out)
	}
	shared := []byte("schema_version: 1\nsuite: s\nstatus: &on active\npack: p\ndefault_gate_severity: info\ncases:\n  - {id: a, title: A, status: *on, promotion_mode: manual, case: {challenge_key: c, case_key: k}}\n")
	if out, err := regression.SetStatus(shared, "a", regression.Muted); err == nil {
		t.Errorf("an alias is changed for all who use it:\n%s", out)
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	all := []string{regression.Proposed, regression.Active, regression.Muted, regression.Archived, regression.Rejected}
	allowed := map[string]string{
		regression.Proposed: "active archived rejected", regression.Active: "muted archived", regression.Muted: "active archived",
	}
	for _, from := range all {
		for _, to := range all {
			want := strings.Contains(" "+allowed[from]+" ", " "+to+" ")
			if err := regression.CheckMove(from, to); (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
		}
	}
	if regression.Runs(regression.Proposed, false) || !regression.Runs(regression.Proposed, true) || regression.Runs(regression.Muted, true) {
		t.Error("the wrong cases run")
	}
}

func TestSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	p := loaded(t, `"# no"`, `"key sk-very-secret-123"`)
	item := review.New(review.Trial{Agent: "bot", ChallengeKey: "add", Result: scoring.Trial{CaseKey: "b", Outcome: scoring.OutcomeFailed}})
	hide := func(raw []byte) []byte {
		return bytes.ReplaceAll(raw, []byte("sk-very-secret-123"), []byte("[redacted]"))
	}
	c, changed, err := regression.Promote(regression.Failure{Pack: p, InputSet: "default", CaseKey: "b", Item: item, Now: time.Unix(0, 0)},
		regression.Wish{Mode: review.FullExecutable, Summary: "it said sk-very-secret-123"}, hide)
	if err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	if _, src := suiteOf(t, c); bytes.Contains(src, []byte("very-secret")) || !bytes.Contains(src, []byte("[redacted]")) {
		t.Errorf("the file holds the secret:\n%s", src)
	}
	inFile := func(raw []byte) []byte { return bytes.ReplaceAll(raw, []byte("line"), []byte("[redacted]")) }
	_, _, err = regression.Promote(regression.Failure{Pack: p, InputSet: "default", CaseKey: "b", Item: item}, regression.Wish{}, inFile)
	if err == nil || !strings.Contains(err.Error(), "notes/b.txt") {
		t.Errorf("a file with a secret: %v", err)
	}
}

func TestOutputOnly(t *testing.T) {
	t.Parallel()
	c := promoted(t, loaded(t), "a", regression.Wish{Mode: review.OutputOnly})
	if c.Output == nil || *c.Output != "no\nidea" || len(c.Expects.Validators) != 1 {
		t.Errorf("the case is %+v", c)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	a, b := promoted(t, p, "a", regression.Wish{}), promoted(t, p, "b", regression.Wish{})
	s, _ := suiteOf(t, a)
	other := a
	other.Source = &regression.Source{ClusterKey: "frc_other"}
	// what somebody mends in the file stays the case that was promoted
	mended, _ := suiteOf(t, a)
	mended.Cases[0].Document.Expectations = nil
	// and one that has changed in the pack is another, though it fails alike
	changed := promoted(t, loaded(t, `payload: {n: "1"}`, `payload: {n: "11"}`), "a", regression.Wish{})
	changed.Source.ClusterKey = a.Source.ClusterKey
	if s.Same(a) != 0 || s.Same(b) != -1 || s.Same(other) != 0 || mended.Same(a) != 0 || mended.Same(other) != -1 || s.Same(changed) != -1 {
		t.Errorf("same: %d %d %d %d %d %d", s.Same(a), s.Same(b), s.Same(other), mended.Same(a), mended.Same(other), s.Same(changed))
	}
	if got := s.FreeID("a"); got != "a-2" {
		t.Errorf("a free id is %s", got)
	}
}

// TestTextsSurvive writes texts of every kind and reads them back.
func TestTextsSurvive(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("ab \n\t\r\"'#:-?[]{}&*!|>%@`\\\u0085\u00a0\u2028\ufeff\U0001f600é0~=<")
	for range 200 {
		text := make([]rune, random.IntN(12))
		for i := range text {
			text[i] = alphabet[random.IntN(len(alphabet))]
		}
		c := regression.Case{ID: "a", Title: "t" + string(text), Status: regression.Active, Mode: review.FullExecutable,
			Document: pack.Case{ChallengeKey: "add", CaseKey: "k", Payload: map[string]any{"t": string(text), "k" + string(text): []any{string(text)}}}}
		got, _ := suiteOf(t, c)
		want, _ := json.Marshal(c.Document.Payload)
		if is, _ := json.Marshal(got.Cases[0].Document.Payload); !bytes.Equal(is, want) || got.Cases[0].Title != c.Title {
			t.Fatalf("%q came back as %s", string(text), is)
		}
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	deep := filepath.Join(root, "repo", "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(root, ".agentclash")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := regression.Home(deep, own); got != filepath.Join(deep, ".agentclash", "regressions") {
		t.Errorf("without a project it is %s", got)
	}
	if err := os.WriteFile(filepath.Join(root, "repo", ".agentclash.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := regression.Home(deep, own); got != filepath.Join(root, "repo", ".agentclash", "regressions") {
		t.Errorf("it is %s", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("schema_version: 1\nsuite: s\nstatus: active\npack: p\ndefault_gate_severity: info\ncases:\n  - {id: a, title: A, status: active, promotion_mode: manual, case: {challenge_key: c, case_key: k}}\n"))
	f.Add([]byte("cases: [null, {id: 1}]\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, problems := regression.Parse("s.yaml", src)
		if s == nil {
			if problems.Err() == nil {
				t.Fatal("no suite, and no problem")
			}
			return
		}
		out, err := s.Source()
		if err != nil {
			return
		}
		if again, problems := regression.Parse("s.yaml", out); again == nil {
			t.Fatalf("what was written cannot be read: %v\n%s", problems, out)
		}
	})
}
