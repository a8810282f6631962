package sequential_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/sequential"
	"github.com/agentclash/agentclash/scoring/stats"
)

// spec is a test against a baseline of so many trials of each case.
func spec(passed int, trials ...int) sequential.Spec {
	s := sequential.Spec{Aim: stats.DefaultAim(), Seed: 5, MaxEach: 100}
	for i, n := range trials {
		s.Cases = append(s.Cases, sequential.Case{CaseKey: fmt.Sprintf("c-%02d", i), Passed: min(passed, n), Trials: n})
	}
	return s
}

func made(t testing.TB, s sequential.Spec) *sequential.Test {
	t.Helper()
	test, err := sequential.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return test
}

// played is a test whose trials end in the order given, as outcome says.
func played(t testing.TB, test *sequential.Test, end []int, outcome func(sequential.Place) scoring.Outcome) sequential.State {
	t.Helper()
	f, err := test.Begin()
	if err != nil {
		t.Fatal(err)
	}
	order := test.Order()
	for _, i := range end {
		f.Settle(order[i].CaseKey, order[i].Repetition, outcome(order[i]))
	}
	return f.State()
}

func planned(test *sequential.Test) []int {
	order := make([]int, len(test.Order()))
	for i := range order {
		order[i] = i
	}
	return order
}

func always(o scoring.Outcome) func(sequential.Place) scoring.Outcome {
	return func(sequential.Place) scoring.Outcome { return o }
}

func TestMethodFollowsFromHowOftenCasesWereTried(t *testing.T) {
	for _, c := range []struct {
		name string
		spec sequential.Spec
		want string
	}{
		{"equally often", spec(9, 10, 10, 10), "sequential mixture likelihood ratio"},
		{"not equally often", spec(9, 10, 9, 10), "sequential McNemar (matched trials)"},
	} {
		test := made(t, c.spec)
		if test.Method != c.want || test.MaxTrials != 112 {
			t.Errorf("%s: got %s with %d trials", c.name, test.Method, test.MaxTrials)
		}
		if test.FalseAlarm > 0.05 || test.FalseClear > 0.2000001 {
			t.Errorf("%s: error rates %v and %v", c.name, test.FalseAlarm, test.FalseClear)
		}
		if got := played(t, test, planned(test), always(scoring.OutcomeFailed)); got.Decision != stats.Regressed || got.Failed != got.Trials {
			t.Errorf("%s: one that always fails: %+v", c.name, got)
		}
	}
	if got := made(t, spec(9, 10, 10)); got.ExpectedPower == nil || *got.ExpectedPower < 0.4 || *got.ExpectedPower > 0.9 {
		t.Errorf("the power against 18 of 20 is %v", got.ExpectedPower)
	}
}

// What decides is the order of the plan, in whichever order trials end.
func TestOrderOfEndingChangesNothing(t *testing.T) {
	for _, s := range []sequential.Spec{spec(9, 10, 10, 10, 10, 10), spec(9, 10, 12, 10, 11, 10)} {
		test := made(t, s)
		for seed := range uint64(40) {
			random := rand.New(rand.NewPCG(seed, 1))
			results := map[sequential.Place]scoring.Outcome{}
			for _, at := range test.Order() {
				results[at] = drawn(random, 0.75, 0.1)
			}
			outcome := func(at sequential.Place) scoring.Outcome { return results[at] }
			want := played(t, test, planned(test), outcome)
			got := played(t, test, random.Perm(len(results)), outcome)
			if got != want {
				t.Fatalf("seed %d: in the order of the plan %+v, in another %+v", seed, want, got)
			}
		}
	}
}

func drawn(random *rand.Rand, rate, invalid float64) scoring.Outcome {
	switch v := random.Float64(); {
	case random.Float64() < invalid:
		return scoring.OutcomeInvalid
	case v < rate:
		return scoring.OutcomePassed
	}
	return scoring.OutcomeFailed
}

