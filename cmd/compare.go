package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

func newCompare(a *app) *cobra.Command {
	return group("compare", "Compare runs, and judge a candidate by a policy",
		newCompareRuns(a), newCompareLatest(a), newCompareGate(a))
}

// compareOptions name the two sides.
type compareOptions struct {
	baseline, baselineAgent   string
	candidate, candidateAgent string
	reports                   reportFlags
}

func (o *compareOptions) addFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.baseline, "baseline", "", "baseline: a run (id, name, latest), baseline[:NAME] or a file")
	f.StringVar(&o.baselineAgent, "baseline-agent", "", "run agent of the baseline")
	f.StringVar(&o.candidate, "candidate", "", "candidate: as --baseline")
	f.StringVar(&o.candidateAgent, "candidate-agent", "", "run agent of the candidate")
}

func (o *compareOptions) check() error {
	if o.baseline == "" || o.candidate == "" {
		return usage("a comparison needs --baseline RUN and --candidate RUN")
	}
	return nil
}

func (a *app) sides(ctx context.Context, db *store.DB, o compareOptions) (baseline, candidate side, err error) {
	first := func() error {
		baseline, err = a.anySide(ctx, db, o.baseline, o.baselineAgent, candidate.run.Pack.Slug)
		return sideFailure("baseline", err)
	}
	second := func() error {
		candidate, err = a.anySide(ctx, db, o.candidate, o.candidateAgent, baseline.run.Pack.Slug)
		return sideFailure("candidate", err)
	}
	if isBaseline(o.baseline) { // the other side says which pack's is meant
		first, second = second, first
	}
	if err := first(); err != nil {
		return side{}, side{}, err
	}
	if err := second(); err != nil {
		return side{}, side{}, err
	}
	if baseline.agent.ID == candidate.agent.ID {
		return side{}, side{}, usage("baseline and candidate are the same run agent: %s of run %s", baseline.agent.Label, baseline.run.Name)
	}
	a.mentionPart(baseline, candidate)
	return baseline, candidate, nil
}

// isBaseline says whether a selector names a baseline that was set.
func isBaseline(selector string) bool {
	return selector == store.Baseline || strings.HasPrefix(selector, baselinePrefix)
}

// sideFailure says of which side an error is, and by which flag its agent is named.
func sideFailure(side string, err error) error {
	if err == nil {
		return nil
	}
	var f *failure
	if errors.As(err, &f) {
		switch f.next {
		case addAgent:
			f.next = "add --" + side + "-agent NAME"
		case addPack:
			f.next = "agentclash baseline list has their runs: name one of these"
		}
	}
	return fmt.Errorf("%s: %w", side, err)
}

// storedSides is the store that the sides are in; nil where both are files, and no
// store is needed.
func (a *app) storedSides(ctx context.Context, o compareOptions) (*store.DB, error) {
	if looksLikePath(o.baseline) && looksLikePath(o.candidate) {
		return nil, nil
	}
	return a.stored(ctx)
}

func newCompareRuns(a *app) *cobra.Command {
	var o compareOptions
	var caseKey string
	c := &cobra.Command{
		Use: "runs", Short: "Compare two runs, or two agents of one run",
		Long: `Compare a candidate with a baseline, case by case, from stored scorecards alone.
Every score is 0 to 1 and higher is better, latency and cost scores included.
With --case, the first event at which the two trajectories of a case part.`,
		Example: `  agentclash compare runs --baseline nightly --candidate latest
  agentclash compare runs --baseline latest --baseline-agent a --candidate latest --candidate-agent b --json
  agentclash compare runs --baseline nightly --candidate latest --case checkout-7`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			ctx := c.Context()
			db, err := a.storedSides(ctx, o)
			if err != nil {
				return err
			}
			baseline, candidate, err := a.sides(ctx, db, o)
			if err != nil {
				return err
			}
			if caseKey != "" {
				return a.printDivergence(ctx, db, baseline, candidate, caseKey)
			}
			d := a.judge(baseline, candidate, compare.DefaultPolicy()).document(candidate, view.Bookmark{Participant: baseline.participant()})
			return a.print(d.Comparison, func(w io.Writer, v view.Options) error { return view.Comparison(w, d, v) })
		},
	}
	o.addFlags(c)
	c.Flags().StringVar(&caseKey, "case", "", "show where the trajectories of this case part")
	return c
}

