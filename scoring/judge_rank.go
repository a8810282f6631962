package scoring

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand"
	"strings"
)

// Group is what is ranked: the agents of a run on one case and repetition.
type Group struct {
	// Seed, CaseKey and Repetition decide the order in which candidates are
	// shown.
	Seed       int64
	CaseKey    string
	Repetition int
	// Trials are the evidence of the agents in lane order, without those that
	// are invalid.
	Trials []Evidence
	// Names are the agents' own names. Judges never see them.
	Names []string
}

// RankReply is what one trial's evidence keeps of a ranking.
func (g Group) RankReply(q Question, trial int, r JudgeReply) JudgeReply {
	r.JudgeKey, r.Model, r.Sample, r.QuestionID, r.Own = q.JudgeKey, q.Model, q.Sample, q.ids[trial], -1
	r.Candidates = make([]string, len(q.Shown))
	for place, i := range q.Shown {
		r.Candidates[place] = g.Names[i]
		if i == trial {
			r.Own = place
		}
	}
	return r
}

// NextRanking is the first question about a group that one of its trials has
// no reply to; ok is false when all is asked. A trial whose agent did not
// produce what the judge is shown is not ranked: it has lost already, and the
// others can be told apart without it. Fewer than two candidates are no
// ranking.
func (s *Scorer) NextRanking(g Group) (q Question, ok bool) {
	for i := range s.judges {
		j := &s.judges[i]
		if !j.used || j.Mode != judgeNWise {
			continue
		}
		candidates, shown := s.candidates(j, g)
		if len(candidates) < 2 {
			continue
		}
		ids := make([]string, len(g.Trials))
		for n, c := range candidates {
			ids[c] = j.questionID(shown[n])
		}
		for _, c := range candidates {
			model, sample, ok := s.open(s.trial(g.Trials[c]).replies(j, ids[c]), j, s.rankSamples(j, len(candidates)))
			if !ok {
				continue
			}
			order := j.order(g, sample, len(candidates))
			q := j.question(model, sample, lineup(order, shown))
			q.ids = ids
			for _, place := range order {
				q.Shown = append(q.Shown, candidates[place])
			}
			return q, true
		}
	}
	return Question{}, false
}

// Alone are the replies of judges that have a trial left without a rival: the
// agents of all others had nothing to show. The trial comes first, unasked.
func (s *Scorer) Alone(g Group) (trial int, replies []JudgeReply) {
	for i := range s.judges {
		j := &s.judges[i]
		if !j.used || j.Mode != judgeNWise || len(g.Trials) < 2 {
			continue
		}
		if candidates, shown := s.candidates(j, g); len(candidates) == 1 {
			trial = candidates[0]
			replies = append(replies, JudgeReply{JudgeKey: j.Key, QuestionID: j.questionID(shown[0]), Status: JudgeAlone, Own: 0,
				Reason: "no other agent has anything to show", Candidates: []string{g.Names[trial]}})
		}
	}
	return trial, replies
}

// rankSamples is how often each model ranks n candidates. With
// position_debiasing it is a multiple of n, as far as the bounds allow, so that
// each stands in each place equally often.
func (s *Scorer) rankSamples(j *judge, n int) int {
	declared := s.samples(j)
	if !j.PositionDebiasing || n < 2 {
		return declared
	}
	most := maxJudgeSamples
	if limit := s.JudgeLimits().MaxSamplesPerJudge; limit > 0 {
		most = min(most, limit)
	}
	even := (declared + n - 1) / n * n
	for even > most {
		even -= n
	}
	if even <= 0 {
		return declared
	}
	return even
}

// Ranks says whether the spec ranks agents.
func (s *Scorer) Ranks() bool {
	for i := range s.judges {
		if s.judges[i].used && s.judges[i].Mode == judgeNWise {
			return true
		}
	}
	return false
}

// candidates are the trials that can be ranked, and what is shown of each.
// What is missing for any other reason than the agent is missing for all.
func (s *Scorer) candidates(j *judge, g Group) (candidates []int, shown [][]piece) {
	for i, ev := range g.Trials {
		pieces, lack := s.trial(ev).shown(j)
		switch {
		case lack.state == Available:
			candidates, shown = append(candidates, i), append(shown, pieces)
		case lack.cause != causeAgent:
			return nil, nil
		}
	}
	return candidates, shown
}

// lineup is what the candidates show, one after the other, under names that say
// nothing but their place.
func lineup(order []int, shown [][]piece) []piece {
	names := candidateNames(len(order))
	all := []piece{{"candidates", strings.Join(names, ", ")}}
	for place, i := range order {
		for _, p := range shown[i] {
			all = append(all, piece{fmt.Sprintf("candidate %s, %s", names[place], p.name), p.text})
		}
	}
	return all
}

func candidateNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = CandidateName(i)
	}
	return names
}

// CandidateName is what a ranking calls the candidate in a place, from 0: A, B,
// ... and from the 27th on C27, C28, ...
func CandidateName(place int) string {
	if place < 0 || place >= 26 {
		return fmt.Sprintf("C%d", place+1)
	}
	return string(rune('A' + place))
}

// order is the order in which n candidates are shown in a sample. With
// position_debiasing each stands in each place once in n samples; without, the
// order is drawn, and the same for all models.
func (j *judge) order(g Group, sample, n int) []int {
	if j.PositionDebiasing {
		return rotated(n, sample-1)
	}
	seed := binary.LittleEndian.AppendUint64(nil, uint64(g.Seed))
	seed = binary.LittleEndian.AppendUint64(seed, uint64(g.Repetition))
	return shuffled(append(seed, g.CaseKey...), j.Key, sample-1, n)
}

func rotated(n, by int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = (i + by) % n
	}
	return order
}

// shuffled draws an order: FNV-1a over the seed, the judge's key and the
// sample, from 0, as four bytes, is the seed of math/rand's first generator.
func shuffled(seed []byte, key string, sample, n int) []int {
	h := fnv.New64a()
	h.Write(seed)
	h.Write([]byte(key))
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(sample)))
	order := rotated(n, 0)
	rand.New(rand.NewSource(int64(h.Sum64()))).Shuffle(n, func(i, k int) { order[i], order[k] = order[k], order[i] })
	return order
}
