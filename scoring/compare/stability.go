package compare

import "github.com/agentclash/agentclash/scoring/stats"

// Stability says how alike the trials of a case end, over the compared cases,
// where at least one side ran one more than once.
type Stability struct {
	Baseline  SideStability `json:"baseline"`
	Candidate SideStability `json:"candidate"`
	// Repeated are pass@k and pass^k for each k up to the fewest valid trials
	// that a compared case has on either side, at most 10.
	Repeated []PassK `json:"repeated"`
}

// SideStability counts the cases of one side whose valid trials passed always,
// sometimes and never.
type SideStability struct {
	Always    int `json:"always"`
	Sometimes int `json:"sometimes"`
	Never     int `json:"never"`
}

// PassK is the chance that a case passes at least once in k trials (pass@k) and
// in all of k (pass^k), the mean over cases, unbiased.
type PassK struct {
	K                 int     `json:"k"`
	BaselinePassAtK   float64 `json:"baseline_pass_at_k"`
	CandidatePassAtK  float64 `json:"candidate_pass_at_k"`
	BaselinePassPowK  float64 `json:"baseline_pass_pow_k"`
	CandidatePassPowK float64 `json:"candidate_pass_pow_k"`
}

const maxPassK = 10

// stability is nil unless a case was tried more than once.
func stability(m matched) *Stability {
	var s Stability
	var baseline, candidate []stats.Tally
	repeated, fewest := false, maxPassK
	for _, c := range m.cases {
		b, k := c.baseline.tally(), c.candidate.tally()
		s.Baseline.Add(b)
		s.Candidate.Add(k)
		baseline, candidate = append(baseline, b), append(candidate, k)
		repeated = repeated || b.Trials > 1 || k.Trials > 1
		fewest = min(fewest, b.Trials, k.Trials)
	}
	if !repeated {
		return nil
	}
	for k := 1; k <= fewest; k++ {
		s.Repeated = append(s.Repeated, PassK{K: k,
			BaselinePassAtK: stats.MeanPassAtK(baseline, k).Mean, CandidatePassAtK: stats.MeanPassAtK(candidate, k).Mean,
			BaselinePassPowK: stats.MeanPassPowK(baseline, k).Mean, CandidatePassPowK: stats.MeanPassPowK(candidate, k).Mean})
	}
	return &s
}

// Add counts a case.
func (s *SideStability) Add(t stats.Tally) {
	switch stats.StabilityOf(t).Passes {
	case stats.Always:
		s.Always++
	case stats.Sometimes:
		s.Sometimes++
	case stats.Never:
		s.Never++
	}
}
