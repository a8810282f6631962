package scoring

import (
	"cmp"
	"fmt"
	"slices"
)

// The confidence of a judge, and what a model may say of its own.
const (
	confidenceLow    = "low"
	confidenceMedium = "medium"
	confidenceHigh   = "high"
	confidenceSingle = "single-model"
)

// spreadThreshold is how far models may lie apart before their confidence is
// low, where consensus.min_agreement_threshold does not say.
const spreadThreshold = 0.25

// opinion is a judge's result, with what its JSON does not say.
type opinion struct {
	JudgeResult
	cause cause
	// unreached says that a call failed and a model that was to be heard was
	// not; code is that of the call.
	unreached bool
	code      string
}

// opinions reads the replies of all judges.
func (t *trial) opinions(s *Scorer) []opinion {
	var out []opinion
	for i := range s.judges {
		out = append(out, t.opinion(s, &s.judges[i]))
	}
	return out
}

func (t *trial) opinion(s *Scorer, j *judge) opinion {
	o := opinion{JudgeResult: JudgeResult{
		Key: j.Key, Mode: j.Mode, State: Unavailable, ModelCount: len(j.models()), SampleCount: len(j.models()) * s.samples(j),
	}}
	if !j.used {
		o.Reason = "no dimension reads it, so that it is not asked"
		return o
	}
	pieces, lack := t.shown(j)
	if lack.state != Available {
		o.State, o.cause, o.Reason = lack.state, lack.cause, lack.reason
		return o
	}
	h := hearing{opinion: &o, judge: j, samples: s.samples(j), replies: t.replies(j, j.questionID(pieces))}
	if j.Mode == judgeNWise {
		h.samples = maxJudgeSamples // as many as there were candidates to turn round
		if r, alone := h.replies[sample{}]; alone && r.Status == JudgeAlone {
			h.alone(r)
			return o
		}
	}
	for _, model := range j.models() {
		h.model(model)
	}
	h.conclude()
	return o
}

// alone is the first place of a trial that there is nobody to rank with.
func (h *hearing) alone(r JudgeReply) {
	c := h.judge.call(r)
	h.State, h.NormalizedScore, h.Reason = Available, c.Score, c.Reasoning
	h.Calls, h.Source = []JudgeCall{c}, c.Source
}

// hearing gathers what the models of a judge say.
type hearing struct {
	*opinion
	judge   *judge
	samples int // at most
	replies map[sample]JudgeReply
	scores  []float64 // of the models that were heard, in declared order
	all     []float64 // of the samples
	asked   int       // samples of which anything is known
	spent   string    // why samples were not asked for
	garbled string    // the first reply that says nothing
	silent  []string  // models that were not heard
}

// model hears one model: the median of its samples, or for a statement the
// majority of them, in which a tie is a pass.
func (h *hearing) model(name string) {
	var scores []float64
	failed := ""
	for i := 1; i <= h.samples; i++ {
		r, ok := h.replies[sample{name, i}]
		if !ok {
			continue
		}
		h.asked++
		c := h.judge.call(r)
		h.Calls = append(h.Calls, c)
		switch {
		case c.Score != nil:
			scores = append(scores, *c.Score)
			continue
		case r.Status == JudgeUnable && r.Code == "":
			h.spent = cmp.Or(h.spent, c.Error)
		case r.Status == JudgeFailed:
			failed = cmp.Or(failed, c.Error)
			h.code = cmp.Or(h.code, r.Code)
		case !c.Unable:
			h.garbled = cmp.Or(h.garbled, c.Error)
		}
		if c.Unable {
			h.UnableCount++
		}
		h.Warnings = append(h.Warnings, clipTo(fmt.Sprintf("%s, sample %d: %s", quoted(name), i, c.Error), maxReason))
	}
	h.all = append(h.all, scores...)
	m := JudgeModel{Model: name, Samples: len(scores)}
	if len(scores) > 0 {
		m.Score = new(h.judge.combine(scores))
		h.scores = append(h.scores, *m.Score)
	} else {
		h.silent = append(h.silent, name)
		if failed != "" {
			h.unreached = true
			h.Reason = cmp.Or(h.Reason, clipTo(fmt.Sprintf("%s: %s", quoted(name), failed), maxReason))
		}
	}
	h.Models = append(h.Models, m)
}

