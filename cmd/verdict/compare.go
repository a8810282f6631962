package verdict

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/spf13/cobra"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

// NewCompare is agentclash compare: two runs, or a run and a baseline, from stored results
// alone.
func NewCompare(a *cli.App) *cobra.Command {
	return cli.Group("compare", "Compare runs, and judge a candidate by a policy",
		newCompareRuns(a), newCompareLatest(a), newCompareGate(a))
}

// compareOptions name the two sides.
type compareOptions struct {
	baseline, baselineAgent   string
	candidate, candidateAgent string
	reports                   ReportFlags
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
		return cli.Usage("a comparison needs --baseline RUN and --candidate RUN")
	}
	return nil
}

func sides(ctx context.Context, a *cli.App, db *store.DB, o compareOptions) (baseline, candidate Side, err error) {
	first := func() error {
		baseline, err = anySide(ctx, a, db, o.baseline, o.baselineAgent, candidate.Run.Pack.Slug)
		return SideFailure("baseline", err)
	}
	second := func() error {
		candidate, err = anySide(ctx, a, db, o.candidate, o.candidateAgent, baseline.Run.Pack.Slug)
		return SideFailure("candidate", err)
	}
	if IsBaseline(o.baseline) { // the other side says which pack's is meant
		first, second = second, first
	}
	if err := first(); err != nil {
		return Side{}, Side{}, err
	}
	if err := second(); err != nil {
		return Side{}, Side{}, err
	}
	if baseline.Agent.ID == candidate.Agent.ID {
		return Side{}, Side{}, cli.Usage("baseline and candidate are the same run agent: %s of run %s", baseline.Agent.Label, baseline.Run.Name)
	}
	mentionPart(a, baseline, candidate)
	return baseline, candidate, nil
}

// IsBaseline says whether a selector names a baseline that was set.
func IsBaseline(selector string) bool {
	return selector == store.Baseline || strings.HasPrefix(selector, baselinePrefix)
}

// SideFailure says of which side an error is, and by which flag its agent is named.
func SideFailure(side string, err error) error {
	if err == nil {
		return nil
	}
	var f *cli.Failure
	if errors.As(err, &f) {
		switch f.Next {
		case addAgent:
			f.Next = "add --" + side + "-agent NAME"
		case addPack:
			f.Next = "agentclash baseline list has their runs: name one of these"
		}
	}
	return fmt.Errorf("%s: %w", side, err)
}

// storedSides is the store that the sides are in; nil where both are files, and no
// store is needed.
func storedSides(ctx context.Context, a *cli.App, o compareOptions) (*store.DB, error) {
	if cli.LooksLikePath(o.baseline) && cli.LooksLikePath(o.candidate) {
		return nil, nil
	}
	return a.Stored(ctx)
}

func newCompareRuns(a *cli.App) *cobra.Command {
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
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			ctx := c.Context()
			db, err := storedSides(ctx, a, o)
			if err != nil {
				return err
			}
			baseline, candidate, err := sides(ctx, a, db, o)
			if err != nil {
				return err
			}
			if caseKey != "" {
				return printDivergence(ctx, a, db, baseline, candidate, caseKey)
			}
			d := Judge(a, baseline, candidate, compare.DefaultPolicy()).Document(candidate, view.Bookmark{Participant: baseline.Participant()})
			return a.Print(d.Comparison, func(w io.Writer, v view.Options) error { return view.Comparison(w, d, v) })
		},
	}
	o.addFlags(c)
	c.Flags().StringVar(&caseKey, "case", "", "show where the trajectories of this case part")
	return c
}

// NewRunCompare is compare runs under the noun that it is about.
func NewRunCompare(a *cli.App) *cobra.Command {
	c := newCompareRuns(a)
	c.Use = "compare"
	c.Example = "  agentclash run compare --baseline nightly --candidate latest"
	return c
}

// Document is the comparison as it is shown; a gate is added by who asks for
// one.
func (j Judgement) Document(candidate Side, mark view.Bookmark) view.ComparisonDocument {
	return view.ComparisonDocument{
		WorkspaceID: candidate.Run.Workspace, Baseline: mark, Candidate: candidate.Participant(), Comparison: j.Comparison,
		BaselineSide: &j.Baseline, CandidateSide: &j.Candidate,
	}
}

