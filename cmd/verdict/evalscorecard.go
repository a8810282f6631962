package verdict

import (
	"context"
	"errors"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
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
	written                         ReportFlags
}

func (o *scorecardOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.rescoring, "rescoring", "", "rescoring of the run, by id or latest")
	o.written.AddFlags(f)
	f.StringVar(&o.baseline, "baseline", "", BaselineUsage)
	f.StringVar(&o.policyFile, "policy", "", PolicyUsage)
}

// NewEvalScorecard is agentclash eval scorecard, which reads stored results alone.
func NewEvalScorecard(a *cli.App) *cobra.Command {
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
		Args:    cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			selector := store.Latest
			if len(args) == 1 {
				selector = args[0]
			}
			ctx := c.Context()
			return showScorecard(ctx, a, o, func(db *store.DB) (Side, error) { return FindSide(ctx, a, db, selector, agent, Explained) })
		},
	}
	o.addFlags(c.Flags())
	c.Flags().StringVar(&agent, "agent", "", "run agent, by label or id")
	return c
}

// NewRunScorecard is eval scorecard for a run agent that is named by its id alone.
func NewRunScorecard(a *cli.App) *cobra.Command {
	var o scorecardOptions
	c := &cobra.Command{
		Use: "scorecard RUN-AGENT", Short: "Show what scoring says of a run agent",
		Long: `Show what scoring says of one run agent, by its id or six or more digits of its
end: eval scorecard with an id in place of names. run agents RUN has the ids.`,
		Example: "  agentclash run scorecard $(agentclash run agents --json --query .items[0].run_agent_id)",
		Args:    cli.ExactArgs("RUN-AGENT"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			return showScorecard(ctx, a, o, func(db *store.DB) (Side, error) {
				s, err := AgentSide(ctx, a, db, args[0], Explained)
				if errors.Is(err, store.ErrNotFound) {
					err = (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: err}).Hint("agentclash run agents RUN")
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
func showScorecard(ctx context.Context, a *cli.App, o scorecardOptions, find func(*store.DB) (Side, error)) error {
	if err := o.written.Check(a, false); err != nil {
		return err
	}
	policy, err := Policy(a, o.policyFile)
	if err != nil {
		return err
	}
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	s, err := find(db)
	if err != nil {
		return err
	}
	if o.rescoring != "" {
		return rescoredScorecard(ctx, a, db, s, o.rescoring, o.written)
	}
	d, err := ScorecardDocument(ctx, a, db, s, Reference{Baseline: o.baseline, Policy: &policy})
	if err != nil {
		return err
	}
	if err := a.Print(d, func(w io.Writer, v view.Options) error { return view.ScorecardReport(w, d, v) }); err != nil {
		return err
	}
	err = mentionRescorings(ctx, a, db, s.Run)
	return WriteReports(a, o.written, err, func() (reports.Run, error) { return reportOnScorecard(a, s.Run, d), nil })
}

// rescoredScorecard prints what a rescoring says of a run agent.
func rescoredScorecard(ctx context.Context, a *cli.App, db *store.DB, s Side, selector string, written ReportFlags) error {
	r, err := db.Rescoring(ctx, s.Run.ID, selector)
	if errors.Is(err, store.ErrNotFound) {
		return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: err}).Hint("agentclash eval rescore %s --list", cli.Short(s.Run.ID))
	}
	if err != nil {
		return err
	}
	card, err := db.RescoredAgent(ctx, r.ID, s.Agent.ID)
	if err != nil {
		return err
	}
	var trials []scoring.Trial
	err = db.RescoredTrials(ctx, r.ID, s.Agent.ID, func(t store.Trial) error {
		end, err := t.End()
		trials = append(trials, end.Trial)
		return err
	})
	if err != nil {
		return err
	}
	d := view.ScorecardDocument{Candidate: s.Participant(), Rescoring: new(ViewRescoring(r)), Scorecard: view.NewScorecard(s.Ref(), card, trials)}
	err = a.Print(d, func(w io.Writer, o view.Options) error { return view.ScorecardReport(w, d, o) })
	return WriteReports(a, written, err, func() (reports.Run, error) { return reportOnScorecard(a, s.Run, d), nil })
}

// mentionRescorings says that a run was scored again after it ended.
func mentionRescorings(ctx context.Context, a *cli.App, db *store.DB, run store.Run) error {
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
		a.Say("note: the run has %d newer rescoring(s): agentclash eval scorecard %s --rescoring latest", newer, cli.Short(run.ID))
	}
	return nil
}

// ScorecardOf writes the scorecard of a run agent that has just run.
func ScorecardOf(ctx context.Context, a *cli.App, w io.Writer, o view.Options, agentID string, against Reference) error {
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	s, err := AgentSide(ctx, a, db, agentID, Explained)
	if err != nil {
		return err
	}
	d, err := ScorecardDocument(ctx, a, db, s, against)
	if err != nil {
		return err
	}
	return view.ScorecardReport(w, d, o)
}

// ScorecardDocument puts a side's scorecard beside the baseline of its pack. A
// run that is the baseline itself is compared with nothing.
func ScorecardDocument(ctx context.Context, a *cli.App, db *store.DB, s Side, against Reference) (view.ScorecardDocument, error) {
	card, err := s.Scorecard()
	if err != nil {
		return view.ScorecardDocument{}, err
	}
	d := view.ScorecardDocument{Candidate: s.Participant(), Scorecard: card}
	if what, _ := s.Part(); what != "" { // which is compared with nothing
		return d, nil
	}
	base, ok, err := BaselineFor(ctx, a, db, s.Run.Workspace, s.Run.Pack.Slug, against.Baseline)
	if err == nil && !ok && against.Baseline != "" {
		err = NoSuchBaseline(against.Baseline)
	}
	if err != nil || !ok {
		return d, err
	}
	d.Baseline = &base.Mark
	if base.Agent.ID == s.Agent.ID {
		return d, nil
	}
	v := against.judge(a, base, s)
	d.Comparison, d.ReleaseGate = &v.comparison, &v.Gate
	return d, nil
}

// Judgement is what comparing two sides came to, with the sides as they were
// compared.
type Judgement struct {
	Baseline, Candidate compare.Snapshot
	Comparison          compare.Comparison
	Gate                compare.GateResult
}

// Reference is what a run is held against: a baseline, by its name or file, and
// a policy.
type Reference struct {
	Baseline string
	Policy   *compare.Policy // nil: the default one
	// judged is what the agents of a run were found to be, by their ids, so that
	// the screen, the gate and the reports say the same; nil: nothing is kept.
	Judged map[string]Opinion
}

// Opinion is a judgement without the sides, which may be large.
type Opinion struct {
	baseline   view.Bookmark
	comparison compare.Comparison
	Gate       compare.GateResult
}

// Of is the judgement by the baseline of a mark.
func (j Judgement) Of(mark view.Bookmark) Opinion {
	return Opinion{mark, j.Comparison, j.Gate}
}

// judge holds a candidate against a baseline, once.
func (r Reference) judge(a *cli.App, baseline Comparand, candidate Side) Opinion {
	if v, ok := r.Judged[candidate.Agent.ID]; ok {
		return v
	}
	v := Judge(a, baseline.Side, candidate, r.Rules()).Of(baseline.Mark)
	r.Keep(candidate.Agent.ID, v)
	return v
}

// Keep remembers what was found of a run agent, where somebody asked for it.
func (r Reference) Keep(agentID string, v Opinion) {
	if r.Judged != nil {
		r.Judged[agentID] = v
	}
}

// Rules are the gate's policy, the default one when none was given.
func (r Reference) Rules() compare.Policy {
	if r.Policy == nil {
		return compare.DefaultPolicy()
	}
	return *r.Policy
}

// Judge compares two sides and holds the result against a policy.
func Judge(a *cli.App, baseline, candidate Side, policy compare.Policy) Judgement {
	j := Judgement{Baseline: baseline.Snapshot(), Candidate: candidate.Snapshot()}
	j.Comparison = compare.Compare(j.Baseline, j.Candidate).At(a.Process.Now(), j.Baseline)
	j.Gate = compare.Gate(policy, j.Comparison, j.Baseline, j.Candidate)
	j.Gate.GeneratedAt = j.Comparison.GeneratedAt
	return j
}

// ViewRescoring is a stored rescoring as it is printed.
func ViewRescoring(r store.Rescoring) view.Rescoring {
	return view.Rescoring{
		RescoringID: r.ID, RunID: r.RunID, Pack: r.PackRef, SpecDigest: r.SpecDigest, Program: r.Program, CreatedAt: r.CreatedAt,
		Rescored: r.Trials, Flipped: r.Flipped, Kept: r.Kept, LeftOut: r.LeftOut,
	}
}