// Where an invalid trial was, the next one of its case counts: every look has seen
// the mix of cases that was planned.
func TestInvalidTrialKeepsTheMix(t *testing.T) {
	test := made(t, spec(9, 10, 10, 10))
	order := test.Order()
	first := order[0]
	f, err := test.Begin()
	if err != nil {
		t.Fatal(err)
	}
	f.Settle(first.CaseKey, 1, scoring.OutcomeInvalid)
	for _, at := range order[1:3] {
		f.Settle(at.CaseKey, at.Repetition, scoring.OutcomePassed)
	}
	if s := f.State(); s.Trials != 0 || s.PassedOver != 1 {
		t.Errorf("nothing counts before the case has another trial: %+v", s)
	}
	if n, on := f.Waiting(); n != 2 || on != (sequential.Place{CaseKey: first.CaseKey, Repetition: 2}) {
		t.Errorf("%d wait for %+v", n, on)
	}
	f.Settle(first.CaseKey, 2, scoring.OutcomeFailed)
	if s := f.State(); s.Trials != 3 || s.Failed != 1 {
		t.Errorf("then the round counts: %+v", s)
	}
	f.Settle("new-case", 1, scoring.OutcomeFailed)
	if s := f.State(); s.Trials != 3 || s.Failed != 1 {
		t.Errorf("a case that does not count: %+v", s)
	}

	// a case that is never valid ends the test without a decision
	stuck := played(t, test, planned(test), func(at sequential.Place) scoring.Outcome {
		if at.CaseKey == first.CaseKey {
			return scoring.OutcomeInvalid
		}
		return scoring.OutcomePassed
	})
	if stuck.Decided() || !stuck.Spent || stuck.Trials != 0 {
		t.Errorf("got %+v", stuck)
	}
}

// What is kept in reserve takes the place of invalid trials, so that those of the
// last rounds do not end the test.
func TestReserve(t *testing.T) {
	s := spec(9, 10, 10, 10)
	s.Invalid, s.Aim.MaxTrials = 2, 9
	test := made(t, s)
	order, reserves := test.Order(), test.Reserves()
	if len(order) != 9 || len(reserves) != 6 || reserves[0] != (sequential.Place{CaseKey: "c-00", Repetition: 4}) || reserves[5] != (sequential.Place{CaseKey: "c-02", Repetition: 5}) {
		t.Fatalf("got %+v and in reserve %+v", order, reserves)
	}
	results := map[sequential.Place]scoring.Outcome{}
	for i, at := range slices.Concat(order, reserves) {
		results[at] = scoring.OutcomePassed
		if i == 1 || i == 6 {
			results[at] = scoring.OutcomeFailed
		}
	}
	results[sequential.Place{CaseKey: "c-01", Repetition: 2}] = scoring.OutcomeInvalid
	results[sequential.Place{CaseKey: "c-01", Repetition: 4}] = scoring.OutcomeInvalid
	f, err := test.Begin()
	if err != nil {
		t.Fatal(err)
	}
	settle := func(at sequential.Place) { f.Settle(at.CaseKey, at.Repetition, results[at]) }
	for _, at := range order {
		settle(at)
	}
	for _, want := range []int{4, 5} {
		if _, on := f.Waiting(); f.State().Spent || on != (sequential.Place{CaseKey: "c-01", Repetition: want}) {
			t.Fatalf("waits for %+v: %+v", on, f.State())
		}
		settle(sequential.Place{CaseKey: "c-01", Repetition: want})
	}
	if got := f.State(); got.Trials != 9 || !got.Spent || got.PassedOver != 2 {
		t.Errorf("got %+v", got)
	}
	f.Settle("c-01", 6, scoring.OutcomeFailed) // neither planned nor in reserve
	if n, _ := f.Waiting(); n != 0 || f.State().Trials != 9 {
		t.Errorf("%d wait, %+v", n, f.State())
	}
	for _, c := range []struct {
		name string
		edit func(*sequential.Spec)
		want int
	}{
		{"many invalid ones", func(s *sequential.Spec) { s.Invalid = 1000 }, 10},
		{"no more than a case may be tried", func(s *sequential.Spec) { s.Invalid, s.MaxEach = 1000, 5 }, 2},
		{"none invalid", func(s *sequential.Spec) { s.Invalid = 0 }, 0},
		{"matched", func(s *sequential.Spec) { s.Cases = slices.Clone(s.Cases); s.Cases[0].Trials++ }, 0},
	} {
		edited := s
		c.edit(&edited)
		if got := made(t, edited); got.Reserve != c.want {
			t.Errorf("%s: %d in reserve", c.name, got.Reserve)
		}
	}
}

