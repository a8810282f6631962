package scoring

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"
)

// Bounds of a judge's question.
const (
	maxEvidence    = 96 << 10  // bytes of one piece of evidence
	maxEvidenceAll = 256 << 10 // of all of them
	minEvidence    = 512       // of a piece; with less a judge sees nothing
	judgeTimeout   = time.Minute
	judgeMaxOutput = 4096 // tokens of one reply
	// questionSlack is what a provider may add to a prompt, in tokens.
	questionSlack = 64
)

// Question is one call to one model of a judge. Asking it is for whoever calls
// models; what comes back is evidence, as a [JudgeReply].
type Question struct {
	JudgeKey string
	Mode     string
	Model    string // as the spec names it: see [ModelProvider]
	Sample   int    // from 1, of this model
	// ID names what is asked: a reply to another question is no evidence. The
	// question of a ranking has none, since each trial has its own.
	ID     string
	Prompt string // the one message of the call
	// Shown are the candidates of a ranking, in the order of the prompt, as
	// indexes into the group that is ranked.
	Shown           []int
	Timeout         time.Duration // of the call
	MaxOutputTokens int64         // of the reply

	ids    []string // of a ranking, by trial of the group
	pieces []piece  // the evidence, whole
	around func(evidence string) string
}

// MaxInputTokens is what the prompt may come to at most: no tokenizer makes
// more tokens of a text than it has bytes.
func (q Question) MaxInputTokens() int64 { return int64(len(q.Prompt)) + questionSlack }

// JudgeReply is what came of one question. The text is the model's and can say
// anything.
type JudgeReply struct {
	JudgeKey   string
	Model      string // as the spec names it
	Sample     int
	QuestionID string
	Status     string // one of the Judge constants
	Text       string // of an answer
	Code       string // of a call that failed or was refused
	Reason     string // why there is no answer
	// Candidates are those of a ranking by name, in the order of the prompt,
	// and Own is the place of this trial's among them, from 0; -1 for none.
	Candidates []string
	Own        int
	// Late says that others of them were ranked before, without this trial.
	Late   bool
	Source Source
}

// What can come of a question.
const (
	JudgeAnswered = "answered"
	JudgeFailed   = "failed"          // the model could not be reached
	JudgeUnable   = "unable_to_judge" // a budget is used up, or, with a code, the model's provider refuses the evidence
	JudgeAlone    = "alone"           // there is nobody left to rank the trial with
)

// JudgeLimits are the spec's caps on what judges may use for one trial.
func (s *Scorer) JudgeLimits() JudgeLimits {
	if l := s.spec.Scorecard.JudgeLimits; l != nil {
		return *l
	}
	return JudgeLimits{}
}

