package main

import (
	"math"
	"math/rand/v2"

	"github.com/agentclash/agentclash/scoring/stats"
)

// checks are the tests that look once, when nothing differs, and the intervals.
func (s world) checks() ([]check, error) {
	var rows []check
	for _, part := range []func() ([]check, error){s.tests, s.intervals} {
		r, err := part()
		if err != nil {
			return nil, err
		}
		rows = append(rows, r...)
	}
	return rows, nil
}

// share of histories for which hit is true.
func (s world) share(what string, of bound, hit func(*rand.Rand) (bool, error)) (check, error) {
	random, hits := s.chance(what), 0
	for range s.histories {
		h, err := hit(random)
		if err != nil {
			return check{}, err
		}
		hits += missedIf(h)
	}
	return check{what: what, rate: float64(hits) / float64(s.histories), of: of, n: s.histories}, nil
}

func draw(random *rand.Rand, trials int, rate float64) stats.Tally {
	t := stats.Tally{Trials: trials}
	for range trials {
		t.Passed += missedIf(random.Float64() < rate)
	}
	return t
}

// pairs draws cases of several difficulties, so many trials on each side.
func pairs(random *rand.Rand, cases, trials int) []stats.Pair {
	p := make([]stats.Pair, cases)
	for i := range p {
		rate := []float64{1, 0.95, 0.8, 0.5, 0.1}[i%5]
		p[i] = stats.Pair{Baseline: draw(random, trials, rate), Candidate: draw(random, trials, rate)}
	}
	return p
}

// scores draws skewed differences of cases whose sides are alike.
func scores(random *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Pow(random.Float64(), 3) - math.Pow(random.Float64(), 3)
	}
	return v
}

func (s world) tests() ([]check, error) {
	rejects := func(t stats.Test, err error) (bool, error) { return t.P <= aim.Alpha, err }
	var rows []check
	for _, c := range []struct {
		what string
		hit  func(*rand.Rand) (bool, error)
	}{
		{"false alarms: exact McNemar, 40 cases", func(r *rand.Rand) (bool, error) {
			return rejects(stats.PairedPassFail(pairs(r, 40, 1), stats.TwoSided, 1))
		}},
		{"false alarms: permutation of trials within cases, 20 cases, 5 trials", func(r *rand.Rand) (bool, error) {
			return rejects(stats.PairedPassFail(pairs(r, 20, 5), stats.TwoSided, 1))
		}},
		{"false alarms: exchange of sides by case, 20 cases, 5 trials", func(r *rand.Rand) (bool, error) {
			return rejects(stats.FlipSides(pairs(r, 20, 5), stats.TwoSided, 1))
		}},
		{"false alarms: Fisher exact, 40 and 60 trials at 80 %", func(r *rand.Rand) (bool, error) {
			return rejects(stats.Fisher(draw(r, 40, 0.8), draw(r, 60, 0.8), stats.TwoSided))
		}},
		{"false alarms: sign-flip permutation, 10 scores", func(r *rand.Rand) (bool, error) {
			return rejects(stats.SignFlip(scores(r, 10), stats.TwoSided, 1))
		}},
		{"false alarms: Welch permutation, 5 and 8 scores", func(r *rand.Rand) (bool, error) {
			return rejects(stats.WelchPermutation(scores(r, 5), scores(r, 8), stats.TwoSided, 1))
		}},
	} {
		row, err := s.share(c.what, atMost(aim.Alpha), c.hit)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (s world) intervals() ([]check, error) {
	covers := func(truth float64, i stats.Interval, err error) (bool, error) {
		return i.Low <= truth && truth <= i.High, err
	}
	var rows []check
	for _, c := range []struct {
		what string
		of   bound
		hit  func(*rand.Rand) (bool, error)
	}{
		{"coverage: Clopper-Pearson exact 95 %, 20 trials at 90 %", atLeast(0.95), func(r *rand.Rand) (bool, error) {
			i, err := stats.ClopperPearson(draw(r, 20, 0.9), 0.95)
			return covers(0.9, i, err)
		}},
		{"coverage: Wilson score 95 %, 20 trials at rates from 5 to 95 %", atLeast(0.94), func(r *rand.Rand) (bool, error) {
			rate := 0.05 + 0.9*r.Float64()
			i, err := stats.Wilson(draw(r, 20, rate), 0.95)
			return covers(rate, i, err)
		}},
		{"coverage: Newcombe score 95 %, 30 and 50 trials at 90 and 70 %", atLeast(0.94), func(r *rand.Rand) (bool, error) {
			i, err := stats.Newcombe(draw(r, 30, 0.9), draw(r, 50, 0.7), 0.95)
			return covers(0.7-0.9, i, err)
		}},
		{"coverage: Newcombe paired score 95 %, 50 cases at 70 and 60 %", atLeast(0.94), func(r *rand.Rand) (bool, error) {
			i, err := stats.NewcombePaired(flips(r, 50), 0.95)
			return covers(-0.1, i, err)
		}},
		{"coverage: bootstrap BCa 95 %, 30 skewed scores", atLeast(0.92), func(r *rand.Rand) (bool, error) {
			i, err := stats.Bootstrap{Resamples: 500, Seed: r.Uint64()}.BCa(skewed(r, 30))
			return covers(0.25, i, err)
		}},
		{"coverage: bootstrap percentile 95 %, 30 skewed scores", atLeast(0.92), func(r *rand.Rand) (bool, error) {
			i, err := stats.Bootstrap{Resamples: 500, Seed: r.Uint64()}.Percentile(skewed(r, 30))
			return covers(0.25, i, err)
		}},
	} {
		row, err := s.share(c.what, c.of, c.hit)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// skewed draws scores of mean 1/4.
func skewed(random *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Pow(random.Float64(), 3)
	}
	return v
}

// flips draws cases that the baseline passes at 70 % and the candidate, which
// mostly fares alike, at 60 %.
func flips(random *rand.Rand, cases int) stats.Flips {
	var f stats.Flips
	for range cases {
		switch u := random.Float64(); {
		case u < 0.5:
			f.BothPassed++
		case u < 0.7:
			f.Worse++
		case u < 0.8:
			f.Better++
		default:
			f.BothFailed++
		}
	}
	return f
}
