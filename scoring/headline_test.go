package scoring_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/scoring"
)

// fill sets everything in a value that JSON can carry, down to some depth of lists.
func fill(v reflect.Value, r *rand.Rand) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"n":1}`))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), r)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), r)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), r)
		fill(v.Index(1), r)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, r)
		fill(value, r)
		v.SetMapIndex(key, value)
	case reflect.Interface:
		v.Set(reflect.ValueOf("any"))
	case reflect.String:
		v.SetString(string(rune('a' + r.IntN(26))))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1 + r.Int64N(9))
	case reflect.Float64:
		v.SetFloat(r.Float64())
	default:
		panic("no value for " + v.Type().String())
	}
}

// A headline is the trial but for what it says that it leaves out.
func TestHeadlineIsTheTrial(t *testing.T) {
	t.Parallel()
	var whole scoring.Trial
	fill(reflect.ValueOf(&whole).Elem(), rand.New(rand.NewPCG(1, 2)))
	for name, change := range map[string]func(*scoring.Trial){
		"all of it":      func(*scoring.Trial) {},
		"no scorecard":   func(t *scoring.Trial) { t.Scorecard = nil },
		"no final words": func(t *scoring.Trial) { t.FinalOutput = nil },
	} {
		whole := whole
		change(&whole)
		raw, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		var want scoring.Trial
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		want.FinalOutput = nil
		if c := want.Scorecard; c != nil {
			c.Warnings, c.Validators, c.Metrics, c.Signals, c.Judges, c.SideMetrics = nil, nil, nil, nil, nil, scoring.SideMetrics{}
			for i := range c.Dimensions {
				c.Dimensions[i].Event = nil
			}
		}
		got, err := scoring.Headline(raw)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, trial (-) and headline (+):\n%s", name, err, diff)
		}
	}
	if _, err := scoring.Headline([]byte(`{"outcome": 1}`)); err == nil {
		t.Error("an outcome that is no word: no error")
	}
}
