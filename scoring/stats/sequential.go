package stats

import (
	"encoding/json"
	"fmt"
)

// Sequential is a test that looks after every trial and stops when the count
// of failures reaches a limit. It is made before the first trial, by [Against]
// a known rate or by [Stored.Sequential] for a stored baseline.
//
// Results must be handed in in the order in which the trials were planned, not
// in the order in which they ended: trials that fail fast would come first.
// Stopping earlier, for whatever reason, only leaves it undecided, so every
// error rate holds at every stopping time.
type Sequential struct {
	Method     string  `json:"method"`
	MaxTrials  int     `json:"max_trials"`
	FalseAlarm float64 `json:"false_alarm"` // highest chance of regressed without any fall
	FalseClear float64 `json:"false_clear"` // highest chance of no_regression with a fall by the drop
	limits     limits
}

// kept is a test as it is stored: its limits take long to find again.
type kept struct {
	Method     string  `json:"method"`
	MaxTrials  int     `json:"max_trials"`
	FalseAlarm float64 `json:"false_alarm"`
	FalseClear float64 `json:"false_clear"`
	Clear      []int   `json:"no_regression_up_to"`
	Alarm      []int   `json:"regressed_from"`
}

// MarshalJSON writes the test with its limits: the counts of failures after 1, 2
// and so on trials, -1 and n+1 being out of reach.
func (s *Sequential) MarshalJSON() ([]byte, error) {
	k := kept{Method: s.Method, MaxTrials: s.MaxTrials, FalseAlarm: s.FalseAlarm, FalseClear: s.FalseClear}
	if s.limits.last() > 0 {
		k.Clear, k.Alarm = s.limits.clear[1:], s.limits.alarm[1:]
	}
	return json.Marshal(k)
}

// UnmarshalJSON reads a test back, and refuses one that cannot have been written.
func (s *Sequential) UnmarshalJSON(doc []byte) error {
	var k kept
	if err := json.Unmarshal(doc, &k); err != nil {
		return err
	}
	if k.MaxTrials < 1 || k.MaxTrials > MaxTrials || len(k.Clear) != k.MaxTrials || len(k.Alarm) != k.MaxTrials {
		return fmt.Errorf("a sequential test of %d trials has as many limits each way, not %d and %d", k.MaxTrials, len(k.Clear), len(k.Alarm))
	}
	for i := range k.MaxTrials {
		if n := i + 1; k.Clear[i] < -1 || k.Clear[i] >= k.Alarm[i] || k.Alarm[i] > n+1 {
			return fmt.Errorf("after %d trials a sequential test cannot have the limits %d and %d", n, k.Clear[i], k.Alarm[i])
		}
	}
	*s = Sequential{Method: k.Method, MaxTrials: k.MaxTrials, FalseAlarm: k.FalseAlarm, FalseClear: k.FalseClear,
		limits: limits{append([]int{-1}, k.Clear...), append([]int{1}, k.Alarm...)}}
	return nil
}

// Decide folds results, true for passed, into a decision. The first limit that
// is reached decides for good.
func (s *Sequential) Decide(passed []bool) Outcome {
	o := Outcome{Decision: Undecided}
	for _, p := range passed {
		if o.Decision != Undecided || o.Trials == s.MaxTrials {
			break
		}
		o.Trials++
		if !p {
			o.Failed++
		}
		o.Decision = s.limits.at(o.Trials, o.Failed)
	}
	o.Spent = o.Decision != Undecided || o.Trials == s.MaxTrials
	return o
}

// Operate gives the test's operating characteristics, exactly, for trials that
// pass with the given probability: mean trials and the chance of each decision.
func (s *Sequential) Operate(rate float64) Forecast { return s.limits.walk(1-rate, 0, 0) }

// Forecast is what more trials would bring from an undecided outcome, at the
// rate seen so far, (passed + 1/2)/(trials + 1). From a decided one it is 0.
func (s *Sequential) Forecast(from Outcome) Forecast {
	if from.Spent || from.Failed < 0 || from.Trials < from.Failed || from.Trials >= s.MaxTrials {
		return Forecast{}
	}
	q := (float64(from.Failed) + 0.5) / float64(from.Trials+1)
	return s.limits.walk(q, from.Trials, from.Failed)
}

// Limits are the failures at which the test stops after n trials: regressed
// from the second number on, no regression up to the first. -1 and n+1 are
// limits that n trials cannot reach.
func (s *Sequential) Limits(n int) (noRegression, regressed int) {
	if n < 1 || n > s.MaxTrials {
		return -1, n + 1
	}
	return s.limits.clear[n], s.limits.alarm[n]
}

// limits are counts of failures by trial: from alarm[n] on it is a regression,
// up to clear[n] it is none. Index 0 is not used.
type limits struct{ clear, alarm []int }

func (l limits) last() int { return len(l.alarm) - 1 }

func (l limits) at(n, failed int) Decision {
	switch {
	case failed >= l.alarm[n]:
		return Regressed
	case failed <= l.clear[n]:
		return NoRegression
	}
	return Undecided
}

// ratio is a log likelihood ratio of a fall to none, after n trials of which so
// many failed. It grows with failures.
type ratio func(n, failed int) float64

// alarm finds from how many failures on the ratio is at least high.
func (r ratio) alarm(last int, high float64) []int {
	limit, at := make([]int, last+1), 0
	for n := 1; n <= last; n++ {
		for at > 0 && r(n, min(at-1, n)) >= high {
			at--
		}
		for at <= n && r(n, at) < high {
			at++
		}
		limit[n] = at
	}
	return limit
}

// clear finds up to how many failures the ratio is at most low.
func (r ratio) clear(last int, low float64) []int {
	limit, at := make([]int, last+1), -1
	for n := 1; n <= last; n++ {
		for at >= 0 && r(n, at) > low {
			at--
		}
		for at < n && r(n, at+1) <= low {
			at++
		}
		limit[n] = at
	}
	return limit
}

// noAlarm and noClear are limits out of reach.
func noAlarm(last int) []int {
	limit := make([]int, last+1)
	for n := range limit {
		limit[n] = n + 1
	}
	return limit
}

func noClear(last int) []int {
	limit := make([]int, last+1)
	for n := range limit {
		limit[n] = -1
	}
	return limit
}

// walk follows the distribution of failures, each of probability q, from a
// state that is undecided to the end.
func (l limits) walk(q float64, trials, failed int) Forecast {
	var f Forecast
	now, next := make([]float64, l.last()+2), make([]float64, l.last()+2)
	now[failed] = 1
	first, end := failed, failed // the states that have any weight
	for n := trials + 1; n <= l.last() && first <= end; n++ {
		clear(next[first : end+2])
		for i := first; i <= end; i++ {
			f.Trials += now[i]
			next[i] += now[i] * (1 - q)
			next[i+1] += now[i] * q
		}
		end++
		for ; end >= first && end >= l.alarm[n]; end-- {
			f.Regressed += next[end]
		}
		for ; first <= end && first <= l.clear[n]; first++ {
			f.NoRegression += next[first]
		}
		now, next = next, now
	}
	return f
}
