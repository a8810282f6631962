package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

// unnamedCandidate is what an agent is called that a manifest writes out without a
// name.
const unnamedCandidate = "candidate"

// ciOptions are the flags of eval start that mean what a manifest says; anew records
// what it would replay.
func (a *app) ciOptions(ctx context.Context, m *ci.Manifest, anew bool) (startOptions, error) {
	var o startOptions
	f := pflag.NewFlagSet("ci", pflag.ContinueOnError)
	o.addFlags(f)
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
		return o, usage("--record keeps the answers where evaluation.replay says, and the manifest does not")
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
		if o.regressions.only[suite] == nil {
			set("suite", suite)
		}
		if o.regressions.only == nil {
			o.regressions.only = map[string][]string{}
		}
		o.regressions.only[suite] = append(o.regressions.only[suite], id)
	}
	if err := errors.Join(errs...); err != nil {
		return o, usage("%w", err)
	}
	return o, a.ciCandidate(ctx, m, &o)
}

// ciCandidate finds the agent that a manifest names or writes out.
func (a *app) ciCandidate(ctx context.Context, m *ci.Manifest, o *startOptions) error {
	d, file := m.Candidate.Deployment, m.Candidate.Build.SpecFile
	agent := deploymentSpec{Deployment: spec.Deployment{Name: d.Name, Model: d.Model, Account: d.ProviderAccountID, System: d.System, SystemFile: d.SystemFile}}
	switch {
	case file != "":
		agent = deploymentSpec{}
		if err := a.readSpec(file, &agent); err != nil {
			return err
		}
		for _, path := range []string{agent.SystemFile, agent.Files} {
			if err := a.ciInside(path); path != "" && err != nil {
				return usage("%s: %w", file, err)
			}
		}
		if d.Name != "" {
			agent.Name = d.Name
		}
	case d.Model == "" && d.Name == "":
		return nil // the agents of the recording
	case d.Model == "":
		_, err := a.deployments(ctx, []string{d.Name}, nil)
		o.deployments = []string{d.Name}
		return err
	case d == (ci.Deployment{Model: d.Model}):
		named, err := a.unnamedAgents(ctx, []string{d.Model}, nil)
		if err == nil && named[0].Provider == provider.Scripted && o.tape.replay == "" {
			_, err = a.scriptSource(named[0].Model)
		}
		o.models = []string{d.Model}
		return err
	}
	if agent.Name == "" {
		agent.Name = unnamedCandidate
	}
	agent.replayed = o.tape.replay != ""
	if err := a.readAlias(ctx, &agent); err != nil {
		return err
	}
	found, err := a.resolveSpec(agent)
	if err == nil {
		found, err = a.referred(ctx, found)
	}
	if err == nil {
		found, err = a.withFiles(found)
	}
	if err == nil {
		found, err = a.byAccount(ctx, found)
	}
	o.inline = []plan.Deployment{found}
	return err
}

// ciPolicy is the gate's policy, with the manifest's own limit of age.
func (a *app) ciPolicy(m *ci.Manifest) (compare.Policy, error) {
	p, err := a.policy(m.Gate.PolicyFile)
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
		return ci.Target{}, planFailure(err)
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
func (a *app) ciBaseline(ctx context.Context, m *ci.Manifest, p *pack.Pack) (comparand, ci.Resolution, error) {
	b := m.Baseline
	r := b.Unresolved()
	set, err := a.inputSetKey(ctx, m.Evaluation.InputSetRef())
	if err != nil {
		return comparand{}, r, err
	}
	target, err := ciTarget(p, set)
	if err != nil {
		return comparand{}, r, err
	}
	found, err := a.ciComparand(ctx, b, target)
	var f *failure
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrNotFound), errors.As(err, &f) && f.status == statusNotFound:
		r.Refuse(ci.ReasonNoBaseline, "there is no baseline: %v", err)
		return comparand{}, r, nil
	case errors.As(err, &f) && f.status == statusUsage:
		r.Refuse(ci.ReasonBadBaseline, "%v", err)
		return comparand{}, r, nil
	case err != nil:
		return comparand{}, r, err
	}
	return found, b.Resolve(found.snapshot(), target, a.p.Now()), nil
}

