package sequential

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/agentclash/agentclash/scoring/stats"
)

// Test is a sequential test of one candidate against one baseline.
type Test struct {
	Method     string  `json:"method"`
	Drop       float64 `json:"drop"`  // the fall of the pass rate that has to be found
	Alpha      float64 `json:"alpha"` // how often, at most, no fall is called one
	Power      float64 `json:"power"` // 1-Power bounds calling a fall by Drop none
	MaxTrials  int     `json:"max_trials"`
	FalseAlarm float64 `json:"false_alarm"`
	FalseClear float64 `json:"false_clear"`
	// ExpectedPower is how often a fall by Drop is found against this baseline, if its
	// rate is what it seems; nil where it was not worked out.
	ExpectedPower *float64 `json:"expected_power,omitempty"`
	// WholeRound has each case run once, whatever is decided before.
	WholeRound bool `json:"whole_round,omitempty"`
	// Reserve is how many further trials of each case may take the places of invalid
	// ones. They are run where a place cannot be filled without them.
	Reserve int `json:"reserve,omitempty"`
	// Seed orders the trials.
	Seed     int64    `json:"seed"`
	Baseline Baseline `json:"baseline"`
	// Cases count, in the order of the plan; Others do not, and say why.
	Cases  []Case  `json:"cases"`
	Others []Other `json:"others,omitempty"`
	// Limits are those of the test by counts of failures; nil for matched trials,
	// whose limits follow from the aim.
	Limits *stats.Sequential `json:"limits,omitempty"`
}

// Baseline names what the test was made against.
type Baseline struct {
	RunID      string `json:"run_id"`
	RunName    string `json:"run_name"`
	RunAgentID string `json:"run_agent_id"`
	Label      string `json:"label"`
}

// Case is a case that counts, with the baseline's valid trials of it.
type Case struct {
	CaseKey string `json:"case_key"`
	Passed  int    `json:"baseline_passed"`
	Trials  int    `json:"baseline_trials"`
}

// Other is a case of the run that does not count.
type Other struct {
	CaseKey string `json:"case_key"`
	Why     string `json:"why"`
}

// Spec is what a test is made of. Its aim and seed must not be chosen by the
// baseline's results.
type Spec struct {
	Aim      stats.Aim
	Seed     int64
	Baseline Baseline
	Cases    []Case
	Others   []Other
	MaxEach  int // the most trials of one case
	// Invalid is how many trials may be invalid before no gate passes; the test keeps
	// as many of each case in reserve, up to ten.
	Invalid int
	// WholeRound has each case run once, whatever is decided before.
	WholeRound bool
}

// Refused is why no test can be made.
type Refused struct {
	Why, Next string
	// Evidence says that the baseline lacks it; else the aim is at fault.
	Evidence bool
}

func (r *Refused) Error() string { return r.Why }

// New makes the test. Where the baseline measured every case equally often, the
// candidate's trials have its mix of cases, and they are counted together; else
// trials are matched case by case. That choice, too, looks at how often cases were
// tried and not at how they ended. What could never decide is a *[Refused].
func New(s Spec) (*Test, error) {
	base := s.tally()
	switch {
	case len(s.Cases) == 0:
		return nil, &Refused{"no case of the run was measured by the baseline with the same content, so there is nothing to decide by",
			"agentclash eval start ... without --until-decided, then agentclash baseline set", true}
	case base.Passed == 0:
		return nil, &Refused{fmt.Sprintf("the baseline passed none of its %d trials of these cases, so its pass rate cannot fall", base.Trials),
			"agentclash baseline set RUN, with a run that passes", true}
	}
	if err := s.fitTrials(); err != nil {
		return nil, err
	}
	t := &Test{Drop: s.Aim.Drop, Alpha: s.Aim.Alpha, Power: s.Aim.Power, Seed: s.Seed, WholeRound: s.WholeRound,
		Baseline: s.Baseline, Cases: s.Cases, Others: s.Others}
	if err := t.make(s.Aim, base); err != nil {
		return nil, err
	}
	if t.Limits != nil {
		rounds := (t.MaxTrials + len(t.Cases) - 1) / len(t.Cases)
		t.Reserve = max(0, min(s.Invalid, maxReserve, s.MaxEach-rounds))
	}
	return t, t.decidable(s)
}

func (s *Spec) tally() (all stats.Tally) {
	for _, c := range s.Cases {
		all.Passed, all.Trials = all.Passed+c.Passed, all.Trials+c.Trials
	}
	return all
}

// maxReserve bounds how many trials of each case are kept in reserve.
const maxReserve = 10

// fitTrials keeps the test within what a run may try of its cases.
func (s *Spec) fitTrials() error {
	most := len(s.Cases) * s.MaxEach
	if s.Aim.MaxTrials > most {
		return &Refused{fmt.Sprintf("--max-trials %d is more than %d trials of each of the %d cases that count", s.Aim.MaxTrials, s.MaxEach, len(s.Cases)),
			fmt.Sprintf("--max-trials %d or less", most), false}
	}
	if s.Aim.MaxTrials == 0 {
		s.Aim.MaxTrials = min(stats.ChosenTrials, most)
	}
	return nil
}

// make chooses the method and finds its limits.
func (t *Test) make(a stats.Aim, base stats.Tally) error {
	if !t.evenly() {
		m, err := stats.NewMatched(a)
		if err != nil {
			return err
		}
		t.Method, t.MaxTrials, t.FalseAlarm, t.FalseClear = m.Method, m.MaxTrials, m.FalseAlarm, m.FalseClear
		return nil
	}
	family, err := stats.NewStored(base.Trials, a)
	if err != nil {
		return err
	}
	l, err := family.Sequential(base)
	if err != nil {
		return err
	}
	t.Limits, t.Method, t.MaxTrials, t.FalseAlarm, t.FalseClear = l, l.Method, l.MaxTrials, l.FalseAlarm, l.FalseClear
	t.ExpectedPower = new(l.Operate(max(0, base.Rate()-a.Drop)).Regressed)
	return nil
}