// anySide is a side that may be a run, a baseline that was set, or a file. Where
// several packs have a baseline of that name, that of the pack beside it is meant.
func anySide(ctx context.Context, a *cli.App, db *store.DB, selector, agent, beside string) (Side, error) {
	name, named := strings.CutPrefix(selector, baselinePrefix)
	switch {
	case named || cli.LooksLikePath(selector):
	case selector == store.Baseline && agent == "":
		name = store.DefaultBaseline
	default:
		return FindSide(ctx, a, db, selector, agent, Headlines)
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return Side{}, err
	}
	found, ok, err := baselineBeside(ctx, a, db, workspace, beside, name)
	switch {
	case err != nil:
		return Side{}, err
	case !ok:
		return Side{}, NoSuchBaseline(name)
	case agent != "" && !strings.EqualFold(found.Agent.Label, agent):
		return Side{}, cli.Usage("%s is of the agent %q, not of %q", selector, found.Agent.Label, agent)
	}
	return found.Side, nil
}

func newCompareLatest(a *cli.App) *cobra.Command {
	var slug, agent, baseline, policyFile string
	var gate bool
	var written ReportFlags
	c := &cobra.Command{
		Use: "latest", Short: "Compare the newest run with the baseline",
		Long: `Compare the newest run of the baseline's pack with the baseline. Where several
packs have one, it is that of the newest run, or of --pack. With --gate the
exit status is the verdict: 0 pass, 1 fail, 2 warn, 3 not enough evidence.`,
		Example: "  agentclash compare latest\n  agentclash compare latest --gate",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if policyFile != "" && !gate {
				return cli.Usage("--policy is for --gate")
			}
			policy, err := Policy(a, policyFile)
			if err != nil {
				return err
			}
			return runCompareLatest(c.Context(), a, slug, agent, Reference{Baseline: baseline, Policy: &policy}, gate, written)
		},
	}
	written.AddFlags(c.Flags())
	c.Flags().StringVar(&slug, "pack", "", "slug of the pack (default: that of the newest run, if it has such a baseline)")
	c.Flags().StringVar(&agent, "agent", "", "run agent of the newest run")
	c.Flags().StringVar(&baseline, "baseline", "", BaselineUsage)
	c.Flags().BoolVar(&gate, "gate", false, "exit with the verdict of the policy")
	c.Flags().StringVar(&policyFile, "policy", "", PolicyUsage)
	return c
}

// BaselineUsage is the help of --baseline where only baselines are meant.
const BaselineUsage = "baseline to compare with: its name, or a file of baseline export (default \"default\")"

func runCompareLatest(ctx context.Context, a *cli.App, slug, agent string, against Reference, gate bool, written ReportFlags) error {
	if err := written.Check(a, false); err != nil {
		return err
	}
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	find := BaselineFor
	if slug == "" {
		newest, _, err := db.Runs(ctx, store.RunFilter{Workspace: workspace, Limit: 1})
		if err != nil {
			return err
		}
		if len(newest) > 0 {
			slug, find = newest[0].Pack.Slug, baselineBeside
		}
	}
	found, ok, err := find(ctx, a, db, workspace, slug, against.Baseline)
	if err != nil {
		return err
	}
	if !ok {
		if gate {
			return NoBaseline(a, against.Baseline)
		}
		return NoSuchBaseline(against.Baseline)
	}
	slug = found.Run.Pack.Slug
	runs, _, err := db.Runs(ctx, store.RunFilter{Workspace: workspace, PackSlug: slug, Limit: 2})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.ID != found.Run.ID {
			return compareWith(ctx, a, db, found, compareOptions{candidate: r.ID, candidateAgent: agent, reports: written}, against.Rules(), gate)
		}
	}
	if len(runs) == 0 {
		return cli.Usage("there is no run of %s to compare", slug).Hint("agentclash eval start --pack ... runs a candidate")
	}
	return cli.Usage("the baseline is the only run of %s", slug).Hint("agentclash eval start --pack ... runs a candidate")
}

