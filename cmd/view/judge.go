package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// Judge is what a judge's replies about one trial come to.
type Judge struct {
	Key             string           `json:"judge_key"`
	Mode            string           `json:"mode"`
	State           scoring.State    `json:"state"`
	NormalizedScore *float64         `json:"normalized_score"`
	Confidence      string           `json:"confidence"`
	Variance        *float64         `json:"variance"`
	Spread          *float64         `json:"spread"`
	SampleCount     int              `json:"sample_count"`
	ModelCount      int              `json:"model_count"`
	UnableCount     int              `json:"unable_to_judge_count"`
	Reason          string           `json:"reason"`
	Warnings        List[string]     `json:"warnings"`
	Models          List[JudgeModel] `json:"models"`
	Calls           List[JudgeCall]  `json:"calls"`
	Source          *scoring.Source  `json:"source"`
}

// JudgeModel is what one model of a judge came to.
type JudgeModel struct {
	Model   string   `json:"model"`
	Score   *float64 `json:"score"`
	Samples int      `json:"samples"`
}

// JudgeCall is one sample of a judge.
type JudgeCall struct {
	Model      string          `json:"model"`
	Sample     int             `json:"sample_index"`
	Score      *float64        `json:"score"`
	Confidence string          `json:"confidence"`
	Reasoning  string          `json:"reasoning"`
	Error      string          `json:"error"`
	Unable     bool            `json:"unable_to_judge"`
	Source     *scoring.Source `json:"source"`
}

func newJudge(j scoring.JudgeResult) Judge {
	out := Judge{
		Key: j.Key, Mode: j.Mode, State: j.State, NormalizedScore: j.NormalizedScore, Confidence: j.Confidence, Variance: j.Variance,
		Spread: j.Spread, SampleCount: j.SampleCount, ModelCount: j.ModelCount, UnableCount: j.UnableCount, Reason: j.Reason,
		Warnings: j.Warnings, Source: j.Source,
	}
	for _, m := range j.Models {
		out.Models = append(out.Models, JudgeModel(m))
	}
	for _, c := range j.Calls {
		out.Calls = append(out.Calls, JudgeCall(c))
	}
	return out
}

func (j Judge) result() result {
	r := result{name: j.Key, kind: j.Mode + " judge", word: scored(j.State, j.NormalizedScore), source: j.Source, reason: j.Reason}
	if j.State == scoring.Available {
		r.beside = ", confidence " + j.Confidence
		if j.Spread != nil {
			r.beside += ", models " + Score(j.Spread) + " apart"
		}
	}
	return r
}

// opinions writes what each sample of a judge says, and the warnings.
func (p *printer) opinions(indent int, j Judge) {
	p.result(indent, j.result())
	for _, c := range some(p.o, j.Calls) {
		what := Score(c.Score)
		if c.Error != "" {
			what = c.Error
		}
		p.text(indent+2, because(fmt.Sprintf("%s, sample %d: %s", c.Model, c.Sample, what), c.Reasoning))
	}
	p.more(len(j.Calls))
	for _, w := range j.Warnings {
		if !j.said(w) {
			p.text(indent+2, "warning: "+w)
		}
	}
}

// said tells whether a warning only repeats what a sample's line says.
func (j Judge) said(warning string) bool {
	for _, c := range j.Calls {
		if c.Error != "" && strings.HasSuffix(warning, "sample "+strconv.Itoa(c.Sample)+": "+c.Error) {
			return true
		}
	}
	return false
}

// judging says what an agent's judges were asked, "" for nothing.
func judging(j *scoring.Judging) string {
	if j == nil {
		return ""
	}
	tokens := Tokens(j.Tokens) + " tokens"
	if j.Tokens == 0 {
		tokens = "tokens unknown"
	}
	return fmt.Sprintf("%s, %s, %s", count(j.Calls, "call"), tokens, USD(j.CostUSD))
}

func describeJudge(e event.Event) (string, error) {
	if e.Type == event.JudgeStarted {
		return told(e, func(v event.JudgeCall) string {
			return fmt.Sprintf("%s asks %s/%s, sample %d", v.JudgeKey, v.ProviderKey, v.Model, v.SampleIndex)
		})
	}
	return told(e, func(v event.JudgeReply) string {
		s := fmt.Sprintf("%s, %s, sample %d", v.JudgeKey, v.JudgeModel, v.SampleIndex)
		if v.Status != scoring.JudgeAnswered {
			return because(s+", "+v.Status, excerpt(v.Reason))
		}
		if v.OwnPlace != nil {
			s += ", shown as " + scoring.CandidateName(*v.OwnPlace)
		}
		if v.Usage != nil && !v.Shared {
			s += ", " + Tokens(v.Usage.Input) + " in, " + Tokens(v.Usage.Output) + " out"
		}
		if v.Cached {
			s += ", cached"
		}
		return because(s, excerpt(v.ResponseText))
	})
}

func judgeCalls(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + count(n, "judge call")
}
