package stats_test

import (
	"math"
	"testing"

	"github.com/agentclash/agentclash/scoring/stats"
)

// TestRefused: what cannot be is an error, and never a number.
func TestRefused(t *testing.T) {
	t.Parallel()
	ok, none, wrong := stats.Tally{Passed: 3, Trials: 4}, stats.Tally{}, stats.Tally{Passed: 5, Trials: 4}
	nan := []float64{0.5, math.NaN(), 1}
	uneven := []stats.Pair{{Baseline: ok, Candidate: stats.Tally{Passed: 1, Trials: 1}}}
	for name, call := range map[string]func() error{
		"Wilson, no trial":         func() error { _, err := stats.Wilson(none, 0.95); return err },
		"Wilson, level 95":         func() error { _, err := stats.Wilson(ok, 95); return err },
		"Wilson, level NaN":        func() error { _, err := stats.Wilson(ok, math.NaN()); return err },
		"Clopper-Pearson, 5 of 4":  func() error { _, err := stats.ClopperPearson(wrong, 0.95); return err },
		"Newcombe, 5 of 4":         func() error { _, err := stats.Newcombe(ok, wrong, 0.95); return err },
		"Newcombe paired, -1":      func() error { _, err := stats.NewcombePaired(stats.Flips{Worse: -1, Better: 2}, 0.95); return err },
		"Newcombe paired, no case": func() error { _, err := stats.NewcombePaired(stats.Flips{}, 0.95); return err },
		"McNemar, -1":              func() error { _, err := stats.McNemar(-1, 2, stats.TwoSided); return err },
		"mid-p McNemar, -1":        func() error { _, err := stats.McNemarMidP(2, -1, stats.TwoSided); return err },
		"Fisher, 5 of 4":           func() error { _, err := stats.Fisher(wrong, ok, stats.TwoSided); return err },
		"paired, a side untried":   func() error { _, err := stats.PairedPassFail([]stats.Pair{{Baseline: ok}}, stats.Less, 1); return err },
		"sides of uneven trials":   func() error { _, err := stats.FlipSides(uneven, stats.Less, 1); return err },
		"flips of many trials":     func() error { _, err := stats.CountFlips(uneven); return err },
		"sign flips, NaN":          func() error { _, err := stats.SignFlip(nan, stats.Less, 1); return err },
		"Welch, NaN":               func() error { _, err := stats.WelchPermutation(nan, []float64{1, 2}, stats.Less, 1); return err },
		"Welch, one value": func() error {
			_, err := stats.WelchPermutation([]float64{1}, []float64{1, 2}, stats.Less, 1)
			return err
		},
		"bootstrap, NaN":      func() error { _, err := stats.Bootstrap{}.BCa(nan); return err },
		"bootstrap, no value": func() error { _, err := stats.Bootstrap{}.Percentile(nil); return err },
		"bootstrap, level 2":  func() error { _, err := stats.Bootstrap{Level: 2}.Percentile([]float64{1, 2}); return err },
		"a drop below 0":      func() error { _, err := stats.Against(0.1, stats.DefaultAim()); return err },
		"a rate over 1":       func() error { _, err := stats.FixedDesign(1.1, stats.DefaultAim()); return err },
		"a rate of NaN":       func() error { _, err := stats.Against(math.NaN(), stats.DefaultAim()); return err },
		"an invisible drop": func() error {
			_, err := stats.Against(0.9, stats.Aim{Drop: 0.001, Alpha: 0.05, Power: 0.8})
			return err
		},
		"two arms, a drop below 0": func() error { _, err := stats.TwoArmDesign(0.1, stats.Less, stats.DefaultAim()); return err },
		"no alpha":                 func() error { _, err := stats.NewMatched(stats.Aim{Drop: 0.2, Power: 0.8}); return err },
		"no power":                 func() error { _, err := stats.NewStored(20, stats.Aim{Drop: 0.2, Alpha: 0.05}); return err },
		"no drop":                  func() error { _, err := stats.NewStored(20, stats.Aim{Alpha: 0.05, Power: 0.8}); return err },
		"too many trials":          func() error { _, err := stats.NewMatched(aim(func(a *stats.Aim) { a.MaxTrials = 501 })); return err },
		"no stored trial":          func() error { _, err := stats.NewStored(0, stats.DefaultAim()); return err },
	} {
		if err := call(); err == nil {
			t.Errorf("%s was not refused", name)
		}
	}
}

// TestNothing: no case and no difference are no evidence.
func TestNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]stats.Test{
		"no case":       must[stats.Test](t)(stats.PairedPassFail(nil, stats.Less, 1)),
		"shuffled":      must[stats.Test](t)(stats.ShuffleTrials(nil, stats.Less, 1)),
		"no score":      must[stats.Test](t)(stats.SignFlip(nil, stats.Less, 1)),
		"no trial":      must[stats.Test](t)(stats.Fisher(stats.Tally{}, stats.Tally{}, stats.TwoSided)),
		"equal scores":  must[stats.Test](t)(stats.WelchPermutation([]float64{1, 1}, []float64{1, 1}, stats.Less, 1)),
		"one side only": must[stats.Test](t)(stats.Fisher(stats.Tally{Passed: 1, Trials: 4}, stats.Tally{}, stats.Less)),
	} {
		if test.P != 1 {
			t.Errorf("%s: %+v", name, test)
		}
	}
}
