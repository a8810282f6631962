package cmd

import (
	"math"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/spf13/pflag"
)

// limitFlags are the flags of what a whole run may use.
type limitFlags struct {
	budgetUSD float64
	deadline  string
	maxWait   waitFlag
}

func (l *limitFlags) addFlags(f *pflag.FlagSet) {
	f.Var((*dollars)(&l.budgetUSD), "budget-usd", "US dollars that all model calls of the run may cost, judges included; when the next could pass it, the run ends")
	f.StringVar(&l.deadline, "deadline", "", "when the run ends, done or not: a time from now such as 45m, or a date such as 2026-01-31T18:00:00Z")
	l.maxWait.addFlag(f)
}

// options are the options of a run that the flags set; others are zero.
func (l *limitFlags) options(now time.Time) (plan.Options, error) {
	o := plan.Options{BudgetUSD: l.budgetUSD, MaxWaitMS: l.maxWait.ms}
	if l.deadline == "" {
		return o, nil
	}
	if d, err := time.ParseDuration(l.deadline); err == nil {
		o.Deadline = now.Add(d).UTC()
	} else if at, err := time.Parse(time.RFC3339, l.deadline); err == nil {
		o.Deadline = at.UTC()
	} else {
		return o, usage("--deadline must be a time from now such as 45m, or a date such as 2026-01-31T18:00:00Z, not %q", l.deadline)
	}
	if !o.Deadline.After(now) {
		return o, usage("--deadline %s has passed", l.deadline)
	}
	return o, nil
}

// dollars is a flag with an amount above 0.
type dollars float64

func (d *dollars) String() string { return "" }
func (d *dollars) Type() string   { return "float" }

func (d *dollars) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return usage("it must be a number above 0")
	}
	*d = dollars(v)
	return nil
}

// waitFlag is how long a call may wait for its provider. Ms is nil when nothing
// was said.
type waitFlag struct{ ms *int64 }

func (w *waitFlag) addFlag(f *pflag.FlagSet) {
	f.Var(w, "max-wait", "how long one model call may wait for its provider in all, for its turn and between tries; what would wait longer fails (default 5m)")
}

func (w *waitFlag) String() string { return "" }
func (w *waitFlag) Type() string   { return "duration" }

func (w *waitFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return usage("it must be a time such as 30s or 2h, at most 290 years, or 0 to wait for nothing")
	}
	w.ms = new(d.Milliseconds())
	return nil
}
