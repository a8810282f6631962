package stats_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/agentclash/agentclash/scoring/stats"
)

func vectors[Row any](t *testing.T, file string, least int) []Row {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(strings.NewReader(string(b)))
	d.KnownFields(true)
	var rows []Row
	if err := d.Decode(&rows); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(rows) < least {
		t.Fatalf("%s has %d rows, which cannot be all", file, len(rows))
	}
	return rows
}

// numbers reads "8/10" and "3/10 9/10".
func numbers(t *testing.T, s string) []int {
	t.Helper()
	var n []int
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == ' ' }) {
		var v int
		if _, err := fmt.Sscanf(f, "%d", &v); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		n = append(n, v)
	}
	return n
}

func tally(t *testing.T, s string) stats.Tally {
	t.Helper()
	n := numbers(t, s)
	return stats.Tally{Passed: n[0], Trials: n[1]}
}

// rounds says whether got is want at so many decimals.
func rounds(got, want float64, digits int) bool {
	return math.Abs(got-want) <= 0.5000001*math.Pow10(-digits)
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	for _, row := range vectors[struct {
		Method, Of, Source string
		Level              float64
		Digits             int
		Want               [2]float64
	}](t, "intervals.yaml", 20) {
		n := numbers(t, row.Of)
		var got stats.Interval
		var err error
		switch row.Method {
		case "Wilson score":
			got, err = stats.Wilson(stats.Tally{Passed: n[0], Trials: n[1]}, row.Level)
		case "Clopper-Pearson exact":
			got, err = stats.ClopperPearson(stats.Tally{Passed: n[0], Trials: n[1]}, row.Level)
		case "Newcombe score":
			got, err = stats.Newcombe(stats.Tally{Passed: n[0], Trials: n[1]}, stats.Tally{Passed: n[2], Trials: n[3]}, row.Level)
		case "Newcombe paired score":
			got, err = stats.NewcombePaired(stats.Flips{BothPassed: n[0], Worse: n[1], Better: n[2], BothFailed: n[3]}, row.Level)
		default:
			t.Fatalf("no such method: %s", row.Method)
		}
		if err != nil || got.Method != row.Method || got.Level != row.Level ||
			!rounds(got.Low, row.Want[0], row.Digits) || !rounds(got.High, row.Want[1], row.Digits) {
			t.Errorf("%s of %s: got %+v, %v, want %v (%s)", row.Method, row.Of, got, err, row.Want, row.Source)
		}
	}
}

func TestTests(t *testing.T) {
	t.Parallel()
	for _, row := range vectors[struct {
		Method, Source string
		Tail           stats.Tail
		Of             any
		And            []float64
		Digits         int
		Want           float64
	}](t, "tests.yaml", 15) {
		var counts []int
		var scores []float64
		switch of := row.Of.(type) {
		case string:
			counts = numbers(t, of)
		case []any:
			for _, v := range of {
				scores = append(scores, float64(v.(int)))
			}
		}
		var got stats.Test
		var err error
		switch row.Method {
		case "exact McNemar":
			got, err = stats.McNemar(counts[0], counts[1], row.Tail)
		case "mid-p McNemar":
			got, err = stats.McNemarMidP(counts[0], counts[1], row.Tail)
		case "exact sign test":
			got, err = stats.SignTest(counts[0], counts[1], row.Tail)
		case "Fisher exact":
			got, err = stats.Fisher(stats.Tally{Passed: counts[0], Trials: counts[1]}, stats.Tally{Passed: counts[2], Trials: counts[3]}, row.Tail)
		case "exact sign-flip permutation":
			got, err = stats.SignFlip(scores, row.Tail, 1)
		case "exact Welch permutation":
			got, err = stats.WelchPermutation(scores, row.And, row.Tail, 1)
		default:
			t.Fatalf("no such method: %s", row.Method)
		}
		if err != nil || got.Method != row.Method || got.Tail != row.Tail || !rounds(got.P, row.Want, row.Digits) {
			t.Errorf("%s of %v: got %+v, %v, want %v (%s)", row.Method, row.Of, got, err, row.Want, row.Source)
		}
	}
}

func TestClustered(t *testing.T) {
	t.Parallel()
	for _, row := range vectors[struct {
		Method, Source string
		Tail           stats.Tail
		Cases          [][2]string
		Digits         int
		Want           float64
	}](t, "clustered.yaml", 5) {
		var cases []stats.Pair
		for _, c := range row.Cases {
			cases = append(cases, stats.Pair{Baseline: tally(t, c[0]), Candidate: tally(t, c[1])})
		}
		got, err := stats.PairedPassFail(cases, row.Tail, 1)
		if strings.Contains(row.Method, "sides") {
			got, err = stats.FlipSides(cases, row.Tail, 1)
		}
		if err != nil || got.Method != row.Method || !rounds(got.P, row.Want, row.Digits) {
			t.Errorf("%v: got %+v, %v, want %v (%s)", row.Cases, got, err, row.Want, row.Source)
		}
	}
}

func TestPassK(t *testing.T) {
	t.Parallel()
	for _, row := range vectors[struct {
		Of, Source string
		K          int
		At, Pow    float64
		None       bool
	}](t, "passk.yaml", 10) {
		at, known := stats.PassAtK(tally(t, row.Of), row.K)
		pow, alsoKnown := stats.PassPowK(tally(t, row.Of), row.K)
		if known == row.None || alsoKnown == row.None || !rounds(at, row.At, 12) || !rounds(pow, row.Pow, 12) {
			t.Errorf("%s, k = %d: got %v %v, %v %v, want %+v", row.Of, row.K, at, known, pow, alsoKnown, row)
		}
	}
}

func TestMultiple(t *testing.T) {
	t.Parallel()
	adjust := map[string]func([]float64) []float64{"Holm": stats.Holm, "Benjamini-Hochberg": stats.BenjaminiHochberg}
	for _, row := range vectors[struct {
		Method, Source string
		P, Adjusted    []float64
		Rejected       int
	}](t, "multiple.yaml", 5) {
		got, rejected := adjust[row.Method](row.P), 0
		for i, p := range got {
			if p <= 0.05 {
				rejected++
			}
			if row.Adjusted != nil && !rounds(p, row.Adjusted[i], 12) {
				t.Errorf("%s of %v: got %v, want %v", row.Method, row.P, got, row.Adjusted)
			}
		}
		if rejected != row.Rejected {
			t.Errorf("%s of %v: %d are at most 0.05, want %d (%s)", row.Method, row.P, rejected, row.Rejected, row.Source)
		}
	}
}

func TestDesigns(t *testing.T) {
	t.Parallel()
	for _, row := range vectors[struct {
		From, To, Alpha, Power float64
		Trials, Passed         int
		Source                 string
	}](t, "designs.yaml", 5) {
		got, err := stats.FixedDesign(row.From, stats.Aim{Drop: row.From - row.To, Alpha: row.Alpha, Power: row.Power})
		if err != nil || got.Trials != row.Trials || got.MaxPassed != row.Passed {
			t.Errorf("%v to %v: got %+v, %v, want %d trials, at most %d passed (%s)", row.From, row.To, got, err, row.Trials, row.Passed, row.Source)
		}
	}
}