// NoBaseline is a gate that has nothing to compare with: status 3.
func NoBaseline(a *cli.App, selector string) error {
	f := &cli.Failure{Status: compare.InsufficientEvidence.ExitStatus(), Code: "insufficient_evidence",
		Err: errors.New("the gate has no baseline to compare with")}
	if selector == "" {
		return f.Hint("agentclash baseline set RUN")
	}
	f.Err = fmt.Errorf("%w: %w", f.Err, NoSuchBaseline(selector))
	return f.Hint("agentclash baseline list")
}

// NoSuchBaseline is a name that no baseline has.
func NoSuchBaseline(selector string) error {
	f := &cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: errors.New("no baseline is set")}
	name := strings.TrimPrefix(selector, baselinePrefix)
	if name == "" || name == store.Baseline || strings.EqualFold(name, store.DefaultBaseline) {
		return f.Hint("agentclash baseline set RUN")
	}
	f.Err = fmt.Errorf("no baseline %q is set", name)
	return f.Hint("agentclash baseline list")
}

// compareWith compares a run with a baseline and, with gate, keeps the record
// of the verdict and exits with it.
func compareWith(ctx context.Context, a *cli.App, db *store.DB, baseline Comparand, o compareOptions, policy compare.Policy, gate bool) error {
	how := Headlines
	if len(o.reports.List) > 0 {
		how = Explained
	}
	candidate, err := FindSide(ctx, a, db, o.candidate, o.candidateAgent, how)
	if err != nil {
		return err
	}
	mentionPart(a, candidate)
	if gate {
		if err := candidate.whole("gate"); err != nil {
			return err
		}
	}
	j := Judge(a, baseline.Side, candidate, policy)
	d := j.Document(candidate, baseline.Mark)
	if gate {
		if j.Gate, err = KeepGate(ctx, a, baseline.Side, candidate, j.Gate); err != nil {
			return err
		}
		d.ReleaseGate = &j.Gate
	}
	err = a.Print(d, func(w io.Writer, v view.Options) error { return view.Comparison(w, d, v) })
	if err == nil && gate {
		mentionBar(a, j.Gate, baseline.Side)
		err = cli.Verdict(j.Gate.Verdict.ExitStatus())
	}
	return WriteReports(a, o.reports, err, func() (reports.Run, error) {
		card, err := candidate.Scorecard()
		return reportOnScorecard(a, candidate.Run, view.ScorecardDocument{
			Scorecard: card, Baseline: &d.Baseline, Comparison: &j.Comparison, ReleaseGate: &j.Gate}), err
	})
}

// GateRun gates a run that has just ended against the baseline of its pack.
func GateRun(ctx context.Context, a *cli.App, runID string, against Reference) error {
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	r, err := db.Run(ctx, workspace, runID)
	if err != nil {
		return err
	}
	baseline, ok, err := BaselineFor(ctx, a, db, workspace, r.Pack.Slug, against.Baseline)
	if err != nil {
		return err
	}
	if !ok {
		return NoBaseline(a, against.Baseline)
	}
	return gateAgents(ctx, a, db, baseline, r, against)
}

// gateAgents gates every agent of a run; the worst verdict is the status.
func gateAgents(ctx context.Context, a *cli.App, db *store.DB, baseline Comparand, r store.Run, against Reference) error {
	agents, err := db.RunAgents(ctx, r.ID)
	if err != nil {
		return err
	}
	worst := compare.Pass
	for _, agent := range agents {
		candidate, err := AgentSide(ctx, a, db, agent.ID, Headlines)
		if err == nil {
			err = candidate.whole("gate")
		}
		if err != nil {
			return err
		}
		judged := against.judge(a, baseline, candidate)
		if judged.Gate, err = KeepGate(ctx, a, baseline.Side, candidate, judged.Gate); err != nil {
			return err
		}
		against.Keep(agent.ID, judged)
		SayVerdict(a, agent.Label, judged.Gate)
		mentionBar(a, judged.Gate, baseline.Side)
		worst = worse(worst, judged.Gate.Verdict)
	}
	return cli.Verdict(worst.ExitStatus())
}

