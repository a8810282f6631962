package stats

// PassAtK is the probability that at least one of k trials of a case passes,
// estimated without bias from n trials of which c passed: 1 - C(n-c,k)/C(n,k),
// M. Chen et al., "Evaluating large language models trained on code",
// arXiv:2107.03374 (2021), section 2.1. It is not known (false) for k over n.
func PassAtK(t Tally, k int) (value float64, known bool) {
	if t.check() != nil || k < 1 || k > t.Trials {
		return 0, false
	}
	return 1 - allOf(t.failed(), t.Trials, k), true
}

// PassPowK is the probability that all of k trials of a case pass, estimated
// without bias: C(c,k)/C(n,k), S. Yao et al., "tau-bench: a benchmark for
// tool-agent-user interaction in real-world domains", arXiv:2406.12045 (2024).
// It is not known (false) for k over n.
func PassPowK(t Tally, k int) (value float64, known bool) {
	if t.check() != nil || k < 1 || k > t.Trials {
		return 0, false
	}
	return allOf(t.Passed, t.Trials, k), true
}

// allOf is C(c,k)/C(n,k): the chance that k of n drawn without replacement are
// all among c.
func allOf(c, n, k int) float64 {
	if c < k {
		return 0
	}
	p := 1.0
	// the shorter of two equal products
	for i := range min(k, n-c) {
		if k <= n-c {
			p *= float64(c-i) / float64(n-i)
		} else {
			p *= float64(n-k-i) / float64(n-i)
		}
	}
	return p
}

// OverCases is the mean of an estimate over the cases that have one.
type OverCases struct {
	K     int       `json:"k"`
	Mean  float64   `json:"mean"`
	Cases int       `json:"cases"` // those with at least k trials; 0: not known
	Each  []float64 `json:"-"`     // for an interval over cases, see [Bootstrap]
}

// MeanPassAtK is [PassAtK] averaged over the cases that have k trials.
func MeanPassAtK(cases []Tally, k int) OverCases { return overCases(cases, k, PassAtK) }

// MeanPassPowK is [PassPowK] averaged over the cases that have k trials.
func MeanPassPowK(cases []Tally, k int) OverCases { return overCases(cases, k, PassPowK) }

func overCases(cases []Tally, k int, of func(Tally, int) (float64, bool)) OverCases {
	o := OverCases{K: k}
	for _, t := range cases {
		if v, known := of(t, k); known {
			o.Each = append(o.Each, v)
		}
	}
	o.Cases, o.Mean = len(o.Each), mean(o.Each)
	return o
}

// The values of [Stability.Passes].
const (
	Always    = "always"
	Sometimes = "sometimes"
	Never     = "never"
	Untried   = "untried"
)

// Stability says how alike the trials of one case ended. FlipRate is the
// probability that two of its trials end differently, estimated without bias
// (n/(n-1) times twice the variance); nil with fewer than two trials.
type Stability struct {
	Passes   string   `json:"passes"`
	FlipRate *float64 `json:"flip_rate"`
}

// StabilityOf a case; its counts must be possible.
func StabilityOf(t Tally) Stability {
	s := Stability{Passes: Sometimes}
	switch {
	case t.Trials == 0:
		s.Passes = Untried
	case t.Passed == 0:
		s.Passes = Never
	case t.failed() == 0:
		s.Passes = Always
	}
	if t.Trials > 1 {
		n := float64(t.Trials)
		s.FlipRate = new(2 * float64(t.Passed) * float64(t.failed()) / (n * (n - 1)))
	}
	return s
}
