package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/agentclash/agentclash/scoring"
)

// Evidence is read with more patience than it is written: an event may come
// from another engine. A payload that is no object has no members, and a member
// of the wrong kind is as good as absent; only a payload that is no JSON at all
// is an error.

// members reads the members that evidence looks at.
func members[T any](e Event) (T, error) {
	var v T
	raw := bytes.TrimSpace(e.Payload)
	if len(raw) == 0 {
		return v, nil
	}
	if raw[0] != '{' {
		if !json.Valid(raw) {
			return v, errors.New("the payload is not JSON")
		}
		return v, nil
	}
	err := json.Unmarshal(raw, &v)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		err = nil // the member keeps its zero value
	}
	return v, err
}

// text is a text inside any JSON value, nil when there is none.
type text struct{ s *string }

// UnmarshalJSON never fails: it is only given valid JSON.
func (t *text) UnmarshalJSON(raw []byte) error {
	if s, ok := scoring.LooseText(raw); ok {
		t.s = &s
	}
	return nil
}

func (t text) String() string {
	if t.s == nil {
		return ""
	}
	return *t.s
}

// count is a whole number of at least 0, nil for anything else.
type count struct{ n *int64 }

// maxCount is the largest number that every JSON reader gets right.
const maxCount = 1 << 53

// UnmarshalJSON never fails: it is only given valid JSON.
func (c *count) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err == nil && f >= 0 && f <= maxCount {
		c.n = new(int64(f))
	}
	return nil
}

func (c count) value() int64 {
	if c.n == nil {
		return 0
	}
	return *c.n
}

// amount is a sum of money of at least 0, nil for anything else.
type amount struct{ f *float64 }

// UnmarshalJSON never fails: it is only given valid JSON.
func (a *amount) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err == nil && f >= 0 && f <= maxCount {
		a.f = &f
	}
	return nil
}

// tokens are counts of tokens as events carry them.
type tokens struct {
	Input  count `json:"input_tokens"`
	Output count `json:"output_tokens"`
	Total  count `json:"total_tokens"`
}

func (t tokens) known() bool { return t.Input.n != nil || t.Output.n != nil || t.Total.n != nil }

// or takes what t does not say from other.
func (t tokens) or(other tokens) tokens {
	return tokens{cmp.Or(t.Input, other.Input), cmp.Or(t.Output, other.Output), cmp.Or(t.Total, other.Total)}
}

// plus adds two counts without running over.
func plus(a, b int64) int64 {
	if a > maxCount-b {
		return maxCount
	}
	return a + b
}

// Gather builds the evidence of one attempt from its events, in whatever order
// they come: the numbers of the events are the order, and those without one
// come last, by their time.
func Gather(c scoring.Case, events []Event) (scoring.Evidence, error) {
	ordered := slices.Clone(events)
	slices.SortStableFunc(ordered, func(a, b Event) int {
		switch {
		case a.Sequence > 0 && b.Sequence > 0:
			return cmp.Compare(a.Sequence, b.Sequence)
		case a.Sequence > 0:
			return -1
		case b.Sequence > 0:
			return 1
		}
		return cmp.Or(a.OccurredAt.Compare(b.OccurredAt), cmp.Compare(a.Type, b.Type))
	})
	f := NewFold(c)
	for _, e := range ordered {
		if err := f.Apply(e); err != nil {
			return scoring.Evidence{}, err
		}
	}
	return f.Evidence(), nil
}
