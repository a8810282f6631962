package session

import (
	"strings"

	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/scoring/stats"
)

// Builder takes in the runs of a session. It is not safe for concurrent use.
type Builder struct {
	dimensions   []scoring.Dimension
	participants []*participant // in the order in which they came
	byLabel      map[string]*participant
	cases        []caseKey // in the order in which they came
	places       map[caseKey]int
	repetitions  int
}

// NewBuilder starts a session whose runs were scored by spec.
func NewBuilder(spec scoring.Spec) *Builder {
	b := &Builder{byLabel: map[string]*participant{}, places: map[caseKey]int{}}
	for _, d := range spec.Normalize().Scorecard.Dimensions {
		b.dimensions = append(b.dimensions, scoring.Dimension{Key: d.Key, Source: d.Source})
	}
	return b
}

// Lane is a run agent of one of the runs. Those of the same label are one
// participant, whatever the case of letters.
type Lane struct {
	Label      string
	Index      int
	Model      string
	Deployment string // what tells deployments apart
	Planned    int    // trials
	// Cases are the planned ones: their keys and the digests of what they are.
	Cases       []Case
	Repetitions int
}

// Case is a planned case. The same key with another digest is another case.
type Case struct{ Key, Digest string }

type caseKey Case

// participant is an agent over all runs that it takes part in.
type participant struct {
	label       string
	index       int
	model       string
	deployments map[string]bool
	runs        int
	planned     int
	expected    int // repetitions
	counts      map[int]*count
	passes      []*pass
}

// count is how the trials of one case ended.
type count struct{ passed, failed, invalid int }

func (c *count) tally() stats.Tally {
	if c == nil {
		return stats.Tally{}
	}
	return stats.Tally{Passed: c.passed, Trials: c.passed + c.failed}
}

// pass is one repetition of one run: every case once.
type pass struct {
	trials     int // valid
	overall    sum
	dimensions []sum
	cost       sum
	unpriced   bool
	latency    sum
}

type sum struct {
	total float64
	n     int
}

func (s *sum) add(v float64) { s.total += v; s.n++ }

func (s *sum) mean() float64 { return s.total / float64(s.n) }

// Joined takes in the trials of a lane.
type Joined struct {
	b      *Builder
	of     *participant
	places map[string]int // of the lane's cases
	passes map[int]*pass
	spec   scoring.Spec
}

// Join starts a lane.
func (b *Builder) Join(l Lane) *Joined {
	fold := strings.ToLower(l.Label)
	p := b.byLabel[fold]
	if p == nil {
		p = &participant{label: l.Label, index: l.Index, model: l.Model, deployments: map[string]bool{}, counts: map[int]*count{}}
		b.participants, b.byLabel[fold] = append(b.participants, p), p
	}
	p.deployments[l.Deployment] = true
	p.runs, p.planned, p.expected = p.runs+1, p.planned+l.Planned, p.expected+l.Repetitions
	b.repetitions = max(b.repetitions, p.expected)
	j := &Joined{b: b, of: p, places: make(map[string]int, len(l.Cases)), passes: map[int]*pass{}}
	j.spec.Scorecard.Dimensions = b.dimensions
	for _, c := range l.Cases {
		j.places[c.Key] = b.place(caseKey(c))
	}
	return j
}

// Repetitions is the most that a participant was planned to have, over its runs.
func (b *Builder) Repetitions() int { return b.repetitions }

func (b *Builder) place(k caseKey) int {
	at, ok := b.places[k]
	if !ok {
		at = len(b.cases)
		b.cases, b.places[k] = append(b.cases, k), at
	}
	return at
}

// Count takes in how a case's trials ended, for who needs no scores.
func (j *Joined) Count(key string, passed, failed, invalid int) {
	c := j.count(key)
	c.passed, c.failed, c.invalid = c.passed+passed, c.failed+failed, c.invalid+invalid
}

func (j *Joined) count(key string) *count {
	at, ok := j.places[key]
	if !ok {
		at = j.b.place(caseKey{Key: key})
		j.places[key] = at
	}
	c := j.of.counts[at]
	if c == nil {
		c = new(count)
		j.of.counts[at] = c
	}
	return c
}

// Add takes in the attempt that decides a trial. One without an outcome has not
// ended, and counts as nothing.
func (j *Joined) Add(t scoring.Trial) {
	switch t.Outcome {
	case scoring.OutcomePassed:
		j.count(t.CaseKey).passed++
	case scoring.OutcomeFailed:
		j.count(t.CaseKey).failed++
	case scoring.OutcomeInvalid:
		j.count(t.CaseKey).invalid++
		return
	default:
		return
	}
	p := j.passes[t.Repetition]
	if p == nil {
		p = &pass{dimensions: make([]sum, len(j.b.dimensions))}
		j.passes[t.Repetition], j.of.passes = p, append(j.of.passes, p)
	}
	p.add(j.spec, t)
}

// add lets scoring say what a valid trial contributes to its agent's scorecard.
func (p *pass) add(spec scoring.Spec, t scoring.Trial) {
	p.trials++
	part := scoring.Aggregate(spec, []scoring.Trial{t}, 0)
	if part.OverallScore != nil {
		p.overall.add(*part.OverallScore)
	}
	for i, d := range part.Dimensions {
		if d.Score != nil {
			p.dimensions[i].add(*d.Score)
		}
	}
	if t.CostUSD == nil {
		p.unpriced = true
	} else {
		p.cost.add(*t.CostUSD)
	}
	if t.LatencyMS != nil {
		p.latency.add(float64(*t.LatencyMS))
	}
}
