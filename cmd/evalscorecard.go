package cmd

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
)

// scorecardOptions say against what a scorecard is held, and where it is written.
type scorecardOptions struct {
	rescoring, baseline, policyFile string
	written                         reportFlags
}

func (o *scorecardOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.rescoring, "rescoring", "", "rescoring of the run, by id or latest")
	o.written.addFlags(f)
	f.StringVar(&o.baseline, "baseline", "", baselineUsage)
	f.StringVar(&o.policyFile, "policy", "", policyUsage)
}

func newEvalScorecard(a *app) *cobra.Command {
	var agent string
	var o scorecardOptions
	c := &cobra.Command{
		Use: "scorecard [RUN]", Short: "Show what scoring says of one agent of a run",
		Long: `Show what scoring says of one agent of a run (the newest when none is named),
and, when the pack has a baseline, how it compares and what the gate says.
Everything comes from the store: no model, no container, no network. With
--rescoring, what a rescoring of the run says, without a comparison.

Exit status: 0, whatever the scores; 64 when the run has several agents and
none is named; 66 when there is no such run or rescoring.`,
		Example: "  agentclash eval scorecard\n  agentclash eval scorecard latest --agent gpt --json\n  agentclash eval scorecard latest --rescoring latest",
		Args:    upTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			selector := store.Latest
			if len(args) == 1 {
				selector = args[0]
			}
			ctx := c.Context()
			return a.showScorecard(ctx, o, func(db *store.DB) (side, error) { return a.findSide(ctx, db, selector, agent, explained) })
		},
	}
	o.addFlags(c.Flags())
	c.Flags().StringVar(&agent, "agent", "", "run agent, by label or id")
	return c
}

// newRunScorecard is eval scorecard for a run agent that is named by its id alone.
func newRunScorecard(a *app) *cobra.Command {
	var o scorecardOptions
	c := &cobra.Command{
		Use: "scorecard RUN-AGENT", Short: "Show what scoring says of a run agent",
		Long: `Show what scoring says of one run agent, by its id or six or more digits of its
end: eval scorecard with an id in place of names. run agents RUN has the ids.`,
		Example: "  agentclash run scorecard $(agentclash run agents --json --query .items[0].run_agent_id)",
		Args:    exactArgs("RUN-AGENT"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			return a.showScorecard(ctx, o, func(db *store.DB) (side, error) {
				s, err := a.agentSide(ctx, db, args[0], explained)
				if errors.Is(err, store.ErrNotFound) {
					err = (&failure{status: statusNotFound, code: "not_found", err: err}).hint("agentclash run agents RUN")
				}
				return s, err
			})
		},
	}
	o.addFlags(c.Flags())
	return c
}

// showScorecard prints the scorecard of the side that find finds, once the flags are
// known to be right.
func (a *app) showScorecard(ctx context.Context, o scorecardOptions, find func(*store.DB) (side, error)) error {
	if err := o.written.check(a, false); err != nil {
		return err
	}
	policy, err := a.policy(o.policyFile)
	if err != nil {
		return err
	}
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	s, err := find(db)
	if err != nil {
		return err
	}
	if o.rescoring != "" {
		return a.rescoredScorecard(ctx, db, s, o.rescoring, o.written)
	}
	d, err := a.scorecardDocument(ctx, db, s, reference{baseline: o.baseline, policy: &policy})
	if err != nil {
		return err
	}
	if err := a.print(d, func(w io.Writer, v view.Options) error { return view.ScorecardReport(w, d, v) }); err != nil {
		return err
	}
	err = a.mentionRescorings(ctx, db, s.run)
	return a.writeReports(o.written, err, func() (reports.Run, error) { return a.reportOnScorecard(s.run, d), nil })
}

// rescoredScorecard prints what a rescoring says of a run agent.
func (a *app) rescoredScorecard(ctx context.Context, db *store.DB, s side, selector string, written reportFlags) error {
	r, err := db.Rescoring(ctx, s.run.ID, selector)
	if errors.Is(err, store.ErrNotFound) {
		return (&failure{status: statusNotFound, code: "not_found", err: err}).hint("agentclash eval rescore %s --list", short(s.run.ID))
	}
	if err != nil {
		return err
	}
	card, err := db.RescoredAgent(ctx, r.ID, s.agent.ID)
	if err != nil {
		return err
	}
	var trials []scoring.Trial
	err = db.RescoredTrials(ctx, r.ID, s.agent.ID, func(t store.Trial) error {
		end, err := t.End()
		trials = append(trials, end.Trial)
		return err
	})
	if err != nil {
		return err
	}
	d := view.ScorecardDocument{Candidate: s.participant(), Rescoring: new(viewRescoring(r)), Scorecard: view.NewScorecard(s.ref(), card, trials)}
	err = a.print(d, func(w io.Writer, o view.Options) error { return view.ScorecardReport(w, d, o) })
	return a.writeReports(written, err, func() (reports.Run, error) { return a.reportOnScorecard(s.run, d), nil })
}

