package ci

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring/stats"
)

// maxRepetitions is what eval start takes as --repetitions.
const maxRepetitions = 100

// checks says what is wrong with a manifest, all of it.
type checks struct {
	d *pack.Document
	m *Manifest
}

func (c checks) all() {
	if c.m.Version != Version {
		c.d.Fail("version", "must be %d, which is what this version reads", Version)
	}
	c.trigger()
	c.candidate()
	c.evaluation()
	c.baseline()
	c.oneOf("gate.fail_on", c.m.Gate.FailOn, FailOnRegression, FailOnWarning, FailOnInsufficient)
	c.path("gate.policy_file", c.m.Gate.PolicyFile)
	c.oneOf("regressions.promote_failures", c.m.Regressions.PromoteFailures, Disabled, Proposed, AutoOnMain)
}

func (c checks) oneOf(field, got string, words ...string) {
	if !slices.Contains(words, got) {
		c.d.Fail(field, "must be one of %s%s", strings.Join(words, ", "), pack.DidYouMean(got, words))
	}
}

// path refuses what is no path of the repository: a job must not depend on what
// else is on its machine.
func (c checks) path(field, value string) {
	if value == "" {
		return
	}
	switch {
	case !filepath.IsLocal(filepath.FromSlash(value)) || strings.HasPrefix(value, "/"):
		c.d.Fail(field, "must be a path inside the repository, from its root, not %q", value)
	case strings.Contains(value, `\`):
		c.d.Fail(field, "is written with / between directories, not %q", value)
	}
}

func (c checks) trigger() {
	if len(c.m.Trigger.Paths) == 0 {
		c.d.Fail("trigger.paths", `is required: the files whose changes want an evaluation, such as "prompts/**"; "**" is all of them`)
	}
	for i, p := range c.m.Trigger.Paths {
		if why := deadPattern(p); why != "" {
			c.d.Fail(fmt.Sprintf("trigger.paths[%d]", i), "%s", why)
		}
	}
	for i, label := range c.m.Trigger.Labels {
		if strings.TrimSpace(label) == "" {
			c.d.Fail(fmt.Sprintf("trigger.labels[%d]", i), "is empty")
		}
	}
}

// deadPattern says why a pattern could match no file of a repository, "" for one
// that could: a trigger that never fires looks like nothing to do.
func deadPattern(p string) string {
	clean := strings.TrimPrefix(strings.TrimLeft(p, "/"), "./")
	switch {
	case strings.TrimSpace(p) == "":
		return "is empty"
	case strings.HasPrefix(p, "!"):
		return "begins with !, and there are no exclusions: name what is to match"
	case strings.HasPrefix(p, "/"), strings.HasPrefix(p, "./"):
		return fmt.Sprintf("would match nothing: paths begin at the repository's root; write %q", clean)
	case slices.Contains(strings.Split(p, "/"), ".."), slices.Contains(strings.Split(p, "/"), "."):
		return "would match nothing: no path in a repository has the part .. or ."
	case strings.HasSuffix(p, "/"):
		return fmt.Sprintf("would match nothing: files have no / at their end; write %q", p+"**")
	case !doublestar.ValidatePattern(p):
		return fmt.Sprintf("%q is no pattern: a bracket or a backslash in it has no end", p)
	}
	return ""
}

func (c checks) candidate() {
	b, d := c.m.Candidate.Build, c.m.Candidate.Deployment
	const spec, deployment = "candidate.build.spec_file", "candidate.deployment"
	c.path(spec, b.SpecFile)
	c.path(deployment+".system_file", d.SystemFile)
	if d.System != "" && d.SystemFile != "" {
		c.d.Fail(deployment+".system_file", "and system are two system prompts: choose one")
	}
	inline := d.Model != "" || d.System != "" || d.SystemFile != "" || d.ProviderAccountID != "" || b.AgentBuildID != ""
	switch {
	case b.SpecFile != "" && b.AgentBuildID != "":
		c.d.Fail("candidate.build.agent_build_id", "and spec_file say the agent twice: write the build into spec_file, or leave that out")
	case b.SpecFile != "" && inline:
		c.d.Fail(spec, "and candidate.deployment say the agent twice: beside spec_file a deployment has a name at most")
	case inline && d.Model == "":
		c.d.Fail(deployment+".model", "is required, as provider/model: the deployment is written out here; with a name alone it is a stored one")
	case b.SpecFile == "" && !inline && d.Name == "" && c.m.Evaluation.Replay == "":
		c.d.Fail("candidate", "names no agent: give deployment.model, deployment.name or build.spec_file")
	}
}

func (c checks) evaluation() {
	e := c.m.Evaluation
	const at = "evaluation."
	c.synonym(at+"pack", e.Pack, at+"challenge_pack_version_id", e.ChallengePackVersionID)
	c.synonym(at+"input_set", e.InputSet, at+"input_set_id", e.InputSetID)
	if e.PackRef() == "" {
		c.d.Fail(at+"pack", "is required: the pack's file, or a stored pack as slug@number")
	}
	if e.PackRef() == "-" {
		c.d.Fail(at+"pack", "must be a file: a job has no pack on stdin")
	}
	if LooksLikePath(e.PackRef()) {
		c.path(at+"pack", e.PackRef())
	}
	if e.Mode != "" {
		c.d.Fail(at+"mode", "is for voice packs, which there are none of here: leave it out")
	}
	for i, s := range e.RegressionSuites {
		field := fmt.Sprintf("%sregression_suites[%d]", at, i)
		if strings.TrimSpace(s) == "" {
			c.d.Fail(field, "is empty")
		} else if LooksLikePath(s) {
			c.path(field, s)
		}
		if slices.Contains(e.RegressionSuites[:i], s) {
			c.d.Fail(field, "names %q twice", s)
		}
	}
	for i, s := range e.RegressionCases {
		field := fmt.Sprintf("%sregression_cases[%d]", at, i)
		if suite, id := SuiteCase(s); suite == "" || id == "" {
			c.d.Fail(field, "must be written SUITE/ID, not %q", s)
		} else if LooksLikePath(suite) {
			c.path(field, suite)
		}
	}
	if n := e.Repetitions; n != nil && (*n < 1 || *n > maxRepetitions) {
		c.d.Fail(at+"repetitions", "must be 1 to %d", maxRepetitions)
	}
	switch n := e.MaxTrials; {
	case n != nil && !e.UntilDecided:
		c.d.Fail(at+"max_trials", "is for until_decided: add until_decided: true, or write repetitions")
	case n != nil && (*n < 1 || *n > stats.MaxTrials):
		c.d.Fail(at+"max_trials", "must be 1 to %d", stats.MaxTrials)
	}
	if e.UntilDecided && e.Repetitions != nil {
		c.d.Fail(at+"repetitions", "and until_decided exclude each other: max_trials bounds how often cases are repeated")
	}
	if e.UntilDecided && e.Replay != "" {
		c.d.Fail(at+"until_decided", "asks the agent itself, and a replay has the recorded trials only: leave one of the two out")
	}
	if usd := e.BudgetUSD; usd != nil && !(*usd > 0) {
		c.d.Fail(at+"budget_usd", "must be above 0")
	}
	if r := e.MinPassRate; r != nil && !(*r >= 0 && *r <= 1) {
		c.d.Fail(at+"min_pass_rate", "must be 0 to 1")
	}
	c.path(at+"replay", e.Replay)
}

// synonym refuses two names for one thing.
func (c checks) synonym(field, value, other, otherValue string) {
	if value != "" && otherValue != "" {
		c.d.Fail(other, "and %s are the same field: leave one out", field)
	}
}

// SuiteCase takes SUITE/ID apart.
func SuiteCase(s string) (suite, id string) {
	at := strings.LastIndex(s, "/")
	if at < 0 {
		return "", ""
	}
	return s[:at], s[at+1:]
}

// LooksLikePath says whether a name that may be a path is one: it has a slash or
// the suffix of such files.
func LooksLikePath(s string) bool {
	return strings.HasPrefix(s, ".") || strings.ContainsAny(s, `/\`) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(s))
}

func (c checks) baseline() {
	b := c.m.Baseline
	const at = "baseline."
	given := 0
	for _, v := range []string{b.File, b.Name, b.RunID, b.DeploymentID} {
		if v != "" {
			given++
		}
	}
	if given != 1 {
		c.d.Fail("baseline", "must say one of file, name, run_id and deployment_id, not %s", []string{"none", "one", "two", "three", "all"}[given])
	}
	c.path(at+"file", b.File)
	if LooksLikePath(b.RunID) {
		c.path(at+"run_id", b.RunID)
	}
	if b.RunAgentID != "" && b.RunID == "" && b.File == "" {
		c.d.Fail(at+"run_agent_id", "goes with run_id or file: a deployment and a named baseline have one agent")
	}
	c.oneOf(at+"refresh", b.Refresh, Manual, Propose, AutoOnMain)
	if b.Refresh == AutoOnMain && b.Snapshot() == "" {
		c.d.Fail(at+"refresh", "%s writes the baseline's file, and there is none: give baseline.file", AutoOnMain)
	}
	if days := b.MaxAgeDays; days != nil && !(*days > 0) {
		c.d.Fail(at+"max_age_days", "must be above 0: every baseline is older than that; leave it out for no limit")
	}
}

// Snapshot is the file that the baseline is in, "" for one of the store.
func (b Baseline) Snapshot() string {
	if b.File == "" && LooksLikePath(b.RunID) {
		return b.RunID
	}
	return b.File
}
