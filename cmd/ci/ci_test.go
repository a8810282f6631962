package ci_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
)

const short = `version: 1
trigger: {paths: [%s]}
candidate: {deployment: {model: openai/m}}
evaluation: {pack: p.yaml}
baseline: {file: b.json}
`

func manifest(t *testing.T, paths string) *ci.Manifest {
	t.Helper()
	m, problems := ci.Parse("ci.yaml", []byte(strings.Replace(short, "%s", paths, 1)))
	if m == nil {
		t.Fatal(problems)
	}
	return m
}

func TestSampleIsValid(t *testing.T) {
	t.Parallel()
	if m, problems := ci.Parse("sample.yaml", ci.Sample); m == nil {
		t.Fatal(problems)
	}
	// and with everything that it has as a comment
	all := strings.NewReplacer("# - ", "- ", "# labels", "labels", "# input_set", "input_set", "# repetitions", "repetitions", "# min_pass_rate", "min_pass_rate",
		"# budget_usd", "budget_usd", "# replay", "replay", "# regression_", "regression_", "# max_age", "max_age", "# refresh", "refresh", "# policy_file", "policy_file").
		Replace(string(ci.Sample))
	m, problems := ci.Parse("sample.yaml", []byte(all))
	if m == nil {
		t.Fatal(problems)
	}
	if *m.Evaluation.Repetitions != 3 || m.Evaluation.Replay == "" || len(m.Trigger.Labels) != 1 || len(m.Trigger.Paths) != 4 || m.Gate.PolicyFile == "" {
		t.Errorf("got %+v", m)
	}
}

func TestTrigger(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		pattern, file string
		want          bool
	}{
		{`"prompts/**"`, "prompts/a.md", true}, {`"prompts/**"`, "prompts/deep/er/.hidden", true}, {`"prompts/**"`, "other/prompts/a.md", false},
		{`"prompts/*"`, "prompts/deep/a.md", false}, {`"**/*.md"`, "a.md", true}, {`"**"`, "any/thing", true}, {`"{a,b}/*.txt"`, "b/x.txt", true},
		{`"p/[a-c].md"`, "p/b.md", true}, {`"p/*.md"`, "p/with\nline.md", true}, {`"p/*.md"`, "p/latin\xe9.md", true}, {`"P/*"`, "p/a", false},
	} {
		d := manifest(t, row.pattern).ShouldRun("ci.yaml", ci.Change{Files: []string{row.file}})
		if d.ShouldRun != row.want {
			t.Errorf("%s on %q: got %v, %s", row.pattern, row.file, d.ShouldRun, d.Reason)
		}
	}
	if d := manifest(t, "a").ShouldRun("ci.yaml", ci.Change{}); d.ShouldRun || d.MatchedPaths == nil || d.MatchedLabels == nil {
		t.Errorf("nothing has changed: got %+v", d)
	}
}

func TestPatternsThatMatchNothingAreRefused(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`""`, `"!a"`, `"/a"`, `"./a"`, `"a/"`, `"a/../b"`, `"a["`, `"{a"`} {
		if m, _ := ci.Parse("ci.yaml", []byte(strings.Replace(short, "%s", pattern, 1))); m != nil {
			t.Errorf("%s is taken", pattern)
		}
	}
}

