package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/evaluation"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/pflag"
)

// unnamedCandidate is what an agent is called that a manifest writes out without a
// name.
const unnamedCandidate = "candidate"

// ciOptions are the flags of eval start that mean what a manifest says; anew records
// what it would replay.
func ciOptions(ctx context.Context, a *cli.App, m *ci.Manifest, anew bool) (evaluation.StartOptions, error) {
	var o evaluation.StartOptions
	f := pflag.NewFlagSet("ci", pflag.ContinueOnError)
	o.AddFlags(f)
	e := m.Evaluation
	var errs []error
	set := func(flag, value string) { errs = append(errs, f.Set(flag, value)) }
	set("pack", e.PackRef())
	set("input-set", e.InputSetRef())
	if e.Repetitions != nil {
		set("repetitions", fmt.Sprint(*e.Repetitions))
	}
	if e.UntilDecided {
		set("gate", "true")
		set("until-decided", "true")
		set("policy", m.Gate.PolicyFile)
		if e.MaxTrials != nil {
			set("max-trials", fmt.Sprint(*e.MaxTrials))
		}
	}
	if e.BudgetUSD != nil {
		set("budget-usd", fmt.Sprint(*e.BudgetUSD))
	}
	if e.MinPassRate != nil {
		set("min-pass-rate", fmt.Sprint(*e.MinPassRate))
	}
	switch {
	case anew && e.Replay == "":
		return o, cli.Usage("--record keeps the answers where evaluation.replay says, and the manifest does not")
	case anew:
		set("record", e.Replay)
		set("overwrite", "true")
	case e.Replay != "":
		set("replay", e.Replay)
	}
	for _, s := range e.RegressionSuites {
		set("suite", s)
	}
	for _, c := range e.RegressionCases {
		suite, id := ci.SuiteCase(c)
		if slices.Contains(e.RegressionSuites, suite) {
			continue // all of it runs
		}
		if o.Regressions.Only[suite] == nil {
			set("suite", suite)
		}
		if o.Regressions.Only == nil {
			o.Regressions.Only = map[string][]string{}
		}
		o.Regressions.Only[suite] = append(o.Regressions.Only[suite], id)
	}
	if err := errors.Join(errs...); err != nil {
		return o, cli.Usage("%w", err)
	}
	return o, ciCandidate(ctx, a, m, &o)
}

// ciCandidate finds the agent that a manifest names or writes out.
func ciCandidate(ctx context.Context, a *cli.App, m *ci.Manifest, o *evaluation.StartOptions) error {
	d, file, build := m.Candidate.Deployment, m.Candidate.Build.SpecFile, m.Candidate.Build.AgentBuildID
	o.Profile, d.RuntimeProfileID = d.RuntimeProfileID, ""
	if _, err := agents.WithProfile(ctx, a, o.Profile, nil); err != nil { // before anything is run
		return err
	}
	agent := agents.DeploymentSpec{Deployment: spec.Deployment{Name: d.Name, Model: d.Model, Account: d.ProviderAccountID, Build: build,
		System: d.System, SystemFile: d.SystemFile}}
	if err := agents.ScriptInside(a.Process.Dir, d.Model); err != nil {
		return err
	}
	switch {
	case file != "":
		agent = agents.DeploymentSpec{}
		if err := agents.ReadSpec(a, file, &agent); err != nil {
			return err
		}
		if err := agents.ScriptInside(a.Process.Dir, agent.Model); err != nil {
			return cli.Usage("%s: %w", file, err)
		}
		for _, path := range []string{agent.SystemFile, agent.Files} {
			if err := cli.Inside(a.Process.Dir, path); path != "" && err != nil {
				return cli.Usage("%s: %w", file, err)
			}
		}
		if d.Name != "" {
			agent.Name = d.Name
		}
	case d.Model == "" && d.Name == "":
		return nil // the agents of the recording
	case d.Model == "":
		_, err := agents.Deployments(ctx, a, []string{d.Name}, nil)
		o.Deployments = []string{d.Name}
		return err
	case d == (ci.Deployment{Model: d.Model}) && build == "":
		named, err := agents.UnnamedAgents(ctx, a, []string{d.Model}, nil)
		if err == nil && named[0].Provider == provider.Scripted && o.Tape.Replay == "" {
			_, err = agents.ScriptSource(a, named[0].ScriptFile())
		}
		o.Models = []string{d.Model}
		return err
	}
	if agent.Name == "" {
		agent.Name = unnamedCandidate
	}
	agent.Replayed = o.Tape.Replay != ""
	if err := agents.ReadAlias(ctx, a, &agent); err != nil {
		return err
	}
	found, err := agents.ResolveSpec(a, agent)
	if err == nil {
		found, err = agents.Referred(ctx, a, found)
	}
	if err == nil {
		err = agents.CheckRepo(a, found)
	}
	if err == nil {
		found, err = agents.WithFiles(a, found)
	}
	if err == nil {
		found, err = agents.ByAccount(ctx, a, found)
	}
	o.Inline = []plan.Deployment{found}
	return err
}

