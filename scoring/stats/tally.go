package stats

import "fmt"

// Tally counts the valid trials of one side: of a case, or of all its cases.
type Tally struct {
	Passed int `json:"passed"`
	Trials int `json:"trials"`
}

// Rate is the share of trials that passed, 0 without trials.
func (t Tally) Rate() float64 {
	if t.Trials == 0 {
		return 0
	}
	return float64(t.Passed) / float64(t.Trials)
}

func (t Tally) failed() int { return t.Trials - t.Passed }

// check refuses counts that cannot be.
func (t Tally) check() error {
	if t.Trials < 0 || t.Passed < 0 || t.Passed > t.Trials {
		return fmt.Errorf("%d of %d trials cannot have passed", t.Passed, t.Trials)
	}
	return nil
}

// Pair is one case on both sides.
type Pair struct {
	Baseline  Tally `json:"baseline"`
	Candidate Tally `json:"candidate"`
}

// Difference is the candidate's rate minus the baseline's.
func (p Pair) Difference() float64 { return p.Candidate.Rate() - p.Baseline.Rate() }

// check refuses a case that one side has not tried.
func (p Pair) check() error {
	for _, t := range []Tally{p.Baseline, p.Candidate} {
		if err := t.check(); err != nil {
			return err
		}
		if t.Trials == 0 {
			return fmt.Errorf("a pair needs a valid trial on each side, got %d and %d", p.Baseline.Trials, p.Candidate.Trials)
		}
	}
	return nil
}
