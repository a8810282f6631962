package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/sequential"
	"github.com/agentclash/agentclash/scoring/stats"
)

// SequentialRules are what a run that goes on until it is decided aims at.
type SequentialRules struct {
	// Alpha is how often, at most, a candidate as good as the baseline is called
	// regressed; nil is 0.05.
	Alpha *float64 `json:"alpha,omitempty"`
	// Power is how often, at least, a fall of the pass rate by Drop is called one;
	// nil is 0.8, and 0.2 for Drop.
	Power *float64 `json:"power,omitempty"`
	Drop  *float64 `json:"drop,omitempty"`
}

// The reason codes of sequential tests.
const (
	GateSequentialRegressed = "sequential_regressed"
	GateSequentialUndecided = "sequential_undecided"
)

func (r *SequentialRules) problems() (list []PolicyProblem) {
	if r == nil {
		return nil
	}
	within := func(field string, v *float64, ok func(float64) bool, range_ string) {
		if v != nil && !ok(*v) {
			list = append(list, PolicyProblem{"sequential." + field, fmt.Sprintf("must be %s, got %v", range_, *v)})
		}
	}
	within("alpha", r.Alpha, func(v float64) bool { return v > 0 && v < 0.5 }, "above 0 and below 0.5")
	within("power", r.Power, func(v float64) bool { return v >= 0.5 && v < 1 }, "from 0.5 to below 1")
	within("drop", r.Drop, func(v float64) bool { return v > 0 && v < 1 }, "above 0 and below 1")
	return list
}

// normalized has every default filled in; nil stays nil.
func (r *SequentialRules) normalized() *SequentialRules {
	if r == nil {
		return nil
	}
	aim := stats.DefaultAim()
	return &SequentialRules{Alpha: new(*cmp.Or(r.Alpha, &aim.Alpha)), Power: new(*cmp.Or(r.Power, &aim.Power)), Drop: new(*cmp.Or(r.Drop, &aim.Drop))}
}

// Aim is what a run until it is decided aims at by the policy.
func (p Policy) Aim() stats.Aim {
	if p.Sequential == nil {
		return stats.DefaultAim()
	}
	r := p.Sequential.normalized()
	return stats.Aim{Drop: *r.Drop, Alpha: *r.Alpha, Power: *r.Power}
}

// Sequential is what a run's sequential test has come to.
type Sequential struct {
	sequential.State
	Baseline sequential.Baseline `json:"baseline"` // that the test was made against
	// Others are the cases that did not count.
	Others []sequential.Other `json:"others,omitempty"`
	// Forecast is nil after a decision, and where no more trials are to be had.
	Forecast *SequentialForecast `json:"forecast,omitempty"`
}

// SequentialForecast is what it would take to decide, on average, if trials keep
// ending as they did, and the chance of each decision within the test's trials.
type SequentialForecast struct {
	Trials       float64  `json:"trials"`
	USD          *float64 `json:"usd"` // nil: what trials cost is not known
	Regressed    float64  `json:"regressed"`
	NoRegression float64  `json:"no_regression"`
}

