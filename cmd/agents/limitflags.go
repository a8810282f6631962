package agents

import (
	"math"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/spf13/pflag"
)

// LimitFlags are the flags of what a whole run may use.
type LimitFlags struct {
	budgetUSD float64
	deadline  string
	maxWait   WaitFlag
}

// AddFlags adds --budget-usd, --deadline and --max-wait.
func (l *LimitFlags) AddFlags(f *pflag.FlagSet) {
	f.Var((*dollars)(&l.budgetUSD), "budget-usd", "US dollars that all model calls of the run may cost, judges included; when the next could pass it, the run ends")
	f.StringVar(&l.deadline, "deadline", "", "when the run ends, done or not: a time from now such as 45m, or a date such as 2026-01-31T18:00:00Z")
	l.maxWait.AddFlag(f)
}

// Options are the options of a run that the flags set; others are zero.
func (l *LimitFlags) Options(now time.Time) (plan.Options, error) {
	o := plan.Options{BudgetUSD: l.budgetUSD, MaxWaitMS: l.maxWait.Ms}
	if l.deadline == "" {
		return o, nil
	}
	if d, err := time.ParseDuration(l.deadline); err == nil {
		o.Deadline = now.Add(d).UTC()
	} else if at, err := time.Parse(time.RFC3339, l.deadline); err == nil {
		o.Deadline = at.UTC()
	} else {
		return o, cli.Usage("--deadline must be a time from now such as 45m, or a date such as 2026-01-31T18:00:00Z, not %q", l.deadline)
	}
	if !o.Deadline.After(now) {
		return o, cli.Usage("--deadline %s has passed", l.deadline)
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
		return cli.Usage("it must be a number above 0")
	}
	*d = dollars(v)
	return nil
}

// WaitFlag is how long a call may wait for its provider. Ms is nil when nothing
// was said.
type WaitFlag struct{ Ms *int64 }

// AddFlag adds --max-wait.
func (w *WaitFlag) AddFlag(f *pflag.FlagSet) {
	f.Var(w, "max-wait", "how long one model call may wait for its provider in all, for its turn and between tries; what would wait longer fails (default 5m)")
}

func (w *WaitFlag) String() string { return "" }

// Type is what help calls the value.
func (w *WaitFlag) Type() string { return "duration" }

// Set reads the value.
func (w *WaitFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return cli.Usage("it must be a time such as 30s or 2h, at most 290 years, or 0 to wait for nothing")
	}
	w.Ms = new(d.Milliseconds())
	return nil
}