// newRunCompare is compare runs under the noun that it is about.
func newRunCompare(a *app) *cobra.Command {
	c := newCompareRuns(a)
	c.Use = "compare"
	c.Example = "  agentclash run compare --baseline nightly --candidate latest"
	return c
}

// document is the comparison as it is shown; a gate is added by who asks for
// one.
func (j judgement) document(candidate side, mark view.Bookmark) view.ComparisonDocument {
	return view.ComparisonDocument{
		WorkspaceID: candidate.run.Workspace, Baseline: mark, Candidate: candidate.participant(), Comparison: j.comparison,
		BaselineSide: &j.baseline, CandidateSide: &j.candidate,
	}
}

// anySide is a side that may be a run, a baseline that was set, or a file. Where
// several packs have a baseline of that name, that of the pack beside it is meant.
func (a *app) anySide(ctx context.Context, db *store.DB, selector, agent, beside string) (side, error) {
	name, named := strings.CutPrefix(selector, baselinePrefix)
	switch {
	case named || looksLikePath(selector):
	case selector == store.Baseline && agent == "":
		name = store.DefaultBaseline
	default:
		return a.findSide(ctx, db, selector, agent, headlines)
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return side{}, err
	}
	found, ok, err := baselineBeside(ctx, a, db, workspace, beside, name)
	switch {
	case err != nil:
		return side{}, err
	case !ok:
		return side{}, noSuchBaseline(name)
	case agent != "" && !strings.EqualFold(found.agent.Label, agent):
		return side{}, usage("%s is of the agent %q, not of %q", selector, found.agent.Label, agent)
	}
	return found.side, nil
}

func newCompareLatest(a *app) *cobra.Command {
	var slug, agent, baseline, policyFile string
	var gate bool
	var written reportFlags
	c := &cobra.Command{
		Use: "latest", Short: "Compare the newest run with the baseline",
		Long: `Compare the newest run of the baseline's pack with the baseline. Where several
packs have one, it is that of the newest run, or of --pack. With --gate the
exit status is the verdict: 0 pass, 1 fail, 2 warn, 3 not enough evidence.`,
		Example: "  agentclash compare latest\n  agentclash compare latest --gate",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if policyFile != "" && !gate {
				return usage("--policy is for --gate")
			}
			policy, err := a.policy(policyFile)
			if err != nil {
				return err
			}
			return runCompareLatest(c.Context(), a, slug, agent, reference{baseline: baseline, policy: &policy}, gate, written)
		},
	}
	written.addFlags(c.Flags())
	c.Flags().StringVar(&slug, "pack", "", "slug of the pack (default: that of the newest run, if it has such a baseline)")
	c.Flags().StringVar(&agent, "agent", "", "run agent of the newest run")
	c.Flags().StringVar(&baseline, "baseline", "", baselineUsage)
	c.Flags().BoolVar(&gate, "gate", false, "exit with the verdict of the policy")
	c.Flags().StringVar(&policyFile, "policy", "", policyUsage)
	return c
}

// baselineUsage is the help of --baseline where only baselines are meant.
const baselineUsage = "baseline to compare with: its name, or a file of baseline export (default \"default\")"

func runCompareLatest(ctx context.Context, a *app, slug, agent string, against reference, gate bool, written reportFlags) error {
	if err := written.check(a, false); err != nil {
		return err
	}
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return err
	}
	find := baselineFor
	if slug == "" {
		newest, _, err := db.Runs(ctx, store.RunFilter{Workspace: workspace, Limit: 1})
		if err != nil {
			return err
		}
		if len(newest) > 0 {
			slug, find = newest[0].Pack.Slug, baselineBeside
		}
	}
	found, ok, err := find(ctx, a, db, workspace, slug, against.baseline)
	if err != nil {
		return err
	}
	if !ok {
		if gate {
			return a.noBaseline(against.baseline)
		}
		return noSuchBaseline(against.baseline)
	}
	slug = found.run.Pack.Slug
	runs, _, err := db.Runs(ctx, store.RunFilter{Workspace: workspace, PackSlug: slug, Limit: 2})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.ID != found.run.ID {
			return a.compareWith(ctx, db, found, compareOptions{candidate: r.ID, candidateAgent: agent, reports: written}, against.rules(), gate)
		}
	}
	if len(runs) == 0 {
		return usage("there is no run of %s to compare", slug).hint("agentclash eval start --pack ... runs a candidate")
	}
	return usage("the baseline is the only run of %s", slug).hint("agentclash eval start --pack ... runs a candidate")
}

