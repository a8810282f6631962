package stats

import "fmt"

// Aim is what a decision must be able to do, stated before the first trial.
type Aim struct {
	Drop      float64 // a fall of the pass rate by this much has to be found: 0.2 is 90 % to 70 %
	Alpha     float64 // how often, at most, no fall at all may be called a regression
	Power     float64 // how often, at least, a fall by Drop is called one; 1-Power bounds calling it no regression
	MaxTrials int     // of the candidate; 0 lets the test choose
}

// DefaultAim is an aim with the usual rates: a drop of 0.2 found with power
// 0.8 at a false-alarm rate of 0.05.
func DefaultAim() Aim { return Aim{Drop: 0.2, Alpha: 0.05, Power: 0.8} }

// MaxTrials bounds the trials of any sequential test, and of the baseline that
// one is made for.
const MaxTrials = 500

func (a Aim) check() error {
	switch {
	case !(a.Drop > 0 && a.Drop < 1):
		return fmt.Errorf("the drop to be found is between 0 and 1, such as 0.2, not %v", a.Drop)
	case !(a.Alpha > 0 && a.Alpha < 0.5):
		return fmt.Errorf("the rate of false alarms is between 0 and 0.5, such as 0.05, not %v", a.Alpha)
	case !(a.Power >= 0.5 && a.Power < 1):
		return fmt.Errorf("the power is from 0.5 to below 1, such as 0.8, not %v", a.Power)
	case a.MaxTrials < 0 || a.MaxTrials > MaxTrials:
		return fmt.Errorf("a sequential test has 1 to %d trials, not %d", MaxTrials, a.MaxTrials)
	}
	return nil
}

// Decision is what the evidence says so far.
type Decision string

// The values of [Decision].
const (
	Regressed    Decision = "regressed"
	NoRegression Decision = "no_regression"
	Undecided    Decision = "undecided"
)

// Outcome is the state of a sequential test after some results. Trials is the
// number after which it was decided; results beyond that change nothing. Spent
// is true when no further trial could decide.
type Outcome struct {
	Decision Decision `json:"decision"`
	Trials   int      `json:"trials"`
	Failed   int      `json:"failed"`
	Spent    bool     `json:"spent"`
}

// Forecast says what going on would bring, if trials keep ending as they did:
// how many more trials on average until a decision or the last trial, and the
// chance of each decision.
type Forecast struct {
	Trials       float64 `json:"trials"`
	Regressed    float64 `json:"regressed"`
	NoRegression float64 `json:"no_regression"`
}
