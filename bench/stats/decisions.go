package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/agentclash/agentclash/scoring/stats"
)

// aim is what every row is held against.
var aim = stats.DefaultAim() //nolint:gochecknoglobals // the one setting of the simulation, never written

// world is the chance that rows draw from, each from its own part.
type world struct {
	histories int
	seed      uint64
	baselines []int // how many trials stored baselines have
	families  map[int]*family
}

func (s world) chance(row string) *rand.Rand {
	h := uint64(14695981039346656037)
	for _, b := range []byte(row) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(s.seed, h))
}

// mixed are the pass rates of cases that differ as much as cases do: some never
// fail, some nearly always. Their mean is the rate.
func mixed(rate float64) []float64 {
	var rates []float64
	for range 10 {
		rates = append(rates, 1, 2*rate-1)
	}
	return rates
}

// fallen lowers each of the rates by the drop; they must be at least that.
func fallen(rates []float64) []float64 {
	down := slices.Clone(rates)
	for i := range down {
		down[i] -= aim.Drop
	}
	return down
}

func alike(rate float64) []float64 { return []float64{rate} }

func average(rates []float64) float64 {
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	return sum / float64(len(rates))
}

// play runs trials of cases in the order given.
func play(random *rand.Rand, rates []float64, order []int) []bool {
	passed := make([]bool, len(order))
	for i, c := range order {
		passed[i] = random.Float64() < rates[c]
	}
	return passed
}

// row simulates histories, each of which ends in an outcome.
func (s world) row(d decision, history func(*rand.Rand) (stats.Outcome, error)) (decision, error) {
	random := s.chance(d.test + d.ends)
	regressed, clear, trials := 0, 0, 0
	for range s.histories {
		o, err := history(random)
		if err != nil {
			return d, err
		}
		trials += o.Trials
		switch o.Decision {
		case stats.Regressed:
			regressed++
		case stats.NoRegression:
			clear++
		}
	}
	n := float64(s.histories)
	d.regressed, d.clear, d.trials, d.histories = float64(regressed)/n, float64(clear)/n, float64(trials)/n, s.histories
	return d, nil
}

func (s world) decisions() ([]decision, error) {
	var rows []decision
	for _, part := range []func() ([]decision, error){s.known, s.stored, s.storedMixed, s.matched, s.naive} {
		r, err := part()
		if err != nil {
			return nil, err
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

// known: against a known rate, at the rate and with the drop.
func (s world) known() ([]decision, error) {
	var rows []decision
	for _, rate := range []float64{0.5, 0.7, 0.9, 0.99} {
		test, err := stats.Against(rate, aim)
		if err != nil {
			return nil, err
		}
		fixed, err := stats.FixedDesign(rate, aim)
		if err != nil {
			return nil, err
		}
		candidates := [][]float64{alike(rate), alike(rate - aim.Drop)}
		if rate >= 0.7 {
			candidates = append(candidates, mixed(rate), fallen(mixed(rate)))
		}
		for i, rates := range candidates {
			d := decision{test: fmt.Sprintf("known rate %.0f %%, up to %d; exact fixed design %d", 100*rate, test.MaxTrials, fixed.Trials),
				ends: describe(rates), null: i%2 == 0, of: atMost(aim.Alpha), exact: test.Operate(average(rates)).Regressed}
			if i > 1 {
				d.exact = math.NaN()
			}
			if !d.null {
				d.of = atLeast(aim.Power)
			}
			if !d.null && rate == 0.9 {
				d.mean = 0.65 * float64(fixed.Trials)
			}
			row, err := s.row(d, func(random *rand.Rand) (stats.Outcome, error) {
				return test.Decide(play(random, rates, stats.Rounds(len(rates), test.MaxTrials, random.Uint64()))), nil
			})
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func describe(rates []float64) string {
	if len(rates) == 1 {
		return fmt.Sprintf("all cases %.0f %%", 100*rates[0])
	}
	return fmt.Sprintf("cases %.0f to %.0f %%, mean %.0f %%", 100*slices.Min(rates), 100*slices.Max(rates), 100*average(rates))
}

// family is a stored baseline's tests, each made when first asked for.
type family struct {
	*stats.Stored
	made map[stats.Tally]*stats.Sequential
}

// family is made once for each size.
func (s world) family(trials int) (*family, error) {
	if f := s.families[trials]; f != nil {
		return f, nil
	}
	f, err := stats.NewStored(trials, aim)
	s.families[trials] = &family{f, map[stats.Tally]*stats.Sequential{}}
	return s.families[trials], err
}

func (f *family) against(t stats.Tally) (*stats.Sequential, error) {
	if f.made[t] == nil {
		s, err := f.Sequential(t)
		if err != nil {
			return nil, err
		}
		f.made[t] = s
	}
	return f.made[t], nil
}

// history draws a baseline of so many trials and a candidate, both in rounds.
func (f *family) history(random *rand.Rand, trials int, baseline, candidate []float64) (stats.Outcome, error) {
	b := stats.Tally{Trials: trials}
	for _, p := range play(random, baseline, stats.Rounds(len(baseline), trials, random.Uint64())) {
		b.Passed += missedIf(p)
	}
	test, err := f.against(b)
	if err != nil {
		return stats.Outcome{}, err
	}
	return test.Decide(play(random, candidate, stats.Rounds(len(candidate), test.MaxTrials, random.Uint64()))), nil
}

// stored: against baselines of several sizes. Small ones cannot have the
// power; how much they have is shown. From the fixed design's size on they must.
func (s world) stored() ([]decision, error) {
	twoArms, err := stats.TwoArmDesign(0.9, stats.Less, aim)
	if err != nil {
		return nil, err
	}
	var rows []decision
	for _, trials := range s.baselines {
		f, err := s.family(trials)
		if err != nil {
			return nil, err
		}
		for _, rate := range []float64{0.5, 0.7, 0.9, 0.99} {
			for _, drop := range []float64{0, aim.Drop} {
				d := decision{test: fmt.Sprintf("stored baseline of %d trials", trials), null: drop == 0, of: atMost(aim.Alpha), exact: math.NaN(),
					ends: fmt.Sprintf("baseline %.0f %%, candidate %.0f %%", 100*rate, 100*(rate-drop))}
				if drop > 0 {
					d.of = atLeast(aim.Power)
					d.of.none = rate != 0.9 || trials < twoArms.Trials
				}
				if drop > 0 && !d.of.none {
					d.mean = float64(twoArms.Trials - 1)
				}
				row, err := s.row(d, func(random *rand.Rand) (stats.Outcome, error) {
					return f.history(random, trials, alike(rate), alike(rate-drop))
				})
				if err != nil {
					return nil, err
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// storedMixed: the same where cases differ, both sides in rounds.
func (s world) storedMixed() ([]decision, error) {
	var rows []decision
	for _, trials := range s.baselines {
		f, err := s.family(trials)
		if err != nil {
			return nil, err
		}
		for _, rate := range []float64{0.5, 0.7, 0.9} {
			rates := mixed(rate)
			d := decision{test: fmt.Sprintf("stored baseline of %d trials, 20 cases", trials), null: true, of: atMost(aim.Alpha),
				exact: math.NaN(), ends: "both " + describe(rates)}
			row, err := s.row(d, func(random *rand.Rand) (stats.Outcome, error) { return f.history(random, trials, rates, rates) })
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}