// noBaseline is a gate that has nothing to compare with: status 3.
func (a *app) noBaseline(selector string) error {
	f := &failure{status: compare.InsufficientEvidence.ExitStatus(), code: "insufficient_evidence",
		err: errors.New("the gate has no baseline to compare with")}
	if selector == "" {
		return f.hint("agentclash baseline set RUN")
	}
	f.err = fmt.Errorf("%w: %w", f.err, noSuchBaseline(selector))
	return f.hint("agentclash baseline list")
}

// noSuchBaseline is a name that no baseline has.
func noSuchBaseline(selector string) error {
	f := &failure{status: statusNotFound, code: "not_found", err: errors.New("no baseline is set")}
	name := strings.TrimPrefix(selector, baselinePrefix)
	if name == "" || name == store.Baseline || strings.EqualFold(name, store.DefaultBaseline) {
		return f.hint("agentclash baseline set RUN")
	}
	f.err = fmt.Errorf("no baseline %q is set", name)
	return f.hint("agentclash baseline list")
}

// compareWith compares a run with a baseline and, with gate, keeps the record
// of the verdict and exits with it.
func (a *app) compareWith(ctx context.Context, db *store.DB, baseline comparand, o compareOptions, policy compare.Policy, gate bool) error {
	how := headlines
	if len(o.reports.list) > 0 {
		how = explained
	}
	candidate, err := a.findSide(ctx, db, o.candidate, o.candidateAgent, how)
	if err != nil {
		return err
	}
	a.mentionPart(candidate)
	if gate {
		if err := candidate.whole("gate"); err != nil {
			return err
		}
	}
	j := a.judge(baseline.side, candidate, policy)
	d := j.document(candidate, baseline.mark)
	if gate {
		if j.gate, err = a.keepGate(ctx, baseline.side, candidate, j.gate); err != nil {
			return err
		}
		d.ReleaseGate = &j.gate
	}
	err = a.print(d, func(w io.Writer, v view.Options) error { return view.Comparison(w, d, v) })
	if err == nil && gate {
		a.mentionBar(j.gate, baseline.side)
		err = verdict(j.gate.Verdict.ExitStatus())
	}
	return a.writeReports(o.reports, err, func() (reports.Run, error) {
		card, err := candidate.scorecard()
		return a.reportOnScorecard(candidate.run, view.ScorecardDocument{
			Scorecard: card, Baseline: &d.Baseline, Comparison: &j.comparison, ReleaseGate: &j.gate}), err
	})
}

// gateRun gates a run that has just ended against the baseline of its pack.
func (a *app) gateRun(ctx context.Context, runID string, against reference) error {
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return err
	}
	r, err := db.Run(ctx, workspace, runID)
	if err != nil {
		return err
	}
	baseline, ok, err := baselineFor(ctx, a, db, workspace, r.Pack.Slug, against.baseline)
	if err != nil {
		return err
	}
	if !ok {
		return a.noBaseline(against.baseline)
	}
	return a.gateAgents(ctx, db, baseline, r, against)
}

// gateAgents gates every agent of a run; the worst verdict is the status.
func (a *app) gateAgents(ctx context.Context, db *store.DB, baseline comparand, r store.Run, against reference) error {
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return err
	}
	worst := compare.Pass
	for _, agent := range agents {
		candidate, err := a.agentSide(ctx, db, agent.ID, headlines)
		if err == nil {
			err = candidate.whole("gate")
		}
		if err != nil {
			return err
		}
		judged := against.judge(a, baseline, candidate)
		if judged.gate, err = a.keepGate(ctx, baseline.side, candidate, judged.gate); err != nil {
			return err
		}
		against.keep(agent.ID, judged)
		a.sayVerdict(agent.Label, judged.gate)
		a.mentionBar(judged.gate, baseline.side)
		worst = worse(worst, judged.gate.Verdict)
	}
	return verdict(worst.ExitStatus())
}