// ciPolicy is the gate's policy, with the manifest's own limit of age.
func ciPolicy(a *cli.App, m *ci.Manifest) (compare.Policy, error) {
	p, err := verdict.Policy(a, m.Gate.PolicyFile)
	if days := m.Baseline.MaxAgeDays; err == nil && days != nil {
		least := *days
		if p.MaxBaselineAgeDays != nil {
			least = min(least, *p.MaxBaselineAgeDays)
		}
		p.MaxBaselineAgeDays = &least
	}
	return p, err
}

// ciTarget is what a run of the manifest's pack would be.
func ciTarget(p *pack.Pack, inputSet string) (ci.Target, error) {
	set, err := p.InputSet(inputSet)
	if err != nil {
		return ci.Target{}, selector.PlanFailure(err)
	}
	t := ci.Target{Slug: p.Pack.Slug, InputSet: set.Key, SpecDigest: p.SpecDigest(), Digests: map[string]string{}}
	for _, c := range set.Cases {
		if t.Digests[c.Key()], err = p.CaseDigest(set.Key, c.Key()); err != nil {
			return t, err
		}
	}
	return t, nil
}

// ciBaseline finds the manifest's baseline and says whether the pack can be
// compared with it. One that is not there is no error: the resolution says so.
func ciBaseline(ctx context.Context, a *cli.App, m *ci.Manifest, p *pack.Pack) (verdict.Comparand, ci.Resolution, error) {
	b := m.Baseline
	r := b.Unresolved()
	set, err := selector.InputSetKey(ctx, a, m.Evaluation.InputSetRef())
	if err != nil {
		return verdict.Comparand{}, r, err
	}
	target, err := ciTarget(p, set)
	if err != nil {
		return verdict.Comparand{}, r, err
	}
	found, err := ciComparand(ctx, a, b, target)
	var f *cli.Failure
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrNotFound), errors.As(err, &f) && f.Status == cli.StatusNotFound:
		r.Refuse(ci.ReasonNoBaseline, "there is no baseline: %v", err)
		return verdict.Comparand{}, r, nil
	case errors.As(err, &f) && f.Status == cli.StatusUsage:
		r.Refuse(ci.ReasonBadBaseline, "%v", err)
		return verdict.Comparand{}, r, nil
	case err != nil:
		return verdict.Comparand{}, r, err
	}
	return found, b.Resolve(found.Snapshot(), target, a.Process.Now()), nil
}

func ciComparand(ctx context.Context, a *cli.App, b ci.Baseline, t ci.Target) (verdict.Comparand, error) {
	if file := b.Snapshot(); file != "" {
		found, err := verdict.FileBaseline(a, file)
		if err == nil && b.RunAgentID != "" && !strings.EqualFold(found.Agent.Label, b.RunAgentID) && found.Agent.ID != b.RunAgentID {
			err = cli.Usage("%s is of the agent %q, not of %q", file, found.Agent.Label, b.RunAgentID)
		}
		return found, err
	}
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return verdict.Comparand{}, err
	}
	if !ok {
		return verdict.Comparand{}, fmt.Errorf("the store is empty: %w", store.ErrNotFound)
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return verdict.Comparand{}, err
	}
	switch b.Strategy() {
	case ci.StrategyNamed:
		found, ok, err := verdict.BaselineFor(ctx, a, db, workspace, t.Slug, store.Baseline+":"+b.Name)
		if err == nil && !ok {
			err = fmt.Errorf("no baseline %q of the pack %s is set: %w", b.Name, t.Slug, store.ErrNotFound)
		}
		return found, err
	case ci.StrategyDeployment:
		return latestOf(ctx, a, db, workspace, t.Slug, b.DeploymentID)
	}
	s, err := verdict.FindSide(ctx, a, db, b.RunID, b.RunAgentID, verdict.Headlines)
	return verdict.Bookmarked(s), err
}