// combine is what one model's samples come to.
func (j *judge) combine(scores []float64) float64 {
	if j.Mode == judgeAssertion {
		return majority(scores)
	}
	return median(scores)
}

// conclude makes one score of the models'.
func (h *hearing) conclude() {
	if at := weakest(h.Calls, func(c JudgeCall) *float64 { return c.Score }); at >= 0 {
		h.Source = h.Calls[at].Source
	} else if len(h.Calls) > 0 {
		h.Source = h.Calls[0].Source
	}
	switch {
	case h.unreached:
		h.State, h.cause = Unavailable, causeJudge
	case h.asked == 0:
		h.Reason, h.cause = "the judge was not asked this question", causeJudge
		if h.judge.Mode == judgeNWise {
			h.Reason = "there is no ranking: it takes two agents with a valid trial"
		}
	case len(h.scores) > 0:
		h.score()
		return
	case h.garbled != "":
		h.State, h.cause, h.Reason = Errored, causeJudge, "no reply could be read: "+h.garbled
	case h.spent != "":
		h.cause, h.Reason = causePack, h.spent
	default:
		h.Reason = "every sample is unable_to_judge"
	}
}

func (h *hearing) score() {
	h.State, h.Reason = Available, ""
	for _, r := range h.replies {
		if r.Late {
			h.Warnings = append(h.Warnings, "it is ranked with trials that were ranked before without it, and keep that ranking")
			break
		}
	}
	for _, name := range h.silent {
		h.Warnings = append(h.Warnings, fmt.Sprintf("%s is not heard: none of its samples counts", quoted(name)))
	}
	aggregation := consensusMean
	if h.judge.Mode == judgeAssertion {
		aggregation = consensusMajority
	}
	limit := spreadThreshold
	if c := h.judge.Consensus; c != nil {
		aggregation = c.Aggregation
		if c.MinAgreementThreshold != nil && *c.MinAgreementThreshold > 0 {
			limit = *c.MinAgreementThreshold
		}
	}
	h.NormalizedScore = new(min(max(agree(aggregation, h.scores), 0), 1))
	if len(h.all) >= 2 {
		h.Variance = new(variance(h.all))
	}
	spread := slices.Max(h.scores) - slices.Min(h.scores)
	if len(h.scores) > 1 {
		h.Spread = &spread
		if c := h.judge.Consensus; c != nil && c.FlagOnDisagreement && spread > limit {
			h.Warnings = append(h.Warnings, fmt.Sprintf("the models disagree: they lie %.4f apart, more than %.4f", spread, limit))
		}
	}
	switch {
	case len(h.Warnings) > 0:
		h.Confidence = confidenceLow
	case len(h.scores) == 1:
		h.Confidence = confidenceSingle
	case spread == 0:
		h.Confidence = confidenceHigh
	case spread > limit:
		h.Confidence = confidenceLow
	default:
		h.Confidence = confidenceMedium
	}
}

// agree is the consensus of several models; one alone is what it says.
func agree(aggregation string, scores []float64) float64 {
	if len(scores) == 1 {
		return scores[0]
	}
	switch aggregation {
	case consensusMedian:
		return median(scores)
	case consensusMajority:
		return majority(scores)
	case consensusUnanimous:
		if slices.Min(scores) >= passMark {
			return 1
		}
		return 0
	}
	return average(scores)
}

func median(scores []float64) float64 {
	sorted := slices.Sorted(slices.Values(scores))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// majority is 1 when at least half of the scores are passes.
func majority(scores []float64) float64 {
	passes := 0
	for _, s := range scores {
		if s >= passMark {
			passes++
		}
	}
	if 2*passes >= len(scores) {
		return 1
	}
	return 0
}

func average(scores []float64) float64 {
	sum := 0.0
	for _, s := range scores {
		sum += s
	}
	return sum / float64(len(scores))
}

// variance is that of a population.
func variance(scores []float64) float64 {
	mean, sum := average(scores), 0.0
	for _, s := range scores {
		sum += float64((s - mean) * (s - mean)) // rounded, on every machine
	}
	return sum / float64(len(scores))
}
