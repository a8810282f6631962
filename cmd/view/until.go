package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/scoring/sequential"
	"github.com/agentclash/agentclash/scoring/stats"
)

// untilDetails says by what a run would be ended.
func untilDetails(b *Details, t *sequential.Test) {
	tried := 0
	for _, c := range t.Cases {
		tried += c.Trials
	}
	b.Add("Until decided", fmt.Sprintf("against %s of run %s, at most %s, by %s", t.Baseline.Label, t.Baseline.RunName, count(t.MaxTrials, "trial"), t.Method))
	b.Add("Decided by", fmt.Sprintf("%s that both sides have, tried %s by the baseline", count(len(t.Cases), "case"), count(tried, "time")))
	aim := fmt.Sprintf("a fall by %s with power %s, false alarms at most %s", plain(t.Drop), plain(t.Power), plain(t.Alpha))
	if t.ExpectedPower != nil {
		aim += "; the power against this baseline is about " + strconv.FormatFloat(*t.ExpectedPower, 'f', 2, 64)
	}
	b.Add("Aim", aim)
	if n := t.Limits; n != nil {
		b.Add("Decides from", untilFirst(n))
	}
	var others []string
	for _, o := range t.Others {
		others = append(others, o.CaseKey+" ("+o.Why+")")
	}
	if len(others) > 0 {
		b.Add("Run once", strings.Join(others, ", "))
	}
}

// untilFirst are the earliest decisions that the limits allow.
func untilFirst(l *stats.Sequential) string {
	alarm, clears := "", ""
	for n := 1; n <= l.MaxTrials && (alarm == "" || clears == ""); n++ {
		ok, bad := l.Limits(n)
		if alarm == "" && bad <= n {
			alarm = fmt.Sprintf("regressed after %s, when %d failed", count(n, "trial"), bad)
		}
		if clears == "" && ok >= 0 {
			clears = fmt.Sprintf("no regression after %d, when at most %d failed", n, ok)
		}
	}
	return strings.Trim(alarm+"; "+clears, "; ")
}

// sequential writes what a gate's own test came to.
func (p *printer) sequential(s *compare.Sequential) {
	if s == nil {
		return
	}
	t := Table{Columns: []Column{whole("SEQUENTIAL TEST"), right("TRIALS"), right("AT MOST"), right("FAILED"), right("ALPHA"), right("POWER"), right("FALL"), spare(left("METHOD"))}}
	t.Add(Status(string(s.Decision)), Text(strconv.Itoa(s.Trials)), Text(strconv.Itoa(s.MaxTrials)), Text(strconv.Itoa(s.Failed)),
		Text(plain(s.Alpha)), Text(plain(s.Power)), Text(plain(s.Drop)), Text(s.Method))
	p.blank()
	p.table(&t)
}
