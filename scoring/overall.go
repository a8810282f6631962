package scoring

import (
	"fmt"
	"slices"
)

// overall is what a strategy makes of the dimensions.
type overall struct {
	score  *float64
	passed *bool
	reason string
	// open are the dimensions whose absence decided or kept the verdict open.
	open []int
}

// conclude applies the strategy: thresholds are inclusive, and
// a dimension without a score counts only where it is a gate.
func (s *Scorer) conclude(dims []scored) overall {
	available := 0
	for _, d := range dims {
		if d.Score != nil {
			available++
		}
	}
	gate, failed := s.gates(dims)
	switch {
	case available == 0:
		return s.nothing(dims, gate)
	case gate >= 0:
		o := s.refuse(dims, fmt.Sprintf("dimension %s is a gate and has no score: %s", quoted(dims[gate].Key), dims[gate].Reason))
		if failed < 0 {
			o.open = s.openGates(dims)
		}
		return o
	case failed >= 0:
		d := s.dimensions[failed]
		return s.refuse(dims, fmt.Sprintf("dimension %s scored %.4f, below its threshold of %.4f",
			quoted(d.Key), *dims[failed].Score, *d.PassThreshold))
	}
	switch s.spec.Scorecard.Strategy {
	case Binary:
		return overall{score: new(1.0), passed: new(true)}
	case Hybrid:
		return s.hybrid(dims)
	}
	return s.threshold(dims, func(dimension) bool { return true })
}

// gates finds the first gate without a score and the first below its
// threshold, -1 for none. Under binary every dimension is a gate.
func (s *Scorer) gates(dims []scored) (unavailable, failed int) {
	unavailable, failed = -1, -1
	for i := range s.dimensions {
		d := &s.dimensions[i]
		switch {
		case !s.isGate(d):
		case dims[i].Score == nil:
			if unavailable < 0 {
				unavailable = i
			}
		case *dims[i].Score < *d.PassThreshold && failed < 0:
			failed = i
		}
	}
	return unavailable, failed
}

func (s *Scorer) isGate(d *dimension) bool {
	return d.Gate || s.spec.Scorecard.Strategy == Binary
}

func (s *Scorer) openGates(dims []scored) []int {
	var open []int
	for i := range s.dimensions {
		if s.isGate(&s.dimensions[i]) && dims[i].Score == nil {
			open = append(open, i)
		}
	}
	return open
}

// nothing is the verdict when no dimension has a score.
func (s *Scorer) nothing(dims []scored, gate int) overall {
	o := overall{reason: "no dimension has a score"}
	for i := range dims {
		o.open = append(o.open, i)
	}
	if s.spec.Scorecard.Strategy != Weighted {
		o.score = new(0.0)
	}
	if s.spec.Scorecard.Strategy != Weighted || gate >= 0 {
		o.passed = new(false)
	}
	return o
}

// refuse is the verdict of a gate: not passed, and the score 0 except under
// weighted, where it is the mean all the same.
func (s *Scorer) refuse(dims []scored, reason string) overall {
	o := overall{score: new(0.0), passed: new(false), reason: clipTo(reason, maxReason)}
	if s.spec.Scorecard.Strategy == Weighted {
		o.score = new(s.mean(dims, func(dimension) bool { return true }))
	}
	return o
}

// hybrid: the gates are met. Without any other dimension that is all; when
// there are others and none has a score, nothing says that the trial passed.
func (s *Scorer) hybrid(dims []scored) overall {
	var open []int
	others, available := 0, 0
	for i := range s.dimensions {
		if s.dimensions[i].Gate {
			continue
		}
		others++
		if dims[i].Score != nil {
			available++
		} else {
			open = append(open, i)
		}
	}
	switch {
	case others == 0:
		return overall{score: new(1.0), passed: new(true), reason: "every dimension is a gate and all are met"}
	case available == 0:
		return overall{passed: new(false), open: open, reason: "the gates are met, but no other dimension has a score"}
	}
	return s.threshold(dims, func(d dimension) bool { return !d.Gate })
}

// threshold compares the mean of the dimensions that are in with what is asked
// for. A judge that came to no score must not help a trial by its silence, which
// the agent may have brought about: where its score could have turned the
// verdict round the verdict is open, and not passed.
func (s *Scorer) threshold(dims []scored, in func(dimension) bool) overall {
	score := s.mean(dims, in)
	o := overall{score: &score, passed: new(true)}
	limit := s.spec.Scorecard.PassThreshold
	if limit == nil {
		return o
	}
	if score < *limit {
		*o.passed = false
		o.reason = fmt.Sprintf("the overall score %.4f is below the threshold of %.4f", score, *limit)
	}
	silent, worst, best := s.supposing(dims, in)
	if len(silent) > 0 && worst < *limit && best >= *limit {
		*o.passed, o.open = false, silent
		o.reason = clipTo(fmt.Sprintf("the verdict depends on dimension %s, which has no score: %s",
			quoted(dims[silent[0]].Key), dims[silent[0]].Reason), maxReason)
	}
	return o
}

// supposing is the mean if judges without a score had given the worst, and the
// best; silent are their dimensions.
func (s *Scorer) supposing(dims []scored, in func(dimension) bool) (silent []int, worst, best float64) {
	low, high := slices.Clone(dims), slices.Clone(dims)
	for i, d := range s.dimensions {
		if d.Source == SourceJudge && dims[i].Score == nil && in(d) {
			silent = append(silent, i)
			low[i].Score, high[i].Score = new(0.0), new(1.0)
		}
	}
	if len(silent) == 0 {
		return nil, 0, 0
	}
	return silent, s.mean(low, in), s.mean(high, in)
}

// mean is the weighted mean of the dimensions that have a score and are in;
// the plain mean when no weight is left.
func (s *Scorer) mean(dims []scored, in func(dimension) bool) float64 {
	var weights, weighted, sum, n float64
	for i, d := range s.dimensions {
		if dims[i].Score == nil || !in(d) {
			continue
		}
		weights += d.weight
		weighted += float64(d.weight * *dims[i].Score) // rounded, on every machine
		sum += *dims[i].Score
		n++
	}
	mean := sum / n
	if weights > 0 && finite(weights) {
		mean = weighted / weights
	}
	return min(max(mean, 0), 1)
}