// SayVerdict says what a gate came to; --quiet is silent of a pass alone.
func SayVerdict(a *cli.App, label string, g compare.GateResult) {
	say := a.Say
	if g.Verdict != compare.Pass {
		say = a.Warn
	}
	say("gate %s: %s: %s", label, g.Verdict, g.Summary)
}

// mentionBar says how to judge an agent that never passed as a whole: a baseline
// that is below the bar itself lets no candidate of its kind through.
func mentionBar(a *cli.App, g compare.GateResult, baseline Side) {
	if g.ReasonCode != compare.GateNotPassed || baseline.Card == nil || baseline.Card.Passed {
		return
	}
	a.Say("hint: the baseline did not pass either: eval start --min-pass-rate says what passes, and require_scorecard_pass: false in a policy leaves it to the comparison")
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

// KeepGate stores the record of a verdict. Where that cannot be done, as on a
// home that cannot be written or a full disk, the verdict stands without one.
func KeepGate(ctx context.Context, a *cli.App, baseline, candidate Side, g compare.GateResult) (compare.GateResult, error) {
	kept := g
	kept.ID = a.Process.NewID()
	err := saveGate(ctx, a, baseline, candidate, kept)
	switch {
	case err == nil:
		return kept, nil
	case ctx.Err() != nil:
		return g, err
	}
	a.Say("! the verdict is not recorded: %v", err)
	return g, nil
}

func saveGate(ctx context.Context, a *cli.App, baseline, candidate Side, g compare.GateResult) error {
	doc, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("write the gate record: %w", err)
	}
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	_, err = db.SaveGate(ctx, store.Gate{
		ID: g.ID, Workspace: candidate.Run.Workspace, BaselineRunID: baseline.Run.ID, BaselineAgentID: baseline.Agent.ID,
		CandidateRunID: candidate.Run.ID, CandidateAgentID: candidate.Agent.ID, Verdict: string(g.Verdict), ReasonCode: g.ReasonCode,
		PolicyKey: g.PolicyKey, PolicyVersion: g.PolicyVersion, PolicyFingerprint: g.PolicyFingerprint,
		GeneratedAt: g.GeneratedAt, Document: doc,
	})
	return err
}

func newCompareGate(a *cli.App) *cobra.Command {
	var o compareOptions
	var file string
	c := &cobra.Command{
		Use: "gate", Short: "Judge a candidate against a baseline by a policy",
		Long: `Judge a candidate against a baseline by a policy and keep the record.

Exit status: 0 pass, 1 fail, 2 warn, 3 not enough evidence.`,
		Example: `  agentclash compare gate --baseline nightly --candidate latest
  agentclash compare gate --baseline nightly --candidate latest --policy gate.yaml`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			policy, err := Policy(a, file)
			if err != nil {
				return err
			}
			ctx := c.Context()
			db, err := storedSides(ctx, a, o)
			if err != nil {
				return err
			}
			baseline, candidate, err := sides(ctx, a, db, o)
			if err == nil {
				err = errors.Join(baseline.whole("gate"), candidate.whole("gate"))
			}
			if err != nil {
				return err
			}
			g, err := KeepGate(ctx, a, baseline, candidate, Judge(a, baseline, candidate, policy).Gate)
			if err != nil {
				return err
			}
			d := view.GateRecord{GateResult: g, GateSides: view.GateSides{BaselineRunID: baseline.Run.ID, BaselineRunAgentID: baseline.Agent.ID,
				CandidateRunID: candidate.Run.ID, CandidateRunAgentID: candidate.Agent.ID}}
			if err := a.Print(d, func(w io.Writer, v view.Options) error { return view.Gate(w, d, v) }); err != nil {
				return err
			}
			mentionBar(a, g, baseline)
			return cli.Verdict(g.Verdict.ExitStatus())
		},
	}
	o.addFlags(c)
	c.Flags().StringVar(&file, "policy", "", PolicyUsage)
	return c
}
