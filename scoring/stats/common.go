package stats

import "math"

// commonRates enumerates a baseline and a candidate for a grid of rates: the
// candidate fails by drop more often. The grid is even in arcsin(sqrt(rate)),
// where the chances change at the same pace everywhere.
type commonRates struct {
	count      int
	baseline   []weights   // by failures, their chance at each rate
	fail, pass [][]float64 // by rate, the candidate's to every power
}

// weights are the chances from a first rate on, as far as they matter.
type weights struct {
	first int
	p     []float64
}

// rates is how many the grid has; between its points the chances move by less
// than a thousandth.
const rates = 120

func newCommonRates(trials, last int, drop float64) *commonRates {
	c := &commonRates{baseline: make([]weights, trials+1)}
	for i := range rates {
		q := math.Pow(math.Sin((float64(i)+0.5)/rates*math.Pi/2), 2)
		if q+drop >= 1 {
			break
		}
		for failed := range c.baseline {
			w := &c.baseline[failed]
			switch p := exactly(failed, trials, q); {
			case p > 1e-10:
				w.p = append(w.p, p)
			case len(w.p) == 0:
				w.first = i + 1
			}
		}
		c.fail, c.pass = append(c.fail, powers(q+drop, last)), append(c.pass, powers(1-q-drop, last))
		c.count++
	}
	return c
}

// worst is the highest chance, over the rates, of regressed and of no
// regression.
func (c *commonRates) worst(all []limits) (regressed, clear float64) {
	alarms, clears := make([]float64, c.count), make([]float64, c.count)
	for failed, l := range all {
		w := c.baseline[failed]
		for _, e := range l.ends() {
			sums := clears
			if e.alarm {
				sums = alarms
			}
			for i, p := range w.p {
				i += w.first
				sums[i] += p * e.paths * c.fail[i][e.failed] * c.pass[i][e.passed]
			}
		}
	}
	for i := range alarms {
		regressed, clear = max(regressed, alarms[i]), max(clear, clears[i])
	}
	return regressed, clear
}

// end is a state in which a test stops, and how many paths lead there first.
type end struct {
	alarm          bool
	failed, passed int
	paths          float64
}

// ends counts paths; up to 500 trials they fit into a float64.
func (l limits) ends() []end {
	var ends []end
	now, next := make([]float64, l.last()+2), make([]float64, l.last()+2)
	now[0] = 1
	first, last := 0, 0
	for n := 1; n <= l.last() && first <= last; n++ {
		clear(next[first : last+2])
		for i := first; i <= last; i++ {
			next[i] += now[i]
			next[i+1] += now[i]
		}
		last++
		for ; last >= first && last >= l.alarm[n]; last-- {
			ends = append(ends, end{true, last, n - last, next[last]})
		}
		for ; first <= last && first <= l.clear[n]; first++ {
			ends = append(ends, end{false, first, n - first, next[first]})
		}
		now, next = next, now
	}
	return ends
}
