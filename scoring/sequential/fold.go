package sequential

import (
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/stats"
)

const failed = scoring.OutcomeFailed

// State is what a test has come to.
type State struct {
	Decision   stats.Decision `json:"decision"`
	Method     string         `json:"method"`
	Trials     int            `json:"trials"` // that counted
	MaxTrials  int            `json:"max_trials"`
	Failed     int            `json:"failed"`      // of these
	Spent      bool           `json:"spent"`       // no further trial of the run could decide
	PassedOver int            `json:"passed_over"` // invalid ones
	Alpha      float64        `json:"alpha"`
	Power      float64        `json:"power"`
	Drop       float64        `json:"drop"`
	FalseAlarm float64        `json:"false_alarm"`
	FalseClear float64        `json:"false_clear"`
}

// Decided says that there is a decision, which nothing changes any more.
func (s State) Decided() bool { return s.Decision != stats.Undecided }

// Fold counts the outcomes of trials into a decision. It is for one goroutine.
//
// An invalid trial is passed over. Where trials are counted together the next one
// of its case takes its place, so that every look has seen the mix of cases that
// was planned; matched trials ask for no mix, and lose the place.
type Fold struct {
	test    *Test
	matched *stats.Matched // nil: trials are counted together
	order   []Place
	cases   map[string]*tried

	next    int // place in the order that comes next
	passed  []bool
	matches []stats.Match
	over    int
	settled int // outcomes that came
	used    int // of these, that are counted or passed over
	outcome stats.Outcome
}

// tried is how far a case is.
type tried struct {
	outcomes map[int]scoring.Outcome // by repetition
	planned  int
	next     int    // repetition
	earlier  []bool // of the baseline, that are not matched yet
}

// Begin is the test before its first trial. A test that cannot have been made is
// an error.
func (t *Test) Begin() (*Fold, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	f := &Fold{test: t, order: t.Order(), cases: make(map[string]*tried, len(t.Cases)), outcome: stats.Outcome{Decision: stats.Undecided}}
	if t.Limits == nil {
		m, err := stats.NewMatched(stats.Aim{Drop: t.Drop, Alpha: t.Alpha, Power: t.Power, MaxTrials: t.MaxTrials})
		if err != nil {
			return nil, err
		}
		f.matched = m
	}
	for _, c := range t.Cases {
		at := &tried{outcomes: map[int]scoring.Outcome{}, next: 1}
		if f.matched != nil {
			at.earlier = t.earlier(c)
		}
		f.cases[c.CaseKey] = at
	}
	for _, at := range append(t.Order(), t.Reserves()...) {
		f.cases[at.CaseKey].planned = at.Repetition
	}
	return f, nil
}

// Settle takes how a trial ended for good, once. Trials that do not count change
// nothing.
func (f *Fold) Settle(caseKey string, repetition int, o scoring.Outcome) {
	c := f.cases[caseKey]
	if c == nil || repetition > c.planned {
		return
	}
	c.outcomes[repetition] = o
	f.settled++
	for f.outcome.Decision == stats.Undecided && f.next < len(f.order) && f.count(f.order[f.next]) {
		f.next++
	}
}

// count fills a place, and says whether that could be done.
func (f *Fold) count(at Place) bool {
	c := f.cases[at.CaseKey]
	for c.next <= c.planned {
		o, ended := c.outcomes[c.next]
		if !ended {
			return false
		}
		c.next++
		f.used++
		if o != scoring.OutcomeInvalid {
			f.add(c, o == scoring.OutcomePassed)
			return true
		}
		f.over++
		if f.matched != nil {
			return true
		}
	}
	return false
}

func (f *Fold) add(c *tried, passed bool) {
	if f.matched == nil {
		f.passed = append(f.passed, passed)
		f.outcome = f.test.Limits.Decide(f.passed)
		return
	}
	f.matches = append(f.matches, stats.Match{Baseline: c.earlier[0], Candidate: passed})
	c.earlier = c.earlier[1:]
	f.outcome = f.matched.Decide(f.matches)
}

// Waiting says how many outcomes wait for that of an earlier trial, and which one
// that is. Nothing waits after a decision.
func (f *Fold) Waiting() (n int, on Place) {
	if f.spent() {
		return 0, Place{}
	}
	key := f.order[f.next].CaseKey
	return f.settled - f.used, Place{key, f.cases[key].next}
}

// State is what has been counted so far.
func (f *Fold) State() State {
	t := f.test
	return State{
		Decision: f.outcome.Decision, Spent: f.spent(), Method: t.Method, Trials: f.outcome.Trials, MaxTrials: t.MaxTrials, Failed: f.outcome.Failed,
		PassedOver: f.over, Alpha: t.Alpha, Power: t.Power, Drop: t.Drop, FalseAlarm: t.FalseAlarm, FalseClear: t.FalseClear,
	}
}

// spent says that there is a decision, no place, or no trial for the next one.
func (f *Fold) spent() bool {
	if f.outcome.Decision != stats.Undecided || f.next == len(f.order) {
		return true
	}
	c := f.cases[f.order[f.next].CaseKey]
	return c.next > c.planned
}

// Forecast is what more trials would bring, up to the most that the test may have.
// It is not known (false) where the run or the baseline has no more.
func (f *Fold) Forecast() (stats.Forecast, bool) {
	switch {
	case f.spent() || f.next+f.test.MaxTrials-f.outcome.Trials > len(f.order):
		return stats.Forecast{}, false
	case f.matched == nil:
		return f.test.Limits.Forecast(f.outcome), true
	}
	return f.matched.Forecast(f.matches), true
}

// Of is the test on a run's trials, each as its last attempt left it.
func (t *Test) Of(trials []scoring.Trial) (*Fold, error) {
	f, err := t.Begin()
	if err != nil {
		return nil, err
	}
	for _, at := range trials {
		f.Settle(at.CaseKey, at.Repetition, at.Outcome)
	}
	return f, nil
}
