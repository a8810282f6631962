package compare

import (
	"maps"
	"slices"

	"github.com/agentclash/agentclash/scoring"
)

// CaseResult is how a run agent did on one case, over its repetitions.
type CaseResult struct {
	CaseKey string `json:"case_key"`
	// Digest covers everything that makes up the case. Two results belong
	// together only when it agrees.
	Digest string `json:"digest"`
	// Regressions are the cases of regression suites that this one is.
	Regressions []scoring.Regression `json:"regression_cases,omitempty"`
	// Valid is Passed plus Failed. Invalid trials are in no number below.
	Valid   int `json:"valid_trials"`
	Passed  int `json:"passed_trials"`
	Failed  int `json:"failed_trials"`
	Invalid int `json:"invalid_trials"`

	OverallScore Mean `json:"overall_score"`
	// Dimensions are in the order of [Snapshot.Dimensions].
	Dimensions []scoring.AggregateDimension `json:"dimensions"`
	// CostUSD, LatencyMS and TotalTokens are means per valid trial that
	// reported one. No tokens at all is taken as not reported.
	CostUSD     Mean `json:"cost_usd"`
	LatencyMS   Mean `json:"latency_ms"`
	TotalTokens Mean `json:"total_tokens"`
}

// Mean is an average and the number of values behind it. Value is nil when
// there were none.
type Mean struct {
	Value *float64 `json:"value"`
	N     int      `json:"n"`
}

// sum adds values up to a mean.
type sum struct {
	total float64
	n     int
}

func (s *sum) add(v float64) { s.total += v; s.n++ }

// addMean adds the values behind m.
func (s *sum) addMean(m Mean) {
	if m.Value != nil && m.N > 0 {
		s.total += float64(*m.Value * float64(m.N)) // rounded, on every machine
		s.n += m.N
	}
}

func (s *sum) mean() Mean {
	if s.n == 0 {
		return Mean{}
	}
	return Mean{Value: new(s.total / float64(s.n)), N: s.n}
}

// caseResults groups deciding trials, which are sorted by case and repetition,
// by case: planned cases first, then by key whatever else has trials.
func caseResults(dimensions []DeclaredDimension, planned []CaseRef, trials []scoring.Trial) []CaseResult {
	byCase := map[string][]scoring.Trial{}
	for _, t := range trials {
		byCase[t.CaseKey] = append(byCase[t.CaseKey], t)
	}
	results := make([]CaseResult, 0, len(planned))
	for _, ref := range planned {
		results = append(results, caseResult(dimensions, ref, byCase[ref.Key]))
		delete(byCase, ref.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(byCase)) {
		results = append(results, caseResult(dimensions, CaseRef{Key: key}, byCase[key]))
	}
	return results
}

func caseResult(dimensions []DeclaredDimension, ref CaseRef, trials []scoring.Trial) CaseResult {
	r := CaseResult{CaseKey: ref.Key, Digest: ref.Digest, Regressions: ref.Regressions,
		Dimensions: make([]scoring.AggregateDimension, 0, len(dimensions))}
	valid := make([]scoring.Trial, 0, len(trials))
	for _, t := range trials {
		switch t.Outcome {
		case scoring.OutcomePassed:
			r.Passed++
		case scoring.OutcomeFailed:
			r.Failed++
		default:
			r.Invalid++
			continue
		}
		valid = append(valid, t)
	}
	r.Valid = len(valid)
	r.score(dimensions, valid)
	var cost, latency, tokens sum
	for _, t := range valid {
		if t.CostUSD != nil {
			cost.add(*t.CostUSD)
		}
		if t.LatencyMS != nil {
			latency.add(float64(*t.LatencyMS))
		}
		if t.Usage.TotalTokens > 0 {
			tokens.add(float64(t.Usage.TotalTokens))
		}
	}
	r.CostUSD, r.LatencyMS, r.TotalTokens = cost.mean(), latency.mean(), tokens.mean()
	return r
}

// score averages what each valid trial contributes. What that is, is said by
// [scoring.Aggregate] of the one trial, so that the means of cases add up to
// the run agent's scorecard by the same rules.
func (r *CaseResult) score(dimensions []DeclaredDimension, valid []scoring.Trial) {
	var spec scoring.Spec
	for _, d := range dimensions {
		spec.Scorecard.Dimensions = append(spec.Scorecard.Dimensions, scoring.Dimension{Key: d.Key, Source: d.Source})
		r.Dimensions = append(r.Dimensions, scoring.AggregateDimension{Key: d.Key, State: scoring.Unavailable})
	}
	var overall sum
	sums := make([]sum, len(dimensions))
	for _, t := range valid {
		part := scoring.Aggregate(spec, []scoring.Trial{t}, 0)
		if part.OverallScore != nil {
			overall.add(*part.OverallScore)
		}
		for i, d := range part.Dimensions {
			switch {
			case d.Score != nil:
				sums[i].add(*d.Score)
			case d.State == scoring.Errored:
				r.Dimensions[i].State = scoring.Errored
			}
		}
	}
	r.OverallScore = overall.mean()
	for i := range r.Dimensions {
		m := sums[i].mean()
		r.Dimensions[i].Score, r.Dimensions[i].N = m.Value, m.N
		if m.N > 0 {
			r.Dimensions[i].State = scoring.Available
		}
	}
}
