package stats

import "math"

// Matched is the sequential test on matched trials: each of the candidate with
// one of the baseline of the same case, by [MatchTrials].
//
// Regressed: when nothing differs, a pair of which one passed is worse or
// better by the toss of a fair coin, however hard its case is and in whichever
// order the cases come. That is Wald's test of two proportions (Sequential
// Analysis, 1947, chapter 6), here with a mixture of odds in place of one and
// its limit found by exact enumeration over MaxTrials tosses.
//
// No regression: a capital that bets on a mean difference below the drop
// reaches 1/(1-Power) with a chance of at most 1-Power when each pair's
// expected difference is the drop or more, by Ville's inequality (I.
// Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by
// betting", JRSS B 86 (2024) 1-27).
//
// It uses the baseline one trial at a time, so it needs more trials than
// [Stored] where the baseline is large, and does not ask for the same mix.
type Matched struct {
	Method     string  `json:"method"`
	MaxTrials  int     `json:"max_trials"` // pairs
	FalseAlarm float64 `json:"false_alarm"`
	FalseClear float64 `json:"false_clear"`
	alarm      limits  // by pairs that differ
	down, even [stakes]float64
	up         [stakes]float64
}

// stakes is the number of bets that a mixture has.
const stakes = 5

// stake is the share of the largest permitted bet.
func stake(i int) float64 { return (float64(i) + 0.5) / stakes }

// NewMatched makes the test. It depends on the aim alone: what it is set to
// must not be read off the baseline that it will use.
func NewMatched(a Aim) (*Matched, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.MaxTrials == 0 {
		a.MaxTrials = ChosenTrials
	}
	m := &Matched{Method: "sequential McNemar (matched trials)", MaxTrials: a.MaxTrials, FalseClear: 1 - a.Power}
	for i := range stakes {
		bet := stake(i) / (1 - a.Drop)
		m.down[i] = math.Log1p(bet * (a.Drop - 1))
		m.even[i] = math.Log1p(bet * a.Drop)
		m.up[i] = math.Log1p(bet * (a.Drop + 1))
	}
	tosses := ratio(func(n, worse int) float64 { return worseLog(worse, n-worse) })
	none := noClear(a.MaxTrials)
	high := -highest(-lowest, 0, func(minus float64) bool {
		return limits{none, tosses.alarm(a.MaxTrials, -minus)}.walk(0.5, 0, 0).Regressed <= a.Alpha
	})
	m.alarm = limits{none, tosses.alarm(a.MaxTrials, high)}
	m.FalseAlarm = m.alarm.walk(0.5, 0, 0).Regressed
	return m, nil
}

// worseLog is the log of the mixture of likelihood ratios that a pair that
// differs is worse more often than not.
func worseLog(worse, better int) float64 {
	var logs [stakes]float64
	for i := range stakes {
		logs[i] = float64(worse)*math.Log1p(stake(i)) + float64(better)*math.Log1p(-stake(i))
	}
	return logMean(logs)
}

// logMean is the log of the mean of what the logs are of.
func logMean(logs [stakes]float64) float64 {
	top, sum := logs[0], 0.0
	for _, l := range logs {
		top = math.Max(top, l)
	}
	for _, l := range logs {
		sum += math.Exp(l - top)
	}
	return top + math.Log(sum/stakes)
}

func (m *Matched) at(pairs, worse, better int) Decision {
	if differ := worse + better; differ > 0 && worse >= m.alarm.alarm[differ] {
		return Regressed
	}
	var logs [stakes]float64
	for i := range stakes {
		logs[i] = float64(worse)*m.down[i] + float64(better)*m.up[i] + float64(pairs-worse-better)*m.even[i]
	}
	if logMean(logs) >= -math.Log(m.FalseClear) {
		return NoRegression
	}
	return Undecided
}

// Decide folds matches, in the planned order of the candidate's trials, into a
// decision. The first limit that is reached decides for good. Failed counts the
// candidate's.
func (m *Matched) Decide(matches []Match) Outcome {
	o, worse, better := Outcome{Decision: Undecided}, 0, 0
	for _, p := range matches {
		if o.Decision != Undecided || o.Trials == m.MaxTrials {
			break
		}
		o.Trials++
		if !p.Candidate {
			o.Failed++
		}
		if p.Baseline && !p.Candidate {
			worse++
		}
		if !p.Baseline && p.Candidate {
			better++
		}
		o.Decision = m.at(o.Trials, worse, better)
	}
	o.Spent = o.Decision != Undecided || o.Trials == m.MaxTrials
	return o
}

// Forecast is what more pairs would bring after these, if they keep ending as
// they did; 0 after a decision.
func (m *Matched) Forecast(matches []Match) Forecast {
	if m.Decide(matches).Spent {
		return Forecast{}
	}
	worse, better := 0, 0
	for _, p := range matches {
		switch {
		case p.Baseline && !p.Candidate:
			worse++
		case !p.Baseline && p.Candidate:
			better++
		}
	}
	n := float64(len(matches)) + 1.5
	return m.walk((float64(worse)+0.5)/n, (float64(better)+0.5)/n, len(matches), worse, better)
}

// Operate gives the test's operating characteristics, exactly, for pairs that
// are worse and better with the given probabilities.
func (m *Matched) Operate(worse, better float64) Forecast { return m.walk(worse, better, 0, 0, 0) }

// walk follows the distribution of pairs that are worse (rows) and better
// (columns) from an undecided state to the end.
func (m *Matched) walk(worseP, betterP float64, pairs, worse, better int) Forecast {
	var f Forecast
	size := m.MaxTrials - pairs + 1
	now, next := make([]float64, size*size), make([]float64, size*size)
	now[0] = 1
	for n := pairs + 1; n <= m.MaxTrials; n++ {
		clear(next)
		reach := n - pairs - 1
		for w := 0; w <= reach; w++ {
			for b := 0; b <= reach-w; b++ {
				p := now[w*size+b]
				f.Trials += p
				next[w*size+b] += p * (1 - worseP - betterP)
				next[(w+1)*size+b] += p * worseP
				next[w*size+b+1] += p * betterP
			}
		}
		for w := 0; w <= reach+1; w++ {
			for b := 0; b <= reach+1-w; b++ {
				p := &next[w*size+b]
				if *p == 0 {
					continue
				}
				switch m.at(n, worse+w, better+b) {
				case Regressed:
					f.Regressed += *p
					*p = 0
				case NoRegression:
					f.NoRegression += *p
					*p = 0
				}
			}
		}
		now, next = next, now
	}
	return f
}
