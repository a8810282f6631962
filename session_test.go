package main_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
)

// sessionPack has cases that a script answers by chance.
const sessionPack = `pack: {slug: asks, name: Asks, family: talk}
version:
  number: 1
  execution_mode: prompt_eval
  evaluation_spec:
    name: asks
    version_number: 1
    judge_mode: deterministic
    validators: [{key: right, type: exact_match, target: final_output, expected_from: "literal:yes"}]
    scorecard: {dimensions: [correctness], pass_threshold: 1}
challenges: [{key: ask, title: Ask, category: talk, difficulty: easy, instructions: "Say yes to {{n}}."}]
input_sets:
  - key: default
    name: Default
    cases:
`

// answered is whether each repetition of a case passed, over all runs.
type answered map[string][]bool

// TestSessionFollowsFromItsTrials works the numbers of a session out again: from the
// facts of its runs, by going through all choices of k trials.
func TestSessionFollowsFromItsTrials(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	cases := ""
	for i := range 9 {
		cases += fmt.Sprintf("      - {challenge_key: ask, case_key: c%d, payload: {n: \"%d\"}}\n", i, i)
	}
	p.write(t, "asks.yaml", sessionPack+cases)
	p.write(t, "coin.yaml", "draw:\n  - {p: 0.6, replies: [{text: \"yes\", usage: {input_tokens: 1, output_tokens: 1}}]}\n  - {p: 0.4, replies: [{text: \"no\"}]}\n")
	trials := answered{}
	var means []float64
	for run, repetitions := range []int{2, 3} {
		name := fmt.Sprint("run", run)
		p.must(t, "eval", "start", "--pack", "asks.yaml", "--model", "scripted/coin.yaml", "--session", "coins", "--name", name,
			"--seed", strconv.Itoa(run+7), "--repetitions", strconv.Itoa(repetitions), "--quiet")
		means = append(means, trials.add(t, p, name, repetitions)...)
	}
	var got struct {
		Result struct {
			Overall struct {
				N              int
				Mean, Min, Max float64
				StdDev         float64 `json:"std_dev"`
				Interval       struct{ Low, High float64 }
			}
			Success struct {
				Successes, Trials, Always, Sometimes, Never int
				FlipRate                                    float64 `json:"flip_rate"`
			} `json:"task_success"`
			At  kValues `json:"pass_at_k"`
			Pow kValues `json:"pass_pow_k"`
		} `json:"aggregate_result"`
	}
	p.query(t, &got, "eval", "session", "get", "coins")
	r := got.Result
	mean, deviation := moments(means)
	near(t, "mean", r.Overall.Mean, mean)
	near(t, "std_dev", r.Overall.StdDev, deviation)
	const t975 = 2.7764451051977987 // of four degrees of freedom, by any table
	near(t, "low", r.Overall.Interval.Low, math.Max(0, mean-t975*deviation/math.Sqrt(5)))
	near(t, "high", r.Overall.Interval.High, math.Min(1, mean+t975*deviation/math.Sqrt(5)))
	near(t, "min", r.Overall.Min, slices.Min(means))
	near(t, "max", r.Overall.Max, slices.Max(means))
	if r.Overall.N != 5 || r.At.EffectiveK != 5 || len(r.At.ByK) != 5 {
		t.Errorf("got %+v of repetitions %v", r, means)
	}
	for k := 1; k <= 5; k++ {
		once, always := trials.choices(k)
		near(t, fmt.Sprint("pass@", k), r.At.ByK[strconv.Itoa(k)].Mean, once)
		near(t, fmt.Sprint("pass^", k), r.Pow.ByK[strconv.Itoa(k)].Mean, always)
	}
	once, always := trials.choices(2)
	near(t, "flip rate", r.Success.FlipRate, once-always)
	if n := r.Success.Always + r.Success.Sometimes + r.Success.Never; r.Success.Trials != 45 || n != 9 || r.Success.Sometimes == 0 {
		t.Errorf("got %+v", r.Success)
	}
}

type kValues struct {
	EffectiveK int                               `json:"effective_k"`
	ByK        map[string]struct{ Mean float64 } `json:"by_k"`
}

// add takes in the trials of a run, and returns the share that passed of each
// repetition.
func (a answered) add(t *testing.T, p program, run string, repetitions int) []float64 {
	t.Helper()
	var card struct {
		Scorecard struct {
			Trials []struct {
				Case       string `json:"case_key"`
				Repetition int
				Outcome    string
			}
		}
	}
	p.query(t, &card, "eval", "scorecard", run)
	means := make([]float64, repetitions)
	for _, trial := range card.Scorecard.Trials {
		passed := trial.Outcome == "passed"
		a[trial.Case] = append(a[trial.Case], passed)
		if passed {
			means[trial.Repetition-1] += 1.0 / 9
		}
	}
	if len(card.Scorecard.Trials) != 9*repetitions {
		t.Fatalf("run %s has %d trials", run, len(card.Scorecard.Trials))
	}
	return means
}

// choices are the shares of all choices of k trials of a case of which one passed,
// and of which all did: the means over cases.
func (a answered) choices(k int) (once, always float64) {
	for _, passed := range a {
		var any, all, ways float64
		for choice := range 1 << len(passed) {
			n, ok := 0, 0
			for i, p := range passed {
				if choice>>i&1 == 1 {
					n++
					if p {
						ok++
					}
				}
			}
			if n != k {
				continue
			}
			ways++
			if ok > 0 {
				any++
			}
			if ok == k {
				all++
			}
		}
		once, always = once+any/ways/float64(len(a)), always+all/ways/float64(len(a))
	}
	return once, always
}

func moments(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(deviation)
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