// mentionRescorings says that a run was scored again after it ended.
func (a *app) mentionRescorings(ctx context.Context, db *store.DB, run store.Run) error {
	list, err := db.Rescorings(ctx, run.ID)
	if err != nil {
		return err
	}
	newer := 0
	for _, r := range list {
		if r.CreatedAt.After(run.FinishedAt) {
			newer++
		}
	}
	if newer > 0 {
		a.say("note: the run has %d newer rescoring(s): agentclash eval scorecard %s --rescoring latest", newer, short(run.ID))
	}
	return nil
}

// scorecardOf writes the scorecard of a run agent that has just run.
func (a *app) scorecardOf(ctx context.Context, w io.Writer, o view.Options, agentID string, against reference) error {
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	s, err := a.agentSide(ctx, db, agentID, explained)
	if err != nil {
		return err
	}
	d, err := a.scorecardDocument(ctx, db, s, against)
	if err != nil {
		return err
	}
	return view.ScorecardReport(w, d, o)
}

// scorecardDocument puts a side's scorecard beside the baseline of its pack. A
// run that is the baseline itself is compared with nothing.
func (a *app) scorecardDocument(ctx context.Context, db *store.DB, s side, against reference) (view.ScorecardDocument, error) {
	card, err := s.scorecard()
	if err != nil {
		return view.ScorecardDocument{}, err
	}
	d := view.ScorecardDocument{Candidate: s.participant(), Scorecard: card}
	if what, _ := s.part(); what != "" { // which is compared with nothing
		return d, nil
	}
	base, ok, err := baselineFor(ctx, a, db, s.run.Workspace, s.run.Pack.Slug, against.baseline)
	if err == nil && !ok && against.baseline != "" {
		err = noSuchBaseline(against.baseline)
	}
	if err != nil || !ok {
		return d, err
	}
	d.Baseline = &base.mark
	if base.agent.ID == s.agent.ID {
		return d, nil
	}
	v := against.judge(a, base, s)
	d.Comparison, d.ReleaseGate = &v.comparison, &v.gate
	return d, nil
}

// judgement is what comparing two sides came to, with the sides as they were
// compared.
type judgement struct {
	baseline, candidate compare.Snapshot
	comparison          compare.Comparison
	gate                compare.GateResult
}

// reference is what a run is held against: a baseline, by its name or file, and
// a policy.
type reference struct {
	baseline string
	policy   *compare.Policy // nil: the default one
	// judged is what the agents of a run were found to be, by their ids, so that
	// the screen, the gate and the reports say the same; nil: nothing is kept.
	judged map[string]opinion
}

// opinion is a judgement without the sides, which may be large.
type opinion struct {
	baseline   view.Bookmark
	comparison compare.Comparison
	gate       compare.GateResult
}

// of is the judgement by the baseline of a mark.
func (j judgement) of(mark view.Bookmark) opinion {
	return opinion{mark, j.comparison, j.gate}
}

// judge holds a candidate against a baseline, once.
func (r reference) judge(a *app, baseline comparand, candidate side) opinion {
	if v, ok := r.judged[candidate.agent.ID]; ok {
		return v
	}
	v := a.judge(baseline.side, candidate, r.rules()).of(baseline.mark)
	r.keep(candidate.agent.ID, v)
	return v
}

func (r reference) keep(agentID string, v opinion) {
	if r.judged != nil {
		r.judged[agentID] = v
	}
}

func (r reference) rules() compare.Policy {
	if r.policy == nil {
		return compare.DefaultPolicy()
	}
	return *r.policy
}

// judge compares two sides and holds the result against a policy.
func (a *app) judge(baseline, candidate side, policy compare.Policy) judgement {
	j := judgement{baseline: baseline.snapshot(), candidate: candidate.snapshot()}
	j.comparison = compare.Compare(j.baseline, j.candidate).At(a.p.Now(), j.baseline)
	j.gate = compare.Gate(policy, j.comparison, j.baseline, j.candidate)
	j.gate.GeneratedAt = j.comparison.GeneratedAt
	return j
}

func viewRescoring(r store.Rescoring) view.Rescoring {
	return view.Rescoring{
		RescoringID: r.ID, RunID: r.RunID, Pack: r.PackRef, SpecDigest: r.SpecDigest, Program: r.Program, CreatedAt: r.CreatedAt,
		Rescored: r.Trials, Flipped: r.Flipped, Kept: r.Kept, LeftOut: r.LeftOut,
	}
}
