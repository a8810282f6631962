package session

import (
	"fmt"
	"slices"

	"github.com/agentclash/agentclash/scoring/stats"
)

// Warnings say what the numbers of a session do not rest on.
func (b *Builder) Warnings() []string {
	list := []string{}
	for _, p := range b.participants {
		list = append(list, b.about(p)...)
	}
	return append(list, b.changed()...)
}

func (b *Builder) about(p *participant) (list []string) {
	warn := func(format string, args ...any) {
		list = append(list, p.label+": "+fmt.Sprintf(format, args...))
	}
	var ended, invalid, untried, most int
	tallies := b.tallies(p)
	for _, c := range p.counts {
		t := c.tally()
		ended, invalid, most = ended+t.Trials+c.invalid, invalid+c.invalid, max(most, t.Trials)
		if t.Trials == 0 {
			untried++
		}
	}
	if len(p.deployments) > 1 {
		warn("%d deployments have this label: its runs were not of one agent", len(p.deployments))
	}
	if ended < p.planned {
		warn("%d of %d planned trials have not ended", p.planned-ended, p.planned)
	}
	if invalid > 0 {
		warn("%d invalid trials are in no number", invalid)
	}
	if untried > 0 {
		warn("%d cases have invalid trials alone", untried)
	}
	if few := fewest(tallies); few > 0 && few < most {
		n := len(slices.DeleteFunc(slices.Clone(tallies), func(t stats.Tally) bool { return t.Trials > few }))
		warn("pass@k ends at k %d, as %d of %d cases have no more valid trials; others have up to %d", few, n, len(tallies), most)
	}
	if least, most := p.uneven(); least < most {
		warn("its repetitions have %d to %d valid trials: the mean over repetitions is not that over trials", least, most)
	}
	if len(p.passes) == 1 {
		warn("one repetition: how its scores spread is not known")
	}
	return list
}

// uneven is how many valid trials the repetitions have, at least and at most.
func (p *participant) uneven() (least, most int) {
	for i, s := range p.passes {
		if i == 0 {
			least = s.trials
		}
		least, most = min(least, s.trials), max(most, s.trials)
	}
	return least, most
}

// changed names cases of one key that are not the same in every run.
func (b *Builder) changed() []string {
	const shown = 5
	var keys []string
	seen, told := map[string]bool{}, map[string]bool{}
	for _, k := range b.cases {
		if seen[k.Key] && !told[k.Key] {
			keys, told[k.Key] = append(keys, k.Key), true
		}
		seen[k.Key] = true
	}
	if len(keys) == 0 {
		return nil
	}
	more := ""
	if len(keys) > shown {
		keys, more = keys[:shown], fmt.Sprintf(" and %d more", len(keys)-shown)
	}
	return []string{fmt.Sprintf("case %q%s changed between runs: what it was and what it is count as two cases", keys, more)}
}