// A test that was kept is the same test, and one that was tampered with is none.
func TestKept(t *testing.T) {
	for _, s := range []sequential.Spec{spec(9, 10, 10, 10), spec(9, 10, 12, 10)} {
		test := made(t, s)
		doc, err := json.Marshal(test)
		if err != nil {
			t.Fatal(err)
		}
		var back sequential.Test
		if err := json.Unmarshal(doc, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.Order(), back.Order()); diff != "" {
			t.Error(diff)
		}
		outcome := func(at sequential.Place) scoring.Outcome {
			if (at.Repetition+int(at.CaseKey[3]))%2 == 0 {
				return scoring.OutcomeFailed
			}
			return scoring.OutcomePassed
		}
		if a, b := played(t, test, planned(test), outcome), played(t, &back, planned(test), outcome); a != b || !a.Decided() {
			t.Errorf("%+v became %+v", a, b)
		}
		if strings.Contains(string(doc), "null") {
			t.Errorf("the document has nulls: %s", doc)
		}
		for _, spoil := range []func(*sequential.Test){
			func(t *sequential.Test) { t.Cases = nil },
			func(t *sequential.Test) { t.MaxTrials = 0 },
			func(t *sequential.Test) { t.Reserve = 1 << 40 },
			func(t *sequential.Test) { t.Reserve = -1 },
			func(t *sequential.Test) { t.MaxTrials = 1 << 60; t.Limits = nil },
			func(t *sequential.Test) { t.Cases[0].Passed = 99 },
			func(t *sequential.Test) { t.Cases[0].Trials = 1 << 40 },
			func(t *sequential.Test) { t.Cases[1].CaseKey = t.Cases[0].CaseKey },
		} {
			var bad sequential.Test
			if err := json.Unmarshal(doc, &bad); err != nil {
				t.Fatal(err)
			}
			spoil(&bad)
			if _, err := bad.Begin(); err == nil {
				t.Errorf("this is taken for a test: %+v", bad)
			}
		}
	}
	for _, doc := range []string{
		`{"max_trials":2,"no_regression_up_to":[-1],"regressed_from":[2]}`,
		`{"max_trials":1,"no_regression_up_to":[1],"regressed_from":[1]}`,
		`{"max_trials":1,"no_regression_up_to":[-1],"regressed_from":[3]}`,
		`{"max_trials":900,"no_regression_up_to":[],"regressed_from":[]}`,
	} {
		if err := json.Unmarshal([]byte(doc), new(stats.Sequential)); err == nil {
			t.Errorf("%s is taken for limits", doc)
		}
	}
}

func TestRefused(t *testing.T) {
	short := spec(8, 10, 10)
	short.Aim.MaxTrials = 1
	much := spec(10, 10, 10)
	much.Aim.MaxTrials = 201
	for _, c := range []struct {
		name     string
		spec     sequential.Spec
		evidence bool
		why      string
		next     string
	}{
		{"no case", spec(1), true, "nothing to decide by", "baseline set"},
		{"a baseline that never passed", spec(0, 10, 10), true, "passed none of its 20 trials", "baseline set"},
		{"too short", short, false, "with --max-trials 1 no candidate could be called regressed", "--max-trials "},
		{"more than a case may be tried", much, false, "--max-trials 201 is more than 100 trials of each of the 2 cases", "--max-trials 200"},
		{"matched with next to nothing", spec(1, 1, 2), true, "with the 3 trials that the baseline has", "--repetitions "},
	} {
		_, err := sequential.New(c.spec)
		var refused *sequential.Refused
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v", c.name, err)
			continue
		}
		if refused.Evidence != c.evidence || !strings.Contains(refused.Why, c.why) || !strings.Contains(refused.Next, c.next) {
			t.Errorf("%s: got %+v", c.name, refused)
		}
	}
}

// A single case is tried at most as often as a run may.
func TestOneCase(t *testing.T) {
	test := made(t, spec(45, 50))
	if test.MaxTrials != 100 || len(test.Order()) != 100 || test.Order()[99].Repetition != 100 {
		t.Errorf("got %d trials", test.MaxTrials)
	}
}

