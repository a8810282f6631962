package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/agentclash/agentclash/scoring/stats"
)

// The normal approximation says what trying signs by chance says.
func TestPairedMeanIsCloseToSignFlip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		values := make([]float64, 61+r.IntN(200))
		for i := range values {
			values[i] = r.Float64() - 0.5 + 0.06*r.Float64()
		}
		if !stats.Even(values) {
			t.Fatal("values of one size are not even")
		}
		for _, tail := range []stats.Tail{stats.TwoSided, stats.Less, stats.Greater} {
			near, err := stats.PairedMean(values, tail)
			drawn, err2 := stats.SignFlip(values, tail, 1)
			if err != nil || err2 != nil || math.Abs(near.P-drawn.P) > 0.025 || near.Statistic != drawn.Statistic {
				t.Errorf("%s of %d: %+v and %+v, %v %v", tail, len(values), near, drawn, err, err2)
			}
		}
	}
}

// By hand: 100 differences of 1, 60 up and 40 down, are 20/sqrt(100) = 2
// standard deviations, whose two-sided p is in every table: 0.0455.
func TestPairedMeanOfATable(t *testing.T) {
	t.Parallel()
	values := make([]float64, 100)
	for i := range values {
		values[i] = 1
		if i < 40 {
			values[i] = -1
		}
	}
	got, err := stats.PairedMean(values, stats.TwoSided)
	if err != nil || !rounds(got.P, 0.0455, 4) || got.Statistic != 0.2 || got.N != 100 {
		t.Errorf("got %+v, %v", got, err)
	}
	// the spread of these is sqrt((100-100*0.2^2)/99), its interval 1.96/10 of it
	i, err := stats.MeanInterval(values, 0.95)
	half := 1.959963985 * math.Sqrt(96.0/99) / 10
	if err != nil || math.Abs(i.Low-(0.2-half)) > 1e-9 || math.Abs(i.High-(0.2+half)) > 1e-9 {
		t.Errorf("got %+v, %v, want 0.2 +- %v", i, err, half)
	}
}

func TestNormalMethodsOfOddValues(t *testing.T) {
	t.Parallel()
	if got, err := stats.PairedMean(make([]float64, 70), stats.TwoSided); err != nil || got.P != 1 {
		t.Errorf("no difference at all: %+v, %v", got, err)
	}
	if got, err := stats.PairedMean([]float64{math.MaxFloat64, math.MaxFloat64}, stats.Greater); err != nil || math.IsNaN(got.P) {
		t.Errorf("huge numbers: %+v, %v", got, err)
	}
	if _, err := stats.PairedMean([]float64{math.NaN()}, stats.Less); err == nil {
		t.Error("NaN is taken")
	}
	if _, err := stats.MeanInterval([]float64{1}, 0.95); err == nil {
		t.Error("one value has a spread")
	}
	lone := make([]float64, 500)
	lone[3] = 1
	if stats.Even(lone) || stats.Even(nil) {
		t.Error("one value that outweighs the rest is even")
	}
}
