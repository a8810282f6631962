package evaluation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/sequential"
	"github.com/agentclash/agentclash/scoring/stats"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/pflag"
)

// UntilOptions are the flags of a run that goes on until its gate is decided.
type UntilOptions struct {
	decided   bool
	maxTrials int // 0 lets the test choose
}

func (u *UntilOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&u.decided, "until-decided", false, "with --gate: repeat cases only until the evidence says whether the agent has regressed")
	f.IntVar(&u.maxTrials, "max-trials", 0, "with --until-decided: the most trials to decide by (0 lets the test choose)")
}

// checkUntil refuses what does not go with --until-decided.
func (o *StartOptions) checkUntil() error {
	u := o.Until
	switch {
	case !u.decided && u.maxTrials != 0:
		return cli.Usage("--max-trials is for --gate --until-decided").Hint("--repetitions says how often a run without it tries each case")
	case !u.decided:
		return nil
	case !o.Gate:
		return cli.Usage("--until-decided is for --gate: a baseline is what it is decided against").Hint("add --gate")
	case u.maxTrials < 0 || u.maxTrials > stats.MaxTrials:
		return cli.Usage("--max-trials must be 1 to %d, not %d", stats.MaxTrials, u.maxTrials)
	case o.plan.Repetitions != 1:
		return cli.Usage("--until-decided decides itself how often cases are repeated: leave out --repetitions").Hint("--max-trials N bounds it")
	case o.shard != "":
		return cli.Usage("--until-decided looks at all trials as they end: leave out --shard")
	case o.affected:
		return cli.Usage("--until-decided decides by new trials: leave out --affected")
	case o.Tape.record != "" || o.Tape.Replay != "":
		return cli.Usage("a run that --until-decided ends has not the same trials each time: leave out --record and --replay")
	}
	return nil
}

// decideBy makes the test of a run that goes on until it is decided. What stands in
// its way is refused here, before anything is run; so is a baseline of any run that
// was named and is not there.
func decideBy(ctx context.Context, a *cli.App, planned *plan.Plan, o StartOptions) error {
	if !o.Until.decided {
		return namedBaseline(ctx, a, planned, o)
	}
	if n := len(planned.Agents); n != 1 {
		return cli.Usage("--until-decided decides on one agent, and %d were given", n).Hint("start a run for each")
	}
	base, ok, err := plannedBaseline(ctx, a, planned, o)
	if err != nil {
		return err
	}
	if !ok {
		return verdict.NoBaseline(a, o.against.Baseline)
	}
	cases := make([]compare.CaseRef, len(planned.Cases))
	for i, c := range planned.Cases {
		cases[i] = compare.CaseRef(c)
	}
	policy := o.against.Rules()
	spec := sequential.Spec{Aim: policy.Aim(), Seed: planned.Options.Seed, MaxEach: plan.MaxRepetitions, Invalid: planned.Options.MaxInvalid}
	spec.Aim.MaxTrials = o.Until.maxTrials
	test, err := policy.SequentialTest(base.Snapshot(), compare.Identity{
		RunID: planned.RunID, RunName: planned.Name, RunAgentID: planned.Agents[0].ID, InputSet: planned.InputSet, EvaluationSpecDigest: planned.SpecDigest,
		Pack: compare.PackRef{Slug: planned.Pack.Slug, Version: planned.Pack.Version, Digest: planned.Pack.Digest},
	}, cases, spec)
	if refused := (*sequential.Refused)(nil); errors.As(err, &refused) {
		f := cli.Usage("--until-decided: %w", refused).Hint("%s", refused.Next)
		if refused.Evidence {
			f.Status, f.Code = compare.InsufficientEvidence.ExitStatus(), "insufficient_evidence"
		}
		return f
	}
	if err != nil {
		return fmt.Errorf("--until-decided: %w", err)
	}
	planned.DecideBy(test, a.Process.NewID)
	if !o.dryRun {
		sayTest(a, test)
	}
	return nil
}

// namedBaseline refuses a --baseline that is not there before anything is run.
func namedBaseline(ctx context.Context, a *cli.App, planned *plan.Plan, o StartOptions) error {
	if o.against.Baseline == "" {
		return nil
	}
	_, ok, err := plannedBaseline(ctx, a, planned, o)
	switch {
	case err != nil || ok:
		return err
	case o.Gate:
		return verdict.NoBaseline(a, o.against.Baseline)
	}
	return verdict.NoSuchBaseline(o.against.Baseline)
}

