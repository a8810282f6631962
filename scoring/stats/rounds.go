package stats

// Rounds is an order in which to run trials so that the cases are mixed evenly
// at every look: every round has each case once, shuffled by the seed. It
// gives the index of each trial's case.
func Rounds(cases, trials int, seed uint64) []int {
	if cases < 1 || trials < 1 {
		return nil
	}
	random, order := chance(seed), make([]int, 0, trials)
	for len(order) < trials {
		round := random.Perm(cases)
		order = append(order, round[:min(cases, trials-len(order))]...)
	}
	return order
}

// Result is one valid trial of a case.
type Result struct {
	Case   string
	Passed bool
}

// Match is one case's trial on each side, both as passed or not.
type Match struct{ Baseline, Candidate bool }

// MatchTrials pairs each trial of the candidate, in the order given, with the
// next one that the baseline has of the same case, in its own order; a trial
// for which none is left is passed over. Neither order may depend on results.
func MatchTrials(baseline, candidate []Result) []Match {
	left := map[string][]bool{}
	for _, r := range baseline {
		left[r.Case] = append(left[r.Case], r.Passed)
	}
	var matches []Match
	for _, r := range candidate {
		if l := left[r.Case]; len(l) > 0 {
			matches = append(matches, Match{Baseline: l[0], Candidate: r.Passed})
			left[r.Case] = l[1:]
		}
	}
	return matches
}
