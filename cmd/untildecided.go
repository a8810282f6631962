package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/sequential"
	"github.com/agentclash/agentclash/scoring/stats"
	"github.com/agentclash/agentclash/store"
)

// untilOptions are the flags of a run that goes on until its gate is decided.
type untilOptions struct {
	decided   bool
	maxTrials int // 0 lets the test choose
}

func (u *untilOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&u.decided, "until-decided", false, "with --gate: repeat cases only until the evidence says whether the agent has regressed")
	f.IntVar(&u.maxTrials, "max-trials", 0, "with --until-decided: the most trials to decide by (0 lets the test choose)")
}

// checkUntil refuses what does not go with --until-decided.
func (o *startOptions) checkUntil() error {
	u := o.until
	switch {
	case !u.decided && u.maxTrials != 0:
		return usage("--max-trials is for --gate --until-decided").hint("--repetitions says how often a run without it tries each case")
	case !u.decided:
		return nil
	case !o.gate:
		return usage("--until-decided is for --gate: a baseline is what it is decided against").hint("add --gate")
	case u.maxTrials < 0 || u.maxTrials > stats.MaxTrials:
		return usage("--max-trials must be 1 to %d, not %d", stats.MaxTrials, u.maxTrials)
	case o.plan.Repetitions != 1:
		return usage("--until-decided decides itself how often cases are repeated: leave out --repetitions").hint("--max-trials N bounds it")
	case o.shard != "":
		return usage("--until-decided looks at all trials as they end: leave out --shard")
	case o.affected:
		return usage("--until-decided decides by new trials: leave out --affected")
	case o.tape.record != "" || o.tape.replay != "":
		return usage("a run that --until-decided ends has not the same trials each time: leave out --record and --replay")
	}
	return nil
}

// decideBy makes the test of a run that goes on until it is decided. What stands in
// its way is refused here, before anything is run; so is a baseline of any run that
// was named and is not there.
func (a *app) decideBy(ctx context.Context, planned *plan.Plan, o startOptions) error {
	if !o.until.decided {
		return a.namedBaseline(ctx, planned, o)
	}
	if n := len(planned.Agents); n != 1 {
		return usage("--until-decided decides on one agent, and %d were given", n).hint("start a run for each")
	}
	base, ok, err := a.plannedBaseline(ctx, planned, o)
	if err != nil {
		return err
	}
	if !ok {
		return a.noBaseline(o.against.baseline)
	}
	cases := make([]compare.CaseRef, len(planned.Cases))
	for i, c := range planned.Cases {
		cases[i] = compare.CaseRef(c)
	}
	policy := o.against.rules()
	spec := sequential.Spec{Aim: policy.Aim(), Seed: planned.Options.Seed, MaxEach: plan.MaxRepetitions, Invalid: planned.Options.MaxInvalid}
	spec.Aim.MaxTrials = o.until.maxTrials
	test, err := policy.SequentialTest(base.snapshot(), compare.Identity{
		RunID: planned.RunID, RunName: planned.Name, RunAgentID: planned.Agents[0].ID, InputSet: planned.InputSet, EvaluationSpecDigest: planned.SpecDigest,
		Pack: compare.PackRef{Slug: planned.Pack.Slug, Version: planned.Pack.Version, Digest: planned.Pack.Digest},
	}, cases, spec)
	if refused := (*sequential.Refused)(nil); errors.As(err, &refused) {
		f := usage("--until-decided: %w", refused).hint("%s", refused.Next)
		if refused.Evidence {
			f.status, f.code = compare.InsufficientEvidence.ExitStatus(), "insufficient_evidence"
		}
		return f
	}
	if err != nil {
		return fmt.Errorf("--until-decided: %w", err)
	}
	planned.DecideBy(test, a.p.NewID)
	if !o.dryRun {
		a.sayTest(test)
	}
	return nil
}

// namedBaseline refuses a --baseline that is not there before anything is run.
func (a *app) namedBaseline(ctx context.Context, planned *plan.Plan, o startOptions) error {
	if o.against.baseline == "" {
		return nil
	}
	_, ok, err := a.plannedBaseline(ctx, planned, o)
	switch {
	case err != nil || ok:
		return err
	case o.gate:
		return a.noBaseline(o.against.baseline)
	}
	return noSuchBaseline(o.against.baseline)
}