// TestStatuses is the table of gate.fail_on.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for failOn, want := range map[string][4]int{ci.FailOnRegression: {0, 1, 0, 3}, ci.FailOnWarning: {0, 1, 2, 3}, ci.FailOnInsufficient: {0, 1, 2, 3}} {
		for i, v := range []compare.Verdict{compare.Pass, compare.Fail, compare.Warn, compare.InsufficientEvidence} {
			if got := (ci.Gate{FailOn: failOn}).VerdictStatus(v); got != want[i] {
				t.Errorf("%s of %s: got %d, want %d", failOn, v, got, want[i])
			}
		}
		if got := (ci.Gate{FailOn: failOn}).VerdictStatus("something new"); got == 0 {
			t.Errorf("%s: an unknown verdict passes", failOn)
		}
	}
	for status := range 256 {
		if ci.FailureStatus(status) == 0 || ci.RunStatus(status) == 0 {
			t.Errorf("a failure of status %d ends a job with 0", status)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	const pull = `{"pull_request": {"number": 7, "labels": [{"name": "x"}], "base": {"sha": "b"}, "head": {"sha": "h"}}, "repository": {"default_branch": "main"}}`
	const push = `{"before": "b", "after": "h", "repository": {"default_branch": "main"}}`
	github := func(event, ref string) map[string]string {
		return map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_REF": ref}
	}
	for _, row := range []struct {
		name  string
		env   map[string]string
		event string
		want  string // why it is none of the default branch
		base  string
	}{
		{"a pull request", github("pull_request", "refs/pull/7/merge"), pull, ci.ReasonPullRequest, "b"},
		{"one that runs on the base branch", github("pull_request_target", "refs/heads/main"), pull, ci.ReasonPullRequest, "b"},
		{"a ref alone", github("push", "refs/pull/7/merge"), push, ci.ReasonPullRequest, "b"},
		{"main", github("push", "refs/heads/main"), push, "", "b"},
		{"a new branch", github("push", "refs/heads/new"), `{"before": "0000", "repository": {"default_branch": "main"}}`, ci.ReasonOtherBranch, ""},
		{"a tag called main", github("push", "refs/tags/main"), push, ci.ReasonOtherBranch, "b"},
		{"no event file", github("push", "refs/heads/main"), "", ci.ReasonNoDefaultBranch, ""},
		{"a comment", github("issue_comment", "refs/heads/main"), push, ci.ReasonOtherEvent, "b"},
		{"another workflow", github("workflow_run", "refs/heads/main"), push, ci.ReasonOtherEvent, "b"},
		{"a merge queue", github("merge_group", "refs/heads/gh-readonly-queue/main/pr-7"), `{"merge_group": {"base_sha": "b", "head_sha": "h"}, "repository": {"default_branch": "main"}}`, ci.ReasonOtherEvent, "b"},
		{"nothing known", nil, "", ci.ReasonNoDefaultBranch, ""},
		{"GitLab's main", map[string]string{"GITLAB_CI": "true", "CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main", "CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BEFORE_SHA": "b"}, "", "", "b"},
		{"GitLab's merge request", map[string]string{"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "3", "CI_DEFAULT_BRANCH": "main", "CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "b"}, "", ci.ReasonPullRequest, "b"},
	} {
		m, err := ci.Environment(func(name string) string { return row.env[name] }, []byte(row.event))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.OnMain(); got != row.want || m.Base != row.base {
			t.Errorf("%s: got %q with base %q, want %q with %q: %+v", row.name, got, m.Base, row.want, row.base, m)
		}
		for _, policy := range []string{ci.Disabled, ci.Proposed, ci.AutoOnMain} {
			status, blocked := ci.Regressions{PromoteFailures: policy}.PromotionStatus(m)
			if (status == "") == (blocked == "") || status == "active" && row.want != "" {
				t.Errorf("%s, %s: got %q, %q", row.name, policy, status, blocked)
			}
		}
		if r := (ci.Baseline{Refresh: ci.AutoOnMain, File: "b.json"}).Plan(compare.Pass, m); (r.Status == ci.RefreshWritten) != (row.want == "") {
			t.Errorf("%s: the baseline is %s", row.name, r.Status)
		}
	}
	for _, v := range []compare.Verdict{compare.Warn, compare.Fail, compare.InsufficientEvidence} {
		for _, policy := range []string{ci.Propose, ci.AutoOnMain} {
			m := ci.Metadata{Branch: "main", DefaultBranch: "main", Event: "push"}
			if r := (ci.Baseline{Refresh: policy, File: "b.json"}).Plan(v, m); r.Status != ci.RefreshSkipped {
				t.Errorf("%s after %s: the baseline is %s", policy, v, r.Status)
			}
		}
	}
	if _, err := ci.Environment(func(string) string { return "" }, []byte("{")); err == nil {
		t.Error("a damaged event is believed")
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC)
	good := compare.Snapshot{
		Identity:  compare.Identity{Pack: compare.PackRef{Slug: "p"}, InputSet: "default", EvaluationSpecDigest: "s", RanAt: now.AddDate(0, 0, -30)},
		Scorecard: &scoring.AgentScorecard{PassedTrials: 1}, Cases: []compare.CaseResult{{CaseKey: "a", Digest: "1", Valid: 1}, {CaseKey: "b", Digest: "2"}},
	}
	target := ci.Target{Slug: "p", InputSet: "default", SpecDigest: "s", Digests: map[string]string{"a": "1", "b": "2", "c": "3"}}
	for _, row := range []struct {
		name   string
		change func(*compare.Snapshot, *ci.Baseline)
		want   string
	}{
		{"as it is", func(*compare.Snapshot, *ci.Baseline) {}, ""},
		{"another pack", func(s *compare.Snapshot, _ *ci.Baseline) { s.Pack.Slug = "q" }, compare.ReasonPackMismatch},
		{"another input set", func(s *compare.Snapshot, _ *ci.Baseline) { s.InputSet = "q" }, compare.ReasonInputSetMismatch},
		{"another spec", func(s *compare.Snapshot, _ *ci.Baseline) { s.EvaluationSpecDigest = "q" }, compare.ReasonSpecMismatch},
		{"nothing scored", func(s *compare.Snapshot, _ *ci.Baseline) { s.Scorecard = nil }, ci.ReasonNothingMeasured},
		{"all invalid", func(s *compare.Snapshot, _ *ci.Baseline) { s.Scorecard = &scoring.AgentScorecard{InvalidTrials: 2} }, ci.ReasonNothingMeasured},
		{"other cases", func(s *compare.Snapshot, _ *ci.Baseline) { s.Cases = s.Cases[1:] }, compare.ReasonCoverageMismatch},
		{"old enough", func(_ *compare.Snapshot, b *ci.Baseline) { b.MaxAgeDays = new(30.0) }, ""},
		{"too old", func(_ *compare.Snapshot, b *ci.Baseline) { b.MaxAgeDays = new(29.5) }, ci.ReasonStaleBaseline},
		{"of no date", func(s *compare.Snapshot, b *ci.Baseline) { s.RanAt, b.MaxAgeDays = time.Time{}, new(30.0) }, ci.ReasonUnknownAge},
	} {
		s, b := good, ci.Baseline{File: "b.json"}
		s.Cases = slices.Clone(s.Cases)
		row.change(&s, &b)
		r := b.Resolve(s, target, now)
		if r.ReasonCode != row.want || r.Compatible != (row.want == "") || (r.Reason == "") != r.Compatible {
			t.Errorf("%s: got %+v, want %q", row.name, r, row.want)
		}
		if row.want == "" && (r.Shared != 1 || r.Cases != 3) {
			t.Errorf("%s: %d of %d cases are shared", row.name, r.Shared, r.Cases)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(ci.Sample)
	f.Add([]byte(short))
	f.Fuzz(func(t *testing.T, src []byte) {
		m, problems := ci.Parse("ci.yaml", src)
		if (m == nil) != (problems.Err() != nil) {
			t.Errorf("got %v and %v", m, problems)
		}
		for _, p := range problems.Errors() {
			if p.Line < 1 || p.Message == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
	})
}