// SequentialTest makes the test of a run that is to go on until it is decided. It
// is made of spec's aim and seed, and of the cases whose content is the same on both
// sides and which the baseline measured. What stands in the way is a
// *[sequential.Refused].
func (p Policy) SequentialTest(baseline Snapshot, candidate Identity, cases []CaseRef, spec sequential.Spec) (*sequential.Test, error) {
	candidate.RunAgentStatus = statusCompleted // as it is hoped to end
	planned := Snapshot{Identity: candidate, Scorecard: &scoring.AgentScorecard{}}
	if code, why := mismatch(baseline, planned); code != "" {
		return nil, &sequential.Refused{Why: fmt.Sprintf("%s (%s)", why, code), Next: "agentclash baseline list", Evidence: true}
	}
	if baseline.Sequential != nil {
		return nil, &sequential.Refused{Why: "the baseline's own run was stopped by its results (--until-decided), so its pass rate is not that of a fixed number of trials",
			Next: "run its agent with --repetitions, and agentclash baseline set that run", Evidence: true}
	}
	if n := baseline.Scorecard.InvalidTrials; n > baseline.MaxInvalid && p.MaxInvalid == nil && p.MaxInvalidShare == nil {
		return nil, &sequential.Refused{Why: fmt.Sprintf("the baseline has %s, its run allows %d, and no gate would pass", count(n, "invalid trial"), baseline.MaxInvalid),
			Next: "agentclash run retry " + baseline.RunName + " --invalid", Evidence: true}
	}
	spec.Baseline = sequential.Baseline{RunID: baseline.RunID, RunName: baseline.RunName, RunAgentID: baseline.RunAgentID, Label: baseline.RunAgentLabel}
	earlier := make(map[string]CaseResult, len(baseline.Cases))
	for _, c := range baseline.Cases {
		earlier[c.CaseKey] = c
	}
	for _, c := range cases {
		spec.WholeRound = spec.WholeRound || len(c.Regressions) > 0
		b, ok := earlier[c.Key]
		why := ""
		switch {
		case !ok:
			why = "the baseline does not have it"
		case b.Digest != c.Digest:
			why = "its content is not that of the baseline"
		case b.Valid == 0:
			why = "the baseline has no valid trial of it"
		default:
			spec.Cases = append(spec.Cases, sequential.Case{CaseKey: c.Key, Passed: b.Passed, Trials: b.Valid})
			continue
		}
		spec.Others = append(spec.Others, sequential.Other{CaseKey: c.Key, Why: why})
	}
	spec.WholeRound = spec.WholeRound || p.MinCoverage != nil || p.MinComparedCases != nil
	if p.MaxInvalid != nil {
		spec.Invalid = *p.MaxInvalid
	}
	if p.MaxInvalidShare != nil { // of how many trials is not known before
		spec.Invalid = int(math.Ceil(*p.MaxInvalidShare * float64(cmp.Or(spec.Aim.MaxTrials, len(cases)*spec.MaxEach))))
	}
	return sequential.New(spec)
}

// newSequential works out where a run's test stands. One that cannot be worked out
// has decided nothing.
func newSequential(rec Record, deciding []scoring.Trial) *Sequential {
	if rec.Until == nil {
		return nil
	}
	t := rec.Until
	s := &Sequential{Baseline: t.Baseline, Others: t.Others}
	fold, err := t.Of(deciding)
	if err != nil {
		s.State = sequential.State{Decision: stats.Undecided, Method: t.Method, MaxTrials: t.MaxTrials, Spent: true}
		return s
	}
	s.State = fold.State()
	if f, known := fold.Forecast(); known {
		s.Forecast = &SequentialForecast{Trials: round(f.Trials), USD: spending(rec.Scorecard, f.Trials), Regressed: round(f.Regressed), NoRegression: round(f.NoRegression)}
	}
	return s
}

// spending is what so many trials would cost, by what those so far did, judges and
// retries included.
func spending(card *scoring.AgentScorecard, trials float64) *float64 {
	if card == nil || card.SpentUSD == nil {
		return nil
	}
	n := card.PassedTrials + card.FailedTrials + card.InvalidTrials
	return finite(new(round(*card.SpentUSD / float64(max(n, 1)) * trials)))
}

