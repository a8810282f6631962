package scoring

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Bounds of a judge's question.
const (
	maxEvidence    = 96 << 10  // bytes of one piece of evidence
	maxEvidenceAll = 256 << 10 // of all of them
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
	// ID names what is asked: a reply to another question is no evidence.
	ID     string
	Prompt string // the one message of the call
	// Shown are the candidates of a ranking, in the order of the prompt, as
	// indexes into the group that is ranked.
	Shown           []int
	Timeout         time.Duration // of the call
	MaxOutputTokens int64         // of the reply
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
	Code       string // of a failed call
	Reason     string // why there is no answer
	// Candidates are those of a ranking by name, in the order of the prompt,
	// and Own is the place of this trial's among them, from 0; -1 for none.
	Candidates []string
	Own        int
	Source     Source
}

// What can come of a question.
const (
	JudgeAnswered = "answered"
	JudgeFailed   = "failed"          // the model could not be reached
	JudgeUnable   = "unable_to_judge" // it was not asked: a budget is used up
)

// JudgeLimits are the spec's caps on what judges may use for one trial.
func (s *Scorer) JudgeLimits() JudgeLimits {
	if l := s.spec.Scorecard.JudgeLimits; l != nil {
		return *l
	}
	return JudgeLimits{}
}

// JudgeModels are the models that judges ask, as the spec names them, each
// once.
func (s *Scorer) JudgeModels() []string {
	var out []string
	for i := range s.judges {
		for _, m := range s.judges[i].models() {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// JudgeCalls are the most questions that are asked about one trial, and about
// one group of trials that are ranked.
func (s *Scorer) JudgeCalls() (trial, group int) {
	for i := range s.judges {
		j := &s.judges[i]
		if n := len(j.models()) * s.samples(j); j.Mode == judgeNWise {
			group += n
		} else {
			trial += n
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
			list = append(list, j.question(model, 1, j.envelope("")))
		}
	}
	return list
}

// NextQuestion is the first question about a trial that its evidence has no
// reply to; ok is false when all is asked. What a judge cannot be shown is not
// asked, and rankings are no question about one trial: see [Scorer.NextRanking].
func (s *Scorer) NextQuestion(ev Evidence) (q Question, ok bool) {
	t := &trial{ev: ev, captures: len(s.spec.PostExecutionChecks) > 0}
	for i := range s.judges {
		j := &s.judges[i]
		if j.Mode == judgeNWise {
			continue
		}
		prompt, lack := t.prompt(j)
		if lack.state != Available {
			continue
		}
		if model, sample, ok := s.open(ev, j, questionID(prompt)); ok {
			return j.question(model, sample, prompt), true
		}
	}
	return Question{}, false
}

func (j *judge) question(model string, sample int, prompt string) Question {
	q := Question{JudgeKey: j.Key, Mode: j.Mode, Model: model, Sample: sample, ID: questionID(prompt), Prompt: prompt,
		Timeout: judgeTimeout, MaxOutputTokens: judgeMaxOutput}
	if j.TimeoutMS != nil {
		q.Timeout = time.Duration(min(*j.TimeoutMS, int64(time.Hour/time.Millisecond))) * time.Millisecond
	}
	return q
}

// Unreached says that a call to a judge failed, so that a model which was to be
// heard was not. Rankings are left out.
func (s *Scorer) Unreached(ev Evidence) bool {
	t := &trial{ev: ev, captures: len(s.spec.PostExecutionChecks) > 0}
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
	t := &trial{ev: ev, captures: len(s.spec.PostExecutionChecks) > 0}
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

// heard says that a reply says something.
func (j *judge) heard(r JudgeReply) bool {
	c := j.call(r)
	return c.Score != nil || c.Unable && r.Status == JudgeAnswered
}

// open is the first sample of a judge that there is no reply for.
func (s *Scorer) open(ev Evidence, j *judge, id string) (model string, sample int, ok bool) {
	for _, model := range j.models() {
		for sample := 1; sample <= s.samples(j); sample++ {
			reply := ev.reply(j.Key, model, sample, id)
			if reply == nil {
				return model, sample, true
			}
			if sample == 1 && j.ConfirmOnFail && j.sure(*reply) {
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

// reply is the last reply to a sample of a question, nil when there is none.
func (ev *Evidence) reply(key, model string, sample int, id string) *JudgeReply {
	for i := len(ev.JudgeReplies) - 1; i >= 0; i-- {
		r := &ev.JudgeReplies[i]
		if r.JudgeKey == key && r.Model == model && r.Sample == sample && r.QuestionID == id {
			return r
		}
	}
	return nil
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

// prepareJudges keeps the judges of a valid spec. A model that is named twice
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

func questionID(prompt string) string {
	sum := sha256.Sum256([]byte(prompt))
	return hex.EncodeToString(sum[:16])
}

// shown resolves what a judge is shown of a trial, which is one of so many that
// it is shown at once.
func (t *trial) shown(j *judge, of int) ([]piece, resolved) {
	var pieces []piece
	room := min(maxEvidence, maxEvidenceAll/max(len(j.evidence)*of, 1))
	for _, e := range j.evidence {
		r := t.resolve(e.ref)
		if r.state != Available {
			r.reason = clipTo(fmt.Sprintf("%s: %s", quoted(e.name), r.reason), maxReason)
			return nil, r
		}
		pieces = append(pieces, newPiece(e.name, r.text, room))
	}
	return pieces, found("")
}

// prompt is the whole question of a judge about one trial.
func (t *trial) prompt(j *judge) (string, resolved) {
	pieces, lack := t.shown(j, 1)
	if lack.state != Available {
		return "", lack
	}
	return j.envelope(fenced(pieces)), lack
}

// rankingID names what a ranking asks. Its prompt is made of several trials,
// which the evidence of one cannot tell.
func (j *judge) rankingID() string {
	b, err := json.Marshal([]any{j.Mode, j.Prompt, j.ContextFrom, j.AntiGamingClauses, j.OutputSchema})
	if err != nil {
		b = []byte(j.Prompt) // a schema that compiled is JSON
	}
	return questionID(string(b))
}