// latestOf is the newest completed run of a pack by a deployment.
func latestOf(ctx context.Context, a *cli.App, db *store.DB, workspace, slug, deployment string) (verdict.Comparand, error) {
	runs, _, err := db.Runs(ctx, store.RunFilter{Workspace: workspace, PackSlug: slug, Statuses: []string{store.Completed}})
	if err != nil {
		return verdict.Comparand{}, err
	}
	for _, r := range runs {
		agents, err := db.RunAgents(ctx, r.ID)
		if err != nil {
			return verdict.Comparand{}, err
		}
		for _, agent := range agents {
			if !strings.EqualFold(agent.Label, deployment) && !strings.EqualFold(agent.Deployment.Name, deployment) {
				continue
			}
			s, err := verdict.AgentSide(ctx, a, db, agent.ID, verdict.Headlines)
			if what, _ := s.Part(); err != nil || what == "" { // a part of a run is no baseline
				return verdict.Bookmarked(s), err
			}
		}
	}
	return verdict.Comparand{}, fmt.Errorf("no completed run of the pack %s has the deployment %q: %w", slug, deployment, store.ErrNotFound)
}

// validateManifest checks a manifest and what it names.
func validateManifest(ctx context.Context, a *cli.App, m manifestFile) (ci.Validation, error) {
	v := ci.Validation{Path: m.file}
	parsed, problems := ci.Parse(m.file, m.src)
	v.Manifest, v.Errors = parsed, selector.ViewProblems(problems)
	if parsed != nil {
		if err := checkNames(ctx, a, parsed, &v); err != nil {
			return v, err
		}
	}
	v.Valid = parsed != nil && !slices.ContainsFunc(v.Checks, func(c ci.Check) bool { return !c.Valid })
	return v, nil
}

// checkNames looks at everything that a manifest names. An error is of the machine.
func checkNames(ctx context.Context, a *cli.App, m *ci.Manifest, v *ci.Validation) error {
	check := func(field, resource, id string, err error) {
		c := ci.Check{Field: field, Resource: resource, ID: id, Valid: err == nil}
		if err != nil {
			f := cli.Classify(err)
			c.Code, c.Message = f.Code, f.Err.Error()
		}
		v.Checks = append(v.Checks, c)
	}
	e := m.Evaluation
	for _, p := range m.Paths() {
		if err := cli.Inside(a.Process.Dir, p.Path); err != nil {
			check(p.Field, "path", p.Path, err)
		}
	}
	if err := ciSuites(a, m); err != nil {
		check("regressions", "path", regression.Dir, err)
	}
	if len(v.Checks) > 0 {
		return nil // nothing of it is read
	}
	p, warnings, err := selector.LoadPack(ctx, a, e.PackRef())
	if err == nil {
		_, err = ciTarget(p, e.InputSetRef())
	}
	if err == nil && len(warnings.Blocks()) > 0 {
		err = selector.Refusal("pack_not_supported", "this version cannot run the pack", warnings.Blocks())
	}
	check("evaluation.pack", "challenge_pack", e.PackRef(), err)
	o, err := ciOptions(ctx, a, m, false)
	check("candidate", "deployment", candidateName(m), err)
	if m.Gate.PolicyFile != "" {
		_, err := verdict.Policy(a, m.Gate.PolicyFile)
		check("gate.policy_file", "policy", m.Gate.PolicyFile, err)
	}
	if e.Replay != "" {
		player, err := record.Open(a.Path(e.Replay))
		if err == nil && p != nil && player.Header().Pack != p.Pack.Slug {
			err = cli.Usage("the recording is of the pack %q, not of %q", player.Header().Pack, p.Pack.Slug)
		}
		check("evaluation.replay", "recording", e.Replay, err)
	}
	if p == nil {
		return nil
	}
	if len(o.Regressions.Suites) > 0 {
		fitted := o
		_, err := evaluation.WithSuites(ctx, a, &fitted, p)
		check("evaluation.regression_suites", "regression_suite", strings.Join(o.Regressions.Suites, ", "), err)
	}
	_, r, err := ciBaseline(ctx, a, m, p)
	if err != nil {
		return err
	}
	v.Checks = append(v.Checks, ci.Check{Field: "baseline", Resource: r.Strategy, ID: r.Source, Valid: r.Compatible, Code: r.ReasonCode, Message: r.Reason})
	return nil
}

func candidateName(m *ci.Manifest) string {
	d := m.Candidate.Deployment
	return cmp.Or(d.Name, d.Model, m.Candidate.Build.SpecFile, m.Evaluation.Replay)
}

// snapshotBytes is a run agent as a baseline's file.
func snapshotBytes(s verdict.Side, name string) ([]byte, error) {
	var b bytes.Buffer
	err := compare.WriteFile(&b, compare.File{Name: name, SetAt: s.Run.FinishedAt, Snapshot: s.Snapshot()})
	return b.Bytes(), err
}