// sayVerdict says what a gate came to; --quiet is silent of a pass alone.
func (a *app) sayVerdict(label string, g compare.GateResult) {
	say := a.say
	if g.Verdict != compare.Pass {
		say = a.warn
	}
	say("gate %s: %s: %s", label, g.Verdict, g.Summary)
}

// mentionBar says how to judge an agent that never passed as a whole: a baseline
// that is below the bar itself lets no candidate of its kind through.
func (a *app) mentionBar(g compare.GateResult, baseline side) {
	if g.ReasonCode != compare.GateNotPassed || baseline.card == nil || baseline.card.Passed {
		return
	}
	a.say("hint: the baseline did not pass either: eval start --min-pass-rate says what passes, and require_scorecard_pass: false in a policy leaves it to the comparison")
}

// worse is the verdict that counts of two: without evidence for one agent
// nothing can be said of the run, then a failure, then a warning.
func worse(a, b compare.Verdict) compare.Verdict {
	for _, v := range []compare.Verdict{compare.InsufficientEvidence, compare.Fail, compare.Warn} {
		if a == v || b == v {
			return v
		}
	}
	return compare.Pass
}

// keepGate stores the record of a verdict. Where that cannot be done, as on a
// home that cannot be written or a full disk, the verdict stands without one.
func (a *app) keepGate(ctx context.Context, baseline, candidate side, g compare.GateResult) (compare.GateResult, error) {
	kept := g
	kept.ID = a.p.NewID()
	err := a.saveGate(ctx, baseline, candidate, kept)
	switch {
	case err == nil:
		return kept, nil
	case ctx.Err() != nil:
		return g, err
	}
	a.say("! the verdict is not recorded: %v", err)
	return g, nil
}

func (a *app) saveGate(ctx context.Context, baseline, candidate side, g compare.GateResult) error {
	doc, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("write the gate record: %w", err)
	}
	db, err := a.store(ctx)
	if err != nil {
		return err
	}
	_, err = db.SaveGate(ctx, store.Gate{
		ID: g.ID, Workspace: candidate.run.Workspace, BaselineRunID: baseline.run.ID, BaselineAgentID: baseline.agent.ID,
		CandidateRunID: candidate.run.ID, CandidateAgentID: candidate.agent.ID, Verdict: string(g.Verdict), ReasonCode: g.ReasonCode,
		PolicyKey: g.PolicyKey, PolicyVersion: g.PolicyVersion, PolicyFingerprint: g.PolicyFingerprint,
		GeneratedAt: g.GeneratedAt, Document: doc,
	})
	return err
}

func newCompareGate(a *app) *cobra.Command {
	var o compareOptions
	var file string
	c := &cobra.Command{
		Use: "gate", Short: "Judge a candidate against a baseline by a policy",
		Long: `Judge a candidate against a baseline by a policy and keep the record.

Exit status: 0 pass, 1 fail, 2 warn, 3 not enough evidence.`,
		Example: `  agentclash compare gate --baseline nightly --candidate latest
  agentclash compare gate --baseline nightly --candidate latest --policy gate.yaml`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			policy, err := a.policy(file)
			if err != nil {
				return err
			}
			ctx := c.Context()
			db, err := a.storedSides(ctx, o)
			if err != nil {
				return err
			}
			baseline, candidate, err := a.sides(ctx, db, o)
			if err == nil {
				err = errors.Join(baseline.whole("gate"), candidate.whole("gate"))
			}
			if err != nil {
				return err
			}
			g, err := a.keepGate(ctx, baseline, candidate, a.judge(baseline, candidate, policy).gate)
			if err != nil {
				return err
			}
			d := view.GateRecord{GateResult: g, GateSides: view.GateSides{BaselineRunID: baseline.run.ID, BaselineRunAgentID: baseline.agent.ID,
				CandidateRunID: candidate.run.ID, CandidateRunAgentID: candidate.agent.ID}}
			if err := a.print(d, func(w io.Writer, v view.Options) error { return view.Gate(w, d, v) }); err != nil {
				return err
			}
			a.mentionBar(g, baseline)
			return verdict(g.Verdict.ExitStatus())
		},
	}
	o.addFlags(c)
	c.Flags().StringVar(&file, "policy", "", policyUsage)
	return c
}