// histories is how many runs are played of each situation: more where somebody asks.
func histories(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("AGENTCLASH_HISTORIES")); err == nil && n > 0 {
		return n
	}
	return 200
}

// An unchanged agent is called regressed in at most alpha of the runs, and one that
// has fallen by the drop is cleared in at most 1-power of them: with trials that end
// out of order, some of them invalid, against a new baseline each time. Fixed seeds;
// the margin is three standard deviations of the number of histories.
func TestErrorRates(t *testing.T) {
	n := histories(t)
	for _, c := range []struct {
		name    string
		rates   []float64 // of the cases
		invalid float64
		even    bool
	}{
		{"alike cases", []float64{0.9, 0.9, 0.9, 0.9, 0.9}, 0, true},
		{"alike cases, invalid trials", []float64{0.9, 0.9, 0.9, 0.9, 0.9}, 0.15, true},
		{"cases that differ, invalid trials", []float64{1, 1, 1, 0.95, 0.5}, 0.15, true},
		{"matched", []float64{0.9, 0.9, 0.9, 0.9, 0.9}, 0, false},
		{"matched, cases that differ, invalid trials", []float64{1, 0.6, 1, 0.95, 0.5}, 0.15, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kept := tests{made: map[int]*sequential.Test{}}
			alarms, clears := 0, 0
			for i := range n {
				random := rand.New(rand.NewPCG(uint64(i), 77))
				if history(t, random, c.rates, 0, c.invalid, c.even, &kept) == stats.Regressed {
					alarms++
				}
				if history(t, random, c.rates, 0.2, c.invalid, c.even, &kept) == stats.NoRegression {
					clears++
				}
			}
			t.Logf("%d histories: %.4f false alarms, %.4f false clears", n, float64(alarms)/float64(n), float64(clears)/float64(n))
			for _, rate := range []struct {
				what string
				got  int
				most float64
			}{{"false alarms", alarms, 0.05}, {"false clears", clears, 0.2}} {
				if got, bound := float64(rate.got)/float64(n), rate.most+3*math.Sqrt(rate.most*(1-rate.most)/float64(n)); got > bound {
					t.Errorf("%s: %.4f, more than %.4f", rate.what, got, bound)
				}
			}
		})
	}
}

// tests are kept by the baseline's passes: to make one takes long, and its limits
// depend on the counts alone.
type tests struct {
	mu   sync.Mutex
	made map[int]*sequential.Test
}

func (k *tests) of(t *testing.T, s sequential.Spec) *sequential.Test {
	passed := 0
	for _, c := range s.Cases {
		passed += c.Passed
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made[passed] == nil {
		k.made[passed] = made(t, s)
	}
	test := *k.made[passed]
	test.Seed, test.Cases = s.Seed, s.Cases
	return &test
}

// history plays a baseline and a candidate whose cases pass less often by drop.
func history(t *testing.T, random *rand.Rand, rates []float64, drop, invalid float64, even bool, kept *tests) stats.Decision {
	s := sequential.Spec{Aim: stats.DefaultAim(), Seed: int64(random.Uint32()), MaxEach: 100}
	s.Aim.MaxTrials = 50
	for i, rate := range rates {
		c := sequential.Case{CaseKey: fmt.Sprintf("c-%02d", i), Trials: 6}
		if !even {
			c.Trials += i
		}
		for range c.Trials {
			if random.Float64() < rate {
				c.Passed++
			}
		}
		s.Cases = append(s.Cases, c)
	}
	test := kept.of(t, s)
	fallen := map[string]float64{}
	for i, rate := range rates {
		fallen[s.Cases[i].CaseKey] = max(0, rate-drop)
	}
	f, err := test.Begin()
	if err != nil {
		t.Fatal(err)
	}
	// a few run at once, and any of them may end next
	order, going := test.Order(), []sequential.Place{}
	for len(order)+len(going) > 0 && !f.State().Decided() {
		for len(order) > 0 && len(going) < 6 {
			going, order = append(going, order[0]), order[1:]
		}
		i := random.IntN(len(going))
		at := going[i]
		going = append(going[:i], going[i+1:]...)
		f.Settle(at.CaseKey, at.Repetition, drawn(random, fallen[at.CaseKey], invalid))
	}
	return f.State().Decision
}