// plannedBaseline finds the baseline of a run that is not stored yet.
func plannedBaseline(ctx context.Context, a *cli.App, planned *plan.Plan, o StartOptions) (verdict.Comparand, bool, error) {
	if o.Opponent != nil {
		return *o.Opponent, true, nil
	}
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok && !cli.LooksLikePath(o.against.Baseline) {
		return verdict.Comparand{}, false, err
	}
	return verdict.BaselineFor(ctx, a, db, planned.Workspace, planned.Pack.Slug, o.against.Baseline)
}

// sayTest says what a run will be decided by, and what it cannot do.
func sayTest(a *cli.App, t *sequential.Test) {
	a.Say("until decided against %s of run %s: at most %d trials of %d case(s), %s, alpha %g, power %g for a fall by %g",
		t.Baseline.Label, t.Baseline.RunName, t.MaxTrials, len(t.Cases), t.Method, t.Alpha, t.Power, t.Drop)
	if p := t.ExpectedPower; p != nil && *p < t.Power-0.005 {
		a.Say("! against this baseline a fall by %g is found with power %.2f only: it has too few trials, or --max-trials is too low", t.Drop, *p)
	}
	if len(t.Others) > 0 {
		var keys []string
		for _, other := range t.Others {
			keys = append(keys, other.CaseKey+" ("+other.Why+")")
		}
		a.Say("note: run once, and not counted: %s", strings.Join(keys[:min(len(keys), 10)], ", ")+more(len(keys)-10))
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// gateUntil gates a run that was to go on until it is decided, and says how to go on
// with one that is not.
func gateUntil(ctx context.Context, a *cli.App, planned *plan.Plan, result engine.Result, against verdict.Reference) error {
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	candidate, err := verdict.AgentSide(ctx, a, db, planned.Agents[0].ID, verdict.Headlines)
	if err != nil {
		return err
	}
	baseline, ok, err := ownBaseline(ctx, a, db, planned, against)
	if err != nil {
		return err
	}
	if !ok {
		return lostBaseline(planned.RunID, candidate.Snapshot().Sequential)
	}
	judged := verdict.Judge(a, baseline.Side, candidate, against.Rules()).Of(baseline.Mark)
	if judged.Gate, err = verdict.KeepGate(ctx, a, baseline.Side, candidate, judged.Gate); err != nil {
		return err
	}
	against.Keep(candidate.Agent.ID, judged)
	verdict.SayVerdict(a, candidate.Agent.Label, judged.Gate)
	sayOn(a, planned, result, candidate, judged.Gate)
	return cli.Verdict(judged.Gate.Verdict.ExitStatus())
}

// ownBaseline finds the baseline that a run's test was made against, under its name
// or file, or by itself where the name means another by now.
func ownBaseline(ctx context.Context, a *cli.App, db *store.DB, planned *plan.Plan, against verdict.Reference) (verdict.Comparand, bool, error) {
	id := planned.Until.Baseline.RunAgentID
	found, ok, err := verdict.BaselineFor(ctx, a, db, planned.Workspace, planned.Pack.Slug, against.Baseline)
	if err == nil && ok && found.Agent.ID == id {
		return found, true, nil
	}
	own, gone := verdict.AgentSide(ctx, a, db, id, verdict.Headlines)
	if errors.Is(gone, store.ErrNotFound) {
		return verdict.Comparand{}, false, err
	}
	return verdict.Bookmarked(own), gone == nil, gone
}

// lostBaseline is a run whose baseline is gone: what its test found stands, and
// nothing else can be said of it.
func lostBaseline(runID string, s *compare.Sequential) error {
	v := compare.InsufficientEvidence
	if s.Decision == stats.Regressed {
		v = compare.Fail
	}
	return (&cli.Failure{Status: v.ExitStatus(), Code: string(v),
		Err: fmt.Errorf("the baseline that the run was decided against (run %s) is not here any more, so the gate has only the test: %s", s.Baseline.RunName, s.Words())}).
		Hint("agentclash compare gate --baseline FILE --candidate %s, if it was exported", cli.Short(runID))
}

// sayOn says how to go on with a run that its budget or deadline ended, undecided or
// with cases that are run whatever is decided.
func sayOn(a *cli.App, planned *plan.Plan, result engine.Result, candidate verdict.Side, g compare.GateResult) {
	if g.Sequential == nil {
		return
	}
	switch result.Code {
	case engine.CodeDeadline:
		a.Say("next: agentclash run resume %s --gate --deadline TIME", cli.Short(planned.RunID))
	case engine.CodeBudget:
		usd := result.NeedsUSD
		if f := g.Sequential.Forecast; f != nil && f.USD != nil && candidate.Card.SpentUSD != nil {
			usd = max(usd, *candidate.Card.SpentUSD+*f.USD)
		}
		a.Say("next: agentclash run resume %s --gate --budget-usd %s or more", cli.Short(planned.RunID), dollarsUp(usd))
	}
}