// evenly says that the baseline measured every case equally often.
func (t *Test) evenly() bool {
	for _, c := range t.Cases {
		if c.Trials != t.Cases[0].Trials {
			return false
		}
	}
	return true
}

// decidable refuses a test that no failing candidate could decide.
func (t *Test) decidable(s Spec) error {
	if t.worst() == stats.Regressed {
		return nil
	}
	if t.Limits == nil {
		return &Refused{fmt.Sprintf("with the %d trials that the baseline has of these cases no candidate could be called regressed, even if it failed every time",
			s.tally().Trials), fmt.Sprintf("run the baseline's agent with --repetitions %d or more, and agentclash baseline set it", t.enoughEach()), true}
	}
	for more := s.Aim.MaxTrials * 2; more < 2*stats.ChosenTrials; more *= 2 {
		longer, next := *t, s.Aim
		next.MaxTrials = min(more, stats.ChosenTrials)
		if err := longer.make(next, s.tally()); err == nil && longer.worst() == stats.Regressed {
			return &Refused{fmt.Sprintf("with --max-trials %d no candidate could be called regressed, even if it failed every time", s.Aim.MaxTrials),
				fmt.Sprintf("--max-trials %d", next.MaxTrials), false}
		}
	}
	return &Refused{fmt.Sprintf("the baseline passed %d of %d trials, too few for a fall to be found, even if a candidate failed every time",
		s.tally().Passed, s.tally().Trials), "run the baseline's agent with more --repetitions, and agentclash baseline set it", true}
}

// worst is the decision on a candidate that fails every trial.
func (t *Test) worst() stats.Decision {
	f, err := t.Begin()
	if err != nil {
		return stats.Undecided
	}
	for _, at := range t.Order() {
		f.Settle(at.CaseKey, at.Repetition, failed)
	}
	return f.State().Decision
}

// enoughEach is how many trials of each case would be enough if all had passed.
func (t *Test) enoughEach() int {
	full := *t
	for n := 2; n < stats.ChosenTrials; n++ {
		full.Cases = nil
		for _, c := range t.Cases {
			full.Cases = append(full.Cases, Case{c.CaseKey, n, n})
		}
		if full.worst() == stats.Regressed {
			return n
		}
	}
	return stats.ChosenTrials
}

// Place is a planned trial.
type Place struct {
	CaseKey    string
	Repetition int
}

// Order are the trials that may count, in the order in which they are planned:
// rounds of all cases, shuffled each. Where trials are matched, a case comes no
// more often than the baseline has it.
func (t *Test) Order() []Place {
	tried := make([]int, len(t.Cases))
	var order []Place
	for _, i := range stats.Rounds(len(t.Cases), t.MaxTrials, uint64(t.Seed)) { //nolint:gosec // any bits are a seed
		if c := t.Cases[i]; t.Limits != nil || tried[i] < c.Trials {
			tried[i]++
			order = append(order, Place{c.CaseKey, tried[i]})
		}
	}
	return order
}

// Reserves are the trials that may take the places of invalid ones, after those of
// Order.
func (t *Test) Reserves() []Place {
	last := map[string]int{}
	for _, at := range t.Order() {
		last[at.CaseKey] = at.Repetition
	}
	var list []Place
	for n := 1; n <= t.Reserve; n++ {
		for _, c := range t.Cases {
			if at := last[c.CaseKey]; at > 0 {
				list = append(list, Place{c.CaseKey, at + n})
			}
		}
	}
	return list
}

// earlier are the baseline's trials of a case, in an order that says nothing of how
// they ended: a baseline is kept as counts.
func (t *Test) earlier(c Case) []bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.CaseKey)) // it cannot fail
	passed := make([]bool, c.Trials)
	for i := range c.Passed {
		passed[i] = true
	}
	random := rand.New(rand.NewPCG(uint64(t.Seed), h.Sum64())) //nolint:gosec // it must be the same again
	random.Shuffle(len(passed), func(i, j int) { passed[i], passed[j] = passed[j], passed[i] })
	return passed
}

// maxStored bounds what a test may say that was read from somewhere.
const maxStored = 1_000_000

// check refuses a test that New cannot have made.
func (t *Test) check() error {
	seen := make(map[string]bool, len(t.Cases))
	total := 0
	for _, c := range t.Cases {
		if seen[c.CaseKey] || c.Trials < 1 || c.Passed < 0 || c.Passed > c.Trials || c.Trials > maxStored {
			return fmt.Errorf("case %q of the sequential test is there twice, or its %d of %d cannot be", c.CaseKey, c.Passed, c.Trials)
		}
		seen[c.CaseKey] = true
		total += c.Trials
	}
	switch {
	case len(t.Cases) == 0 || t.MaxTrials < 1 || t.MaxTrials > stats.MaxTrials || total > maxStored:
		return errors.New("the sequential test has no cases or no trials, or too many")
	case t.Reserve < 0 || t.Reserve > maxReserve || t.Reserve > 0 && t.Limits == nil:
		return fmt.Errorf("the sequential test cannot have %d trials of each case in reserve", t.Reserve)
	case t.Limits != nil && t.Limits.MaxTrials != t.MaxTrials:
		return errors.New("the sequential test and its limits are of different lengths")
	}
	return nil
}