func (a *app) ciComparand(ctx context.Context, b ci.Baseline, t ci.Target) (comparand, error) {
	if file := b.Snapshot(); file != "" {
		found, err := a.fileBaseline(file)
		if err == nil && b.RunAgentID != "" && !strings.EqualFold(found.agent.Label, b.RunAgentID) && found.agent.ID != b.RunAgentID {
			err = usage("%s is of the agent %q, not of %q", file, found.agent.Label, b.RunAgentID)
		}
		return found, err
	}
	db, ok, err := a.reading(ctx)
	if err != nil {
		return comparand{}, err
	}
	if !ok {
		return comparand{}, fmt.Errorf("the store is empty: %w", store.ErrNotFound)
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return comparand{}, err
	}
	switch b.Strategy() {
	case ci.StrategyNamed:
		found, ok, err := baselineFor(ctx, a, db, workspace, t.Slug, store.Baseline+":"+b.Name)
		if err == nil && !ok {
			err = fmt.Errorf("no baseline %q of the pack %s is set: %w", b.Name, t.Slug, store.ErrNotFound)
		}
		return found, err
	case ci.StrategyDeployment:
		return a.latestOf(ctx, db, workspace, t.Slug, b.DeploymentID)
	}
	s, err := a.findSide(ctx, db, b.RunID, b.RunAgentID, headlines)
	return bookmarked(s), err
}

// latestOf is the newest completed run of a pack by a deployment.
func (a *app) latestOf(ctx context.Context, db *store.DB, workspace, slug, deployment string) (comparand, error) {
	runs, _, err := db.Runs(ctx, store.RunFilter{Workspace: workspace, PackSlug: slug, Statuses: []string{store.Completed}})
	if err != nil {
		return comparand{}, err
	}
	for _, r := range runs {
		agents, err := db.RunAgents(ctx, r.ID)
		if err != nil {
			return comparand{}, err
		}
		for _, agent := range agents {
			if !strings.EqualFold(agent.Label, deployment) && !strings.EqualFold(agent.Deployment.Name, deployment) {
				continue
			}
			s, err := a.agentSide(ctx, db, agent.ID, headlines)
			if what, _ := s.part(); err != nil || what == "" { // a part of a run is no baseline
				return bookmarked(s), err
			}
		}
	}
	return comparand{}, fmt.Errorf("no completed run of the pack %s has the deployment %q: %w", slug, deployment, store.ErrNotFound)
}

// validateManifest checks a manifest and what it names.
func (a *app) validateManifest(ctx context.Context, m manifestFile) (ci.Validation, error) {
	v := ci.Validation{Path: m.file}
	parsed, problems := ci.Parse(m.file, m.src)
	v.Manifest, v.Errors = parsed, viewProblems(problems)
	if parsed != nil {
		if err := a.checkNames(ctx, parsed, &v); err != nil {
			return v, err
		}
	}
	v.Valid = parsed != nil && !slices.ContainsFunc(v.Checks, func(c ci.Check) bool { return !c.Valid })
	return v, nil
}

// checkNames looks at everything that a manifest names. An error is of the machine.
func (a *app) checkNames(ctx context.Context, m *ci.Manifest, v *ci.Validation) error {
	check := func(field, resource, id string, err error) {
		c := ci.Check{Field: field, Resource: resource, ID: id, Valid: err == nil}
		if err != nil {
			f := classify(err)
			c.Code, c.Message = f.code, f.err.Error()
		}
		v.Checks = append(v.Checks, c)
	}
	e := m.Evaluation
	for _, p := range m.Paths() {
		if err := a.ciInside(p.Path); err != nil {
			check(p.Field, "path", p.Path, err)
		}
	}
	if err := a.ciSuites(m); err != nil {
		check("regressions", "path", regression.Dir, err)
	}
	if len(v.Checks) > 0 {
		return nil // nothing of it is read
	}
	p, warnings, err := a.loadPack(ctx, e.PackRef())
	if err == nil {
		_, err = ciTarget(p, e.InputSetRef())
	}
	if err == nil && len(warnings.Blocks()) > 0 {
		err = refusal("pack_not_supported", "this version cannot run the pack", warnings.Blocks())
	}
	check("evaluation.pack", "challenge_pack", e.PackRef(), err)
	o, err := a.ciOptions(ctx, m, false)
	check("candidate", "deployment", candidateName(m), err)
	if m.Gate.PolicyFile != "" {
		_, err := a.policy(m.Gate.PolicyFile)
		check("gate.policy_file", "policy", m.Gate.PolicyFile, err)
	}
	if e.Replay != "" {
		player, err := record.Open(a.path(e.Replay))
		if err == nil && p != nil && player.Header().Pack != p.Pack.Slug {
			err = usage("the recording is of the pack %q, not of %q", player.Header().Pack, p.Pack.Slug)
		}
		check("evaluation.replay", "recording", e.Replay, err)
	}
	if p == nil {
		return nil
	}
	if len(o.regressions.suites) > 0 {
		fitted := o
		_, err := a.withSuites(ctx, &fitted, p)
		check("evaluation.regression_suites", "regression_suite", strings.Join(o.regressions.suites, ", "), err)
	}
	_, r, err := a.ciBaseline(ctx, m, p)
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
func snapshotBytes(s side, name string) ([]byte, error) {
	var b bytes.Buffer
	err := compare.WriteFile(&b, compare.File{Name: name, SetAt: s.run.FinishedAt, Snapshot: s.snapshot()})
	return b.Bytes(), err
}
