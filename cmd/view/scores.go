package view

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// Signal is the score of one behavioral signal of a trial.
type Signal struct {
	Key           string          `json:"key"`
	State         scoring.State   `json:"state"`
	Score         *float64        `json:"score"`
	Weight        float64         `json:"weight"`
	Gate          bool            `json:"gate"`
	PassThreshold *float64        `json:"pass_threshold"`
	Reason        string          `json:"reason"`
	Source        *scoring.Source `json:"source"` // null for a score of 1
}

// Metric is the value of one metric. Metadata is what it was worked out from,
// null for most.
type Metric struct {
	Key      string          `json:"key"`
	State    scoring.State   `json:"state"`
	Value    any             `json:"value"`
	Unit     string          `json:"unit"`
	Reason   string          `json:"reason"`
	Metadata json.RawMessage `json:"metadata"`
	Source   *scoring.Source `json:"source"`
}

// text is the value with its unit, or that there is none.
func (m Metric) text() string {
	if m.State != scoring.Available {
		return string(m.State)
	}
	value := fmt.Sprint(m.Value)
	if v, ok := m.Value.(float64); ok {
		value = strconv.FormatFloat(v, 'g', 6, 64)
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			value = Tokens(int64(v))
		}
	}
	if m.Unit != "" {
		value += " " + m.Unit
	}
	return value
}

// at says which event explains a result, as the replay numbers them; "" when
// none does.
func at(s *scoring.Source) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("event %d (%s)", s.Sequence, s.EventType)
}

// pricedBy says by whose prices a cost is, "" for one that is unknown.
func pricedBy(source, asOf string) string {
	list := "list prices"
	if asOf != "" {
		list += " of " + asOf
	}
	switch source {
	case scoring.PricePack:
		return "prices of the pack"
	case scoring.PriceTable:
		return list
	case scoring.PriceReported:
		return "what the agent reports"
	case scoring.PriceMixed:
		return "prices of the pack and " + list
	}
	return ""
}

// scores writes all that scoring says of one trial.
func (p *printer) scores(t Trial) {
	if len(t.Dimensions)+len(t.Validators)+len(t.Metrics) == 0 {
		return
	}
	p.blank()
	title := "Scores"
	if t.Outcome == scoring.OutcomeInvalid {
		title += ", left out: the trial is invalid"
	}
	p.title(title)
	for _, d := range t.Dimensions {
		p.result(2, d.Value.result(d.Key))
	}
	for _, v := range some(p.o, t.Validators) {
		p.result(2, v.result())
	}
	p.more(len(t.Validators))
	for _, j := range t.Judges {
		p.opinions(2, j)
	}
	for _, s := range t.Signals {
		p.result(2, s.result())
	}
	for _, m := range some(p.o, t.Metrics) {
		p.result(2, m.result())
	}
	p.more(len(t.Metrics))
	p.security(2, t)
	for _, w := range t.Warnings {
		p.text(2, "warning: "+w)
	}
}

// some is the first part of a list on a terminal and all of it elsewhere.
func some[T any](o Options, list []T) []T {
	if o.brief() {
		return list[:min(len(list), maxUnpassed)]
	}
	return list
}

// result is what is told of one result in a line or two.
type result struct {
	name, kind, word string
	beside           string // the verdict: a score, a gate
	source           *scoring.Source
	reason           string
}

// result writes what a result is called, how it came out and by which event,
// which is given a line of its own where there is no room; then the reason.
func (p *printer) result(indent int, r result) {
	head := strings.Repeat(" ", indent) + SanitizeLine(r.name) + " (" + SanitizeLine(r.kind) + "): " +
		StatusStyle(r.word).Paint(SanitizeLine(r.word), p.o.Color) + r.beside
	event := SanitizeLine(at(r.source))
	fits := !p.o.Terminal() || Width(head)+2+Width(event) <= p.o.Width
	if event != "" && fits {
		head += ", " + event
	}
	p.line(head)
	if event != "" && !fits {
		p.text(indent+2, event)
	}
	if r.reason != "" {
		p.text(indent+2, r.reason)
	}
}

func (v Validator) result() result {
	r := result{name: v.Key, kind: v.Type, word: v.word(), source: v.Source, reason: v.Reason}
	if s := v.NormalizedScore; s != nil && *s > 0 && *s < 1 {
		r.beside = " with " + Score(s)
	}
	return r
}

func (d TrialDimension) result(key string) result {
	return result{name: key, kind: "dimension", word: scored(d.State, d.Score), source: d.Event, reason: d.Reason}
}

func (s Signal) result() result {
	r := result{name: s.Key, kind: "signal", word: scored(s.State, s.Score), source: s.Source, reason: s.Reason}
	if s.Gate {
		r.beside = ", gate at " + Score(s.PassThreshold)
	}
	return r
}

func (m Metric) result() result {
	return result{name: m.Key, kind: "metric", word: m.text(), source: m.Source, reason: m.Reason}
}

// scored is a score, or the state in place of one.
func scored(state scoring.State, score *float64) string {
	if state != scoring.Available {
		return string(state)
	}
	return Score(score)
}
