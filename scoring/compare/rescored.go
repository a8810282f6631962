package compare

import (
	"reflect"

	"github.com/agentclash/agentclash/scoring"
)

// Change is what scoring a trial again changed in it.
type Change struct {
	TrialID    string `json:"trial_id"`
	CaseKey    string `json:"case_key"`
	Repetition int    `json:"repetition"`
	Flipped    bool   `json:"flipped"` // the outcome is another
	Before     Ending `json:"before"`
	After      Ending `json:"after"`
	// What reads otherwise, in the order of the spec that scored last; what only
	// the earlier one has comes after it.
	Validators []Shift `json:"validators"`
	Dimensions []Shift `json:"dimensions"`
	Metrics    []Shift `json:"metrics"`
}

// Ending is what a trial came to.
type Ending struct {
	Outcome      scoring.Outcome `json:"outcome"`
	Code         string          `json:"code"`
	Phase        string          `json:"phase"`
	Reason       string          `json:"reason"`
	OverallScore *float64        `json:"overall_score"`
}

// Shift is a validator, dimension or metric that reads otherwise; nil is a spec
// that does not have it.
type Shift struct {
	Key    string   `json:"key"`
	Before *Reading `json:"before"`
	After  *Reading `json:"after"`
}

// Reading is what a validator, dimension or metric came to.
type Reading struct {
	State   scoring.State `json:"state"`
	Verdict string        `json:"verdict,omitempty"` // of a validator
	Score   *float64      `json:"score,omitempty"`
	Value   any           `json:"value,omitempty"` // of a metric
	Reason  string        `json:"reason"`
}

// Rescored compares a trial with the same trial scored again; changed is false
// when nothing but words is different. Both must have been read from JSON.
func Rescored(before, after scoring.Trial) (c Change, changed bool) {
	c = Change{
		TrialID: after.TrialID, CaseKey: after.CaseKey, Repetition: after.Repetition,
		Flipped: before.Outcome != after.Outcome, Before: endingOf(before), After: endingOf(after),
		Validators: shifts(validatorReadings(before), validatorReadings(after)),
		Dimensions: shifts(dimensionReadings(before), dimensionReadings(after)),
		Metrics:    shifts(metricReadings(before), metricReadings(after)),
	}
	changed = c.Flipped || c.Before.Code != c.After.Code || !reflect.DeepEqual(c.Before.OverallScore, c.After.OverallScore) ||
		len(c.Validators)+len(c.Dimensions)+len(c.Metrics) > 0
	return c, changed
}

func endingOf(t scoring.Trial) Ending {
	v := Ending{Outcome: t.Outcome, Code: t.Code, Phase: t.Phase, Reason: t.Reason}
	if t.Scorecard != nil && t.Outcome != scoring.OutcomeInvalid {
		v.OverallScore = t.Scorecard.OverallScore
	}
	return v
}

// named is a reading under its key.
type named struct {
	key string
	Reading
}

func validatorReadings(t scoring.Trial) (list []named) {
	if t.Scorecard != nil {
		for _, v := range t.Scorecard.Validators {
			list = append(list, named{v.Key, Reading{State: v.State, Verdict: v.Verdict, Score: v.NormalizedScore, Reason: v.Reason}})
		}
	}
	return list
}

func dimensionReadings(t scoring.Trial) (list []named) {
	if t.Scorecard != nil {
		for _, d := range t.Scorecard.Dimensions {
			list = append(list, named{d.Key, Reading{State: d.State, Score: d.Score, Reason: d.Reason}})
		}
	}
	return list
}

func metricReadings(t scoring.Trial) (list []named) {
	if t.Scorecard != nil {
		for _, m := range t.Scorecard.Metrics {
			list = append(list, named{m.Key, Reading{State: m.State, Value: m.Value, Reason: m.Reason}})
		}
	}
	return list
}

// shifts pairs readings by key. A reason alone makes no difference.
func shifts(before, after []named) []Shift {
	list := []Shift{}
	was := make(map[string]*Reading, len(before))
	for i := range before {
		was[before[i].key] = &before[i].Reading
	}
	for i := range after {
		old, now := was[after[i].key], &after[i].Reading
		delete(was, after[i].key)
		if old == nil || !sameReading(*old, *now) {
			list = append(list, Shift{Key: after[i].key, Before: old, After: now})
		}
	}
	for i := range before {
		if old, gone := was[before[i].key]; gone {
			list = append(list, Shift{Key: before[i].key, Before: old})
		}
	}
	return list
}

func sameReading(a, b Reading) bool {
	a.Reason, b.Reason = "", ""
	return reflect.DeepEqual(a, b)
}
