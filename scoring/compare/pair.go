package compare

// CaseComparison pairs the cases of both sides. Keys are in the baseline's
// order; those only the candidate has are in the candidate's.
type CaseComparison struct {
	// Compared counts the pairs that have a valid trial on both sides. Only
	// these are in the deltas.
	Compared int `json:"compared"`
	// Paired are the cases with equal key and equal digest.
	Paired []CasePair `json:"paired"`
	// FlippedToFailing passed on the baseline and do not on the candidate.
	FlippedToFailing []string `json:"flipped_to_failing"`
	// FlippedToPassing did not pass on the baseline and do on the candidate.
	FlippedToPassing []string `json:"flipped_to_passing"`
	// Unmeasured are paired, without a valid trial on at least one side.
	Unmeasured    []string `json:"unmeasured"`
	OnlyBaseline  []string `json:"only_baseline"`
	OnlyCandidate []string `json:"only_candidate"`
	// DigestDiffers are on both sides, with different content.
	DigestDiffers []string `json:"digest_differs"`
}

// CasePair is one case on both sides. Delta is candidate minus baseline of the
// mean overall scores, nil where a side has none.
type CasePair struct {
	CaseKey         string   `json:"case_key"`
	BaselinePassed  int      `json:"baseline_passed_trials"`
	BaselineValid   int      `json:"baseline_valid_trials"`
	CandidatePassed int      `json:"candidate_passed_trials"`
	CandidateValid  int      `json:"candidate_valid_trials"`
	BaselineScore   *float64 `json:"baseline_score"`
	CandidateScore  *float64 `json:"candidate_score"`
	Delta           *float64 `json:"delta"`
	VerdictChange   string   `json:"verdict_change"`
}

// The values of [CasePair.VerdictChange].
const (
	CaseFlippedToFailing = "flipped_to_failing"
	CaseFlippedToPassing = "flipped_to_passing"
	CaseUnchanged        = "unchanged"  // passes on both sides or on neither
	CaseUnmeasured       = "unmeasured" // no valid trial on at least one side
)

// pairCases matches the cases of both sides. A case passes when its share of
// passed valid trials reaches the candidate's minimum pass rate: one bar for
// both sides, so that a changed option is not taken for a changed agent.
func pairCases(baseline, candidate Snapshot) CaseComparison {
	c := CaseComparison{
		Paired:           make([]CasePair, 0, min(len(baseline.Cases), len(candidate.Cases))),
		FlippedToFailing: []string{}, FlippedToPassing: []string{}, Unmeasured: []string{},
		OnlyBaseline: []string{}, OnlyCandidate: []string{}, DigestDiffers: []string{},
	}
	theirs := make(map[string]int, len(candidate.Cases))
	for i, r := range candidate.Cases {
		theirs[r.CaseKey] = i
	}
	ours := make(map[string]bool, len(baseline.Cases))
	for _, r := range baseline.Cases {
		ours[r.CaseKey] = true
		switch i, ok := theirs[r.CaseKey]; {
		case !ok:
			c.OnlyBaseline = append(c.OnlyBaseline, r.CaseKey)
		case r.Digest != candidate.Cases[i].Digest:
			c.DigestDiffers = append(c.DigestDiffers, r.CaseKey)
		default:
			c.add(newCasePair(r, candidate.Cases[i], candidate.MinPassRate))
		}
	}
	for _, r := range candidate.Cases {
		if !ours[r.CaseKey] {
			c.OnlyCandidate = append(c.OnlyCandidate, r.CaseKey)
		}
	}
	return c
}

func newCasePair(baseline, candidate CaseResult, minPassRate float64) CasePair {
	p := CasePair{
		CaseKey:        baseline.CaseKey,
		BaselinePassed: baseline.Passed, BaselineValid: baseline.Valid,
		CandidatePassed: candidate.Passed, CandidateValid: candidate.Valid,
		BaselineScore: finite(baseline.OverallScore.Value), CandidateScore: finite(candidate.OverallScore.Value),
		VerdictChange: CaseUnmeasured,
	}
	p.Delta = difference(p.BaselineScore, p.CandidateScore)
	if baseline.Valid == 0 || candidate.Valid == 0 {
		return p
	}
	before := float64(baseline.Passed)/float64(baseline.Valid) >= minPassRate
	after := float64(candidate.Passed)/float64(candidate.Valid) >= minPassRate
	switch {
	case before && !after:
		p.VerdictChange = CaseFlippedToFailing
	case !before && after:
		p.VerdictChange = CaseFlippedToPassing
	default:
		p.VerdictChange = CaseUnchanged
	}
	return p
}

func (c *CaseComparison) add(p CasePair) {
	c.Paired = append(c.Paired, p)
	switch p.VerdictChange {
	case CaseUnmeasured:
		c.Unmeasured = append(c.Unmeasured, p.CaseKey)
		return
	case CaseFlippedToFailing:
		c.FlippedToFailing = append(c.FlippedToFailing, p.CaseKey)
	case CaseFlippedToPassing:
		c.FlippedToPassing = append(c.FlippedToPassing, p.CaseKey)
	}
	c.Compared++
}

// whole says whether every case of both sides is compared.
func (c *CaseComparison) whole() bool {
	return len(c.OnlyBaseline)+len(c.OnlyCandidate)+len(c.DigestDiffers)+len(c.Unmeasured) == 0
}

// compared is the set of keys that are in the deltas.
func (c *CaseComparison) compared() map[string]bool {
	keys := make(map[string]bool, c.Compared)
	for _, p := range c.Paired {
		if p.VerdictChange != CaseUnmeasured {
			keys[p.CaseKey] = true
		}
	}
	return keys
}

// nothingShared says why no case can be compared; empty when one can. Sides
// of which one measured nothing share their cases all the same: what is wrong
// there is the side, not the pairing.
func (c *CaseComparison) nothingShared(bothMeasured bool) string {
	switch {
	case len(c.Paired) == 0:
		return "no case has the same key and the same content on both sides"
	case c.Compared == 0 && bothMeasured:
		return "no case has a valid trial on both sides"
	}
	return ""
}
