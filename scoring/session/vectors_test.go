package session

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/scoring/stats"
)

type vectors struct {
	Spread []struct {
		Values               []float64
		Mean, Median, StdDev float64 `yaml:",omitempty"`
		Half                 float64
		Reason               string
		High                 bool `yaml:"high_variance"`
	}
	Pass []struct {
		Cases   []string
		At, Pow []float64
	}
	Success []struct {
		Cases     []string
		Low, High float64
	}
	Routing []struct {
		Weight             *float64
		Primary, Source    string
		At, Pow, Composite float64
	}
}

func read(t *testing.T) vectors {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	d := yaml.NewDecoder(strings.NewReader(strings.ReplaceAll(string(b), "std_dev:", "stddev:")))
	d.KnownFields(true)
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if len(v.Spread) < 7 || len(v.Pass) < 8 || len(v.Success) < 4 || len(v.Routing) < 4 {
		t.Fatalf("the file has fewer rows than there were: %+v", v)
	}
	return v
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 5e-9 {
		t.Errorf("%s: got %v, want %v", what, show(got), want)
	}
}

func show(v *float64) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprint(*v)
}

func tallies(t *testing.T, list []string) []stats.Tally {
	t.Helper()
	out := make([]stats.Tally, len(list))
	for i, s := range list {
		if _, err := fmt.Sscanf(s, "%d/%d", &out[i].Passed, &out[i].Trials); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
	}
	return out
}

func TestSpread(t *testing.T) {
	t.Parallel()
	for _, row := range read(t).Spread {
		for _, turned := range []bool{false, true} {
			values := row.Values
			if turned { // order is nothing
				values = nil
				for _, v := range row.Values {
					values = append([]float64{v}, values...)
				}
			}
			what := fmt.Sprint(values)
			r := overRepetitions(values)
			near(t, what+" mean", r.Mean, row.Mean)
			near(t, what+" median", r.Median, row.Median)
			near(t, what+" std_dev", r.StdDev, row.StdDev)
			if r.N != len(values) || r.HighVariance != row.High || r.IntervalReason != row.Reason || (r.Interval == nil) != (row.Reason != "") {
				t.Errorf("%s: got %+v", what, r)
			}
			if r.Interval != nil {
				near(t, what+" low", &r.Interval.Low, max(0, row.Mean-row.Half))
				near(t, what+" high", &r.Interval.High, min(1, row.Mean+row.Half))
			}
		}
	}
	if s := spread(nil); s.N != 0 || s.Mean != nil || s.Min != nil {
		t.Errorf("of nothing: got %+v", s)
	}
}

func TestByK(t *testing.T) {
	t.Parallel()
	for _, row := range read(t).Pass {
		at, pow := byK(tallies(t, row.Cases), 0, 1)
		if at.EffectiveK != len(row.At) || len(at.ByK) != len(row.At) || len(pow.ByK) != len(row.Pow) {
			t.Errorf("%v: got %+v", row.Cases, at)
		}
		for i := range row.At {
			a, _ := at.At(i + 1)
			p, _ := pow.At(i + 1)
			near(t, fmt.Sprint(row.Cases, " pass@", i+1), a.Mean, row.At[i])
			near(t, fmt.Sprint(row.Cases, " pass^", i+1), p.Mean, row.Pow[i])
		}
	}
	many, _ := byK([]stats.Tally{{Passed: 30, Trials: 40}}, 0, 1)
	if _, ok := many.At(40); !ok || len(many.ByK) != largestK+1 {
		t.Errorf("40 trials: got %v", many.ByK)
	}
	if none, _ := byK(nil, 0, 1); none.EffectiveK != 0 || len(none.ByK) != 0 {
		t.Errorf("no case: got %+v", none)
	}
}

func TestSuccess(t *testing.T) {
	t.Parallel()
	for _, row := range read(t).Success {
		s := success(tallies(t, row.Cases), 1)
		if s.Interval == nil || s.Interval.Method != "Wilson score over trials" {
			t.Errorf("%v: got %+v", row.Cases, s.Interval)
			continue
		}
		near(t, fmt.Sprint(row.Cases, " low"), &s.Interval.Low, row.Low)
		near(t, fmt.Sprint(row.Cases, " high"), &s.Interval.High, row.High)
	}
	cases := []stats.Tally{}
	for i := range 8 {
		cases = append(cases, stats.Tally{Passed: i % 3, Trials: 3})
	}
	if s := success(cases, 1); s.Interval == nil || s.Interval.Method != "bootstrap BCa" || s.Interval.Low < 0 || s.Interval.High > 1 {
		t.Errorf("eight cases: got %+v", s.Interval)
	}
}

func TestRouting(t *testing.T) {
	t.Parallel()
	for _, row := range read(t).Routing {
		r := route(row.Weight, 3)
		of := func(v float64) ByK { return ByK{ByK: map[string]Spread{strconv.Itoa(3): {Mean: &v}}} }
		r.composite(of(row.At), of(row.Pow))
		if r.PrimaryMetric != row.Primary || r.Source != row.Source {
			t.Errorf("%+v: got %+v", row, r)
		}
		near(t, fmt.Sprintf("%+v", row), r.CompositeAgentScore, row.Composite)
	}
}