// JudgeModels are the models that judges ask, as the spec names them, each
// once. A judge that no dimension reads is never asked.
func (s *Scorer) JudgeModels() []string {
	var out []string
	for i := range s.judges {
		if !s.judges[i].used {
			continue
		}
		for _, m := range s.judges[i].models() {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// JudgeCalls are the most questions that are asked about one trial, and about
// one group of so many agents that are ranked.
func (s *Scorer) JudgeCalls(agents int) (trial, group int) {
	for i := range s.judges {
		switch j := &s.judges[i]; {
		case !j.used:
		case j.Mode == judgeNWise:
			group += len(j.models()) * s.rankSamples(j, agents)
		default:
			trial += len(j.models()) * s.samples(j)
		}
	}
	return trial, group
}

// SmallestQuestions are questions without evidence, one for each judge and model:
// no real one uses less.
func (s *Scorer) SmallestQuestions() []Question {
	var list []Question
	for i := range s.judges {
		j := &s.judges[i]
		for _, model := range j.models() {
			if j.used {
				list = append(list, j.question(model, 1, nil))
			}
		}
	}
	return list
}

// NextQuestion is the first question about a trial that its evidence has no
// reply to; ok is false when all is asked. What a judge cannot be shown is not
// asked, and rankings are no question about one trial: see [Scorer.NextRanking].
func (s *Scorer) NextQuestion(ev Evidence) (q Question, ok bool) {
	t := s.trial(ev)
	for i := range s.judges {
		j := &s.judges[i]
		if !j.used || j.Mode == judgeNWise {
			continue
		}
		pieces, lack := t.shown(j)
		if lack.state != Available {
			continue
		}
		id := j.questionID(pieces)
		if model, sample, ok := s.open(t.replies(j, id), j, s.samples(j)); ok {
			q := j.question(model, sample, pieces)
			q.ID = id
			return q, true
		}
	}
	return Question{}, false
}

func (j *judge) question(model string, sample int, pieces []piece) Question {
	q := Question{JudgeKey: j.Key, Mode: j.Mode, Model: model, Sample: sample, Timeout: judgeTimeout, MaxOutputTokens: judgeMaxOutput,
		pieces: pieces, around: j.envelope}
	if j.TimeoutMS != nil {
		q.Timeout = time.Duration(min(*j.TimeoutMS, int64(time.Hour/time.Millisecond))) * time.Millisecond
	}
	q.Prompt = q.around(fenced(cutTo(pieces, maxEvidenceAll)))
	return q
}

// Within is the question with so much of its evidence cut out that its prompt
// comes to no more tokens; ok is false when too little would be left of it.
func (q Question) Within(tokens int64) (fits Question, ok bool) {
	for room := maxEvidenceAll; room >= minEvidence*len(q.pieces); room = room / 4 * 3 {
		q.Prompt = q.around(fenced(cutTo(q.pieces, room)))
		if q.MaxInputTokens() <= tokens {
			return q, true
		}
		if len(q.pieces) == 0 {
			break
		}
	}
	return Question{}, false
}

// Unreached says that a model which was to be heard was not, for a call failed.
// Rankings are left out.
func (s *Scorer) Unreached(ev Evidence) bool {
	t := s.trial(ev)
	for i := range s.judges {
		if j := &s.judges[i]; j.used && j.Mode != judgeNWise && t.opinion(s, j).unreached {
			return true
		}
	}
	return false
}

// Reopen are the replies that stand when a trial's judges are asked once more:
// all those to a judge that came to a score, and of the others those that say
// something. NextQuestion then asks for the rest.
func (s *Scorer) Reopen(ev Evidence) []JudgeReply {
	t := s.trial(ev)
	var stand []JudgeReply
	for i := range s.judges {
		j := &s.judges[i]
		scored := t.opinion(s, j).State == Available
		for _, r := range ev.JudgeReplies {
			if r.JudgeKey == j.Key && (scored || j.heard(r)) {
				stand = append(stand, r)
			}
		}
	}
	return stand
}

// Heard says that a reply says something: a score, or that there can be none.
func (s *Scorer) Heard(r JudgeReply) bool {
	i := slices.IndexFunc(s.judges, func(j judge) bool { return j.Key == r.JudgeKey })
	return i >= 0 && s.judges[i].heard(r)
}

func (j *judge) heard(r JudgeReply) bool {
	if r.Status != JudgeAnswered {
		return r.Status == JudgeAlone
	}
	c := j.call(r)
	return c.Score != nil || c.Unable
}

// sample names a reply among those to one question.
type sample struct {
	model string
	index int
}

// replies are those to one question. Of several to a sample the first that says
// something counts, else the last: what was answered once is never taken back.
func (t *trial) replies(j *judge, id string) map[sample]JudgeReply {
	found := map[sample]JudgeReply{}
	for _, r := range t.ev.JudgeReplies {
		if r.JudgeKey != j.Key || r.QuestionID != id {
			continue
		}
		at := sample{r.Model, r.Sample}
		if before, ok := found[at]; !ok || !j.heard(before) {
			found[at] = r
		}
	}
	return found
}

// open is the first sample of a judge that there is no reply for.
func (s *Scorer) open(replies map[sample]JudgeReply, j *judge, samples int) (model string, index int, ok bool) {
	for _, model := range j.models() {
		for i := 1; i <= samples; i++ {
			reply, asked := replies[sample{model, i}]
			if !asked {
				return model, i, true
			}
			if i == 1 && j.ConfirmOnFail && j.sure(reply) {
				break
			}
		}
	}
	return "", 0, false
}

// sure says that a first sample needs no other to confirm it.
func (j *judge) sure(r JudgeReply) bool {
	c := j.call(r)
	return c.Score != nil && *c.Score >= j.mark
}

func (j *judge) models() []string {
	if j.Model != "" {
		return []string{j.Model}
	}
	return j.Models
}

// samples is how often each model of a judge is asked at most.
func (s *Scorer) samples(j *judge) int {
	n := min(j.Samples, maxJudgeSamples)
	if most := s.JudgeLimits().MaxSamplesPerJudge; most > 0 {
		n = min(n, most)
	}
	return n
}

// prepareJudges keeps the judges of a valid spec, before dimensions say which of
// them they read and from which score on they pass. A model that is named twice
// is one model.
func (s *Scorer) prepareJudges(judges []judge) {
	s.judges = slices.Clone(judges)
	for i := range s.judges {
		j := &s.judges[i]
		j.mark = passMark
		var once []string
		for _, m := range j.Models {
			if !slices.Contains(once, m) {
				once = append(once, m)
			}
		}
		j.Models = once
	}
}

// passMark is the share from which a score counts as a pass where nothing else
// is said: in consensus, and for confirm_on_fail.
const passMark = 0.5

// questionVersion is raised when the prompt around a question changes so much
// that replies to the one before are no replies to it.
const questionVersion = 1

// questionID names what the pack and the trial make of a question: all that the
// judge is told to do and, whole, all that it is shown. Our own words around it
// are left out, so that a better wording takes no reply away.
func (j *judge) questionID(pieces []piece) string {
	asked := []any{questionVersion, j.Mode, j.Rubric, j.Assertion, j.Prompt, j.scale(), j.AntiGamingClauses, string(j.OutputSchema)}
	for _, p := range pieces {
		asked = append(asked, p.name, p.text)
	}
	h := sha256.New()
	for _, part := range asked {
		text := fmt.Sprint(part)
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// shown resolves what a judge is shown of a trial.
func (t *trial) shown(j *judge) ([]piece, resolved) {
	var pieces []piece
	for _, e := range j.evidence {
		r := t.resolve(e.ref)
		if r.state != Available {
			r.reason = clipTo(fmt.Sprintf("%s: %s", quoted(e.name), r.reason), maxReason)
			return nil, r
		}
		pieces = append(pieces, piece{e.name, r.text})
	}
	return pieces, found("")
}