// plannedBaseline finds the baseline of a run that is not stored yet.
func (a *app) plannedBaseline(ctx context.Context, planned *plan.Plan, o startOptions) (comparand, bool, error) {
	if o.opponent != nil {
		return *o.opponent, true, nil
	}
	db, ok, err := a.reading(ctx)
	if err != nil || !ok && !looksLikePath(o.against.baseline) {
		return comparand{}, false, err
	}
	return baselineFor(ctx, a, db, planned.Workspace, planned.Pack.Slug, o.against.baseline)
}

// sayTest says what a run will be decided by, and what it cannot do.
func (a *app) sayTest(t *sequential.Test) {
	a.say("until decided against %s of run %s: at most %d trials of %d case(s), %s, alpha %g, power %g for a fall by %g",
		t.Baseline.Label, t.Baseline.RunName, t.MaxTrials, len(t.Cases), t.Method, t.Alpha, t.Power, t.Drop)
	if p := t.ExpectedPower; p != nil && *p < t.Power-0.005 {
		a.say("! against this baseline a fall by %g is found with power %.2f only: it has too few trials, or --max-trials is too low", t.Drop, *p)
	}
	if len(t.Others) > 0 {
		var keys []string
		for _, other := range t.Others {
			keys = append(keys, other.CaseKey+" ("+other.Why+")")
		}
		a.say("note: run once, and not counted: %s", strings.Join(keys[:min(len(keys), 10)], ", ")+more(len(keys)-10))
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
func (a *app) gateUntil(ctx context.Context, planned *plan.Plan, result engine.Result, against reference) error {
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	candidate, err := a.agentSide(ctx, db, planned.Agents[0].ID, headlines)
	if err != nil {
		return err
	}
	baseline, ok, err := a.ownBaseline(ctx, db, planned, against)
	if err != nil {
		return err
	}
	if !ok {
		return lostBaseline(planned.RunID, candidate.snapshot().Sequential)
	}
	judged := a.judge(baseline.side, candidate, against.rules()).of(baseline.mark)
	if judged.gate, err = a.keepGate(ctx, baseline.side, candidate, judged.gate); err != nil {
		return err
	}
	against.keep(candidate.agent.ID, judged)
	a.sayVerdict(candidate.agent.Label, judged.gate)
	a.sayOn(planned, result, candidate, judged.gate)
	return verdict(judged.gate.Verdict.ExitStatus())
}

// ownBaseline finds the baseline that a run's test was made against, under its name
// or file, or by itself where the name means another by now.
func (a *app) ownBaseline(ctx context.Context, db *store.DB, planned *plan.Plan, against reference) (comparand, bool, error) {
	id := planned.Until.Baseline.RunAgentID
	found, ok, err := baselineFor(ctx, a, db, planned.Workspace, planned.Pack.Slug, against.baseline)
	if err == nil && ok && found.agent.ID == id {
		return found, true, nil
	}
	own, gone := a.agentSide(ctx, db, id, headlines)
	if errors.Is(gone, store.ErrNotFound) {
		return comparand{}, false, err
	}
	return bookmarked(own), gone == nil, gone
}

// lostBaseline is a run whose baseline is gone: what its test found stands, and
// nothing else can be said of it.
func lostBaseline(runID string, s *compare.Sequential) error {
	v := compare.InsufficientEvidence
	if s.Decision == stats.Regressed {
		v = compare.Fail
	}
	return (&failure{status: v.ExitStatus(), code: string(v),
		err: fmt.Errorf("the baseline that the run was decided against (run %s) is not here any more, so the gate has only the test: %s", s.Baseline.RunName, s.Words())}).
		hint("agentclash compare gate --baseline FILE --candidate %s, if it was exported", short(runID))
}

// sayOn says how to go on with a run that its budget or deadline ended, undecided or
// with cases that are run whatever is decided.
func (a *app) sayOn(planned *plan.Plan, result engine.Result, candidate side, g compare.GateResult) {
	if g.Sequential == nil {
		return
	}
	switch result.Code {
	case engine.CodeDeadline:
		a.say("next: agentclash run resume %s --gate --deadline TIME", short(planned.RunID))
	case engine.CodeBudget:
		usd := result.NeedsUSD
		if f := g.Sequential.Forecast; f != nil && f.USD != nil && candidate.card.SpentUSD != nil {
			usd = max(usd, *candidate.card.SpentUSD+*f.USD)
		}
		a.say("next: agentclash run resume %s --gate --budget-usd %s or more", short(planned.RunID), dollarsUp(usd))
	}
}
