package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
)

func main() {
	histories := flag.Int("histories", 10_000, "simulated histories of each row")
	seed := flag.Uint64("seed", 1, "seed of all chance")
	flag.Parse()
	missed, err := report(os.Stdout, world{histories: *histories, seed: *seed, baselines: []int{20, 30, 56, 100, 200}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-stats:", err)
		os.Exit(1)
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "bench-stats: %d stated bounds were missed\n", missed)
		os.Exit(1)
	}
}

// report prints both tables and counts the bounds that were missed.
func report(w io.Writer, sim world) (missed int, err error) {
	sim.families = map[int]*family{}
	decisions, err := sim.decisions()
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(w, "%d histories a row, seed %d, alpha %v, power %v, drop %v\n\n", sim.histories, sim.seed, aim.Alpha, aim.Power, aim.Drop)
	fmt.Fprintln(w, "| test | trials end as | regressed (exact) | no regression | undecided | mean trials | bound |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	for _, d := range decisions {
		missed += d.print(w)
	}
	checks, err := sim.checks()
	if err != nil {
		return 0, err
	}
	checks = append(checks, pooled(decisions))
	fmt.Fprint(w, "\n| what | measured | bound |\n|---|---|---|\n")
	for _, c := range checks {
		missed += c.print(w)
	}
	return missed, nil
}

// bound is what a rate must keep: at most or at least a value.
type bound struct {
	value   float64
	atLeast bool
	none    bool
}

func atMost(v float64) bound  { return bound{value: v} }
func atLeast(v float64) bound { return bound{value: v, atLeast: true} }

// strict is the number of histories from which a rate has no allowance; below
// it three standard errors are allowed for, since there are many rows.
const strict = 10_000

// keeps holds a rate that was simulated n times against the bound; with n = 0
// it was not simulated.
func (b bound) keeps(rate float64, n int) bool {
	noise := 0.0
	if n > 0 && n < strict {
		noise = 3 * math.Sqrt(b.value*(1-b.value)/float64(n))
	}
	switch {
	case b.none:
		return true
	case b.atLeast:
		return rate >= b.value-noise
	}
	return rate <= b.value+noise
}

func (b bound) String() string {
	switch {
	case b.none:
		return ""
	case b.atLeast:
		return fmt.Sprintf("at least %g", b.value)
	}
	return fmt.Sprintf("at most %g", b.value)
}

// mark is what a missed bound looks like.
func mark(kept bool) string {
	if kept {
		return ""
	}
	return " **missed**"
}

// decision is a row of the sequential tests. Rows that are not null have the
// drop; of them no regression must be as rare as the aim says.
type decision struct {
	test, ends               string
	null                     bool
	regressed, clear, trials float64 // simulated: two rates, mean trials
	histories                int
	exact                    float64 // regressed by enumeration, NaN where there is none
	of                       bound   // on regressed
	mean                     float64 // bound on the mean trials, 0 for none
}

func (d decision) print(w io.Writer) int {
	kept, exact, limit := d.of.keeps(d.regressed, d.histories), "", d.of.String()
	if !math.IsNaN(d.exact) {
		exact = fmt.Sprintf(" (%.4f)", d.exact)
		kept = kept && d.of.keeps(d.exact, 0)
	}
	if !d.null {
		kept = kept && atMost(1-aim.Power).keeps(d.clear, d.histories)
	}
	if d.mean > 0 {
		kept = kept && d.trials <= d.mean
		limit += fmt.Sprintf(", mean at most %.1f", d.mean)
	}
	fmt.Fprintf(w, "| %s | %s | %.4f%s | %.4f | %.4f | %.1f | %s%s |\n", d.test, d.ends, d.regressed, exact, d.clear,
		math.Abs(1-d.regressed-d.clear), d.trials, limit, mark(kept))
	return missedIf(!kept)
}

// check is a row of one simulated rate, or of a figure without noise (n is 0).
type check struct {
	what string
	rate float64
	of   bound
	n    int
}

func (c check) print(w io.Writer) int {
	kept := c.of.keeps(c.rate, c.n)
	fmt.Fprintf(w, "| %s | %.4f | %s%s |\n", c.what, c.rate, c.of, mark(kept))
	return missedIf(!kept)
}

func missedIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pooled holds the false alarms of all null histories together against alpha,
// without any allowance.
func pooled(rows []decision) check {
	sum, n := 0.0, 0
	for _, d := range rows {
		if d.null && !d.of.none {
			sum += d.regressed
			n++
		}
	}
	return check{what: fmt.Sprintf("false alarms of the sequential tests, all %d null rows together", n), rate: sum / float64(n), of: atMost(aim.Alpha)}
}
