package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/agentclash/agentclash/scoring/stats"
)

// matched: pairs of the same case, in rounds and case by case, the hardest
// last, where no mix is kept.
func (s world) matched() ([]decision, error) {
	test, err := stats.NewMatched(aim)
	if err != nil {
		return nil, err
	}
	twoArms, err := stats.TwoArmDesign(0.9, stats.Less, aim)
	if err != nil {
		return nil, err
	}
	var rows []decision
	for _, pair := range []struct {
		baseline, candidate []float64
		caseByCase          bool
	}{
		{alike(0.5), alike(0.5), false}, {alike(0.7), alike(0.7), false}, {alike(0.9), alike(0.9), false}, {alike(0.99), alike(0.99), false},
		{mixed(0.5), mixed(0.5), false}, {mixed(0.7), mixed(0.7), false}, {mixed(0.9), mixed(0.9), true}, {mixed(0.7), mixed(0.7), true},
		{alike(0.5), alike(0.3), false}, {alike(0.7), alike(0.5), false}, {alike(0.9), alike(0.7), false}, {alike(0.99), alike(0.79), false},
		{mixed(0.9), fallen(mixed(0.9)), false},
	} {
		b, c := average(pair.baseline), average(pair.candidate)
		d := decision{test: fmt.Sprintf("matched trials, up to %d pairs", test.MaxTrials), null: b == c, of: atMost(aim.Alpha), exact: math.NaN(),
			ends: fmt.Sprintf("baseline %s, candidate mean %.0f %%", describe(pair.baseline), 100*c)}
		if pair.caseByCase {
			d.ends += ", case by case"
		}
		if len(pair.baseline) == 1 {
			d.exact = test.Operate(b*(1-c), c*(1-b)).Regressed
		}
		if !d.null {
			d.of = atLeast(aim.Power)
			d.of.none = b != 0.9
		}
		if !d.null && !d.of.none {
			d.mean = float64(twoArms.Trials - 1)
		}
		row, err := s.row(d, func(random *rand.Rand) (stats.Outcome, error) {
			order := stats.Rounds(len(pair.baseline), test.MaxTrials, random.Uint64())
			if pair.caseByCase {
				for i := range order {
					order[i] = i * len(pair.baseline) / len(order)
				}
			}
			matches := make([]stats.Match, len(order))
			for i, c := range order {
				matches[i] = stats.Match{Baseline: random.Float64() < pair.baseline[c], Candidate: random.Float64() < pair.candidate[c]}
			}
			return test.Decide(matches), nil
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// naive shows what the sequential tests are for: Fisher's test at alpha after
// every trial against 60 stored ones. It has no bound to keep.
func (s world) naive() ([]decision, error) {
	const trials = 60
	worst := map[stats.Tally]map[int]int{} // by baseline and n, the most passes that alarm
	alarms := func(b stats.Tally, n int) (int, error) {
		if worst[b] == nil {
			worst[b] = map[int]int{}
		}
		if most, ok := worst[b][n]; ok {
			return most, nil
		}
		most := -1
		for ; most < n; most++ {
			t, err := stats.Fisher(b, stats.Tally{Passed: most + 1, Trials: n}, stats.Less)
			if err != nil {
				return 0, err
			}
			if t.P > aim.Alpha {
				break
			}
		}
		worst[b][n] = most
		return most, nil
	}
	d := decision{test: "Fisher after every trial, 60 stored (not offered)", ends: "both 90 %", null: true, of: bound{none: true}, exact: math.NaN()}
	row, err := s.row(d, func(random *rand.Rand) (stats.Outcome, error) {
		b, c := stats.Tally{Trials: trials}, stats.Tally{}
		for range trials {
			b.Passed += missedIf(random.Float64() < 0.9)
		}
		for c.Trials < trials {
			c.Trials++
			c.Passed += missedIf(random.Float64() < 0.9)
			most, err := alarms(b, c.Trials)
			if err != nil {
				return stats.Outcome{}, err
			}
			if c.Passed <= most {
				return stats.Outcome{Decision: stats.Regressed, Trials: c.Trials}, nil
			}
		}
		return stats.Outcome{Decision: stats.Undecided, Trials: c.Trials}, nil
	})
	return []decision{row}, err
}