// Words say where the test stands, in one sentence.
func (s *Sequential) Words() string {
	seen := fmt.Sprintf("after %s of at most %d, %d failed (%s: false alarms at most %s, a fall by %s cleared at most %s)",
		count(s.Trials, "trial"), s.MaxTrials, s.Failed, s.Method, number(s.Alpha), number(s.Drop), number(round(1-s.Power)))
	switch {
	case s.Decision == stats.Regressed:
		return "regressed " + seen
	case s.Decision == stats.NoRegression:
		return "no regression " + seen
	case s.Forecast == nil && s.Spent:
		return "undecided " + seen + "; the run has no more trials that could decide"
	case s.Forecast == nil:
		return "undecided " + seen + "; the baseline has fewer trials than the test could use, so how many more would decide is not known"
	}
	f := s.Forecast
	cost := "price unknown"
	if f.USD != nil {
		cost = fmt.Sprintf("about $%.2g", *f.USD)
	}
	return fmt.Sprintf("undecided %s; about %.0f more trials would decide, %s (chance of regressed %.0f %%, of no regression %.0f %%)",
		seen, max(1, f.Trials), cost, 100*f.Regressed, 100*f.NoRegression)
}

// decidedBy is the candidate's own test, when it was made against this baseline.
func (g *gating) decidedBy() *Sequential {
	if ownTest(g.baseline, g.candidate) {
		return g.candidate.Sequential
	}
	return nil
}

func ownTest(baseline, candidate Snapshot) bool {
	return candidate.Sequential != nil && candidate.Sequential.Baseline.RunAgentID == baseline.RunAgentID
}

// sequential is the answer of the candidate's own test. Where it found no
// regression the rest of the policy decides.
func (g *gating) sequential() (decision, bool) {
	s := g.decidedBy()
	if s == nil || s.Decision == stats.NoRegression ||
		slices.ContainsFunc(g.rules, func(r RuleResult) bool { return strings.HasSuffix(r.ReasonCode, gateMaxInvalid) }) {
		return undecided()
	}
	if s.Decision == stats.Regressed {
		return decided(Fail, GateSequentialRegressed, s.Words())
	}
	return decided(InsufficientEvidence, GateSequentialUndecided, s.Words())
}

// leaveToTest takes back the thresholds that were reached, and says what the
// candidate's test stands in for: rules that would take chance for a fall.
func (g *gating) leaveToTest() (notes []string) {
	s := g.decidedBy()
	if s == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(g.results)) {
		if r := g.results[key]; r.Outcome == DimensionFail || r.Outcome == DimensionWarn {
			notes = append(notes, fmt.Sprintf("%s fell by %s, which reaches the %s threshold and may be chance", quote(key), number(*r.WorseningDelta), r.Outcome))
			r.Outcome = DimensionCannotTell
			g.results[key] = r
		}
	}
	rules := []string{"the thresholds of dimensions"}
	if g.policy.Statistics != nil {
		rules = append(rules, "statistics")
	}
	if g.policy.RequireScorecardPass {
		rules = append(rules, "require_scorecard_pass")
	}
	notes = append(notes, "the sequential decision stands in for "+strings.Join(rules, ", "))
	if aim := g.policy.Aim(); aim.Alpha != s.Alpha || aim.Power != s.Power || aim.Drop != s.Drop {
		notes = append(notes, fmt.Sprintf("the run was decided by its own aim (alpha %s, power %s, drop %s), which is not the policy's", number(s.Alpha), number(s.Power), number(s.Drop)))
	}
	return notes
}

// stoppedWarnings say of sides that their results ended: what is worked out as if
// the number of trials had been fixed is not what it says.
func stoppedWarnings(baseline, candidate Snapshot) (list []string) {
	const fixed = "intervals and p-values are for a fixed number of trials, and can say too much"
	if s := candidate.Sequential; s != nil {
		if ownTest(baseline, candidate) {
			list = append(list, "how long the candidate ran depended on its results ("+s.Method+"): the decision of that test counts; "+fixed)
		} else {
			list = append(list, fmt.Sprintf("the candidate was run until it was decided against another baseline (run %s): %s", quote(s.Baseline.RunName), fixed))
		}
	}
	if baseline.Sequential != nil {
		list = append(list, "how long the baseline ran depended on its own results (--until-decided): "+fixed)
	}
	return list
}
