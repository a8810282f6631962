package turn

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/pack"
)

// Expected is how an answer compares with one thing that its turn expects.
type Expected struct {
	Key  string
	Kind string
	Why  string // the answer is not what is expected, "" when it is
}

// Compare holds an answer against what its turn expects. All of it must be met;
// a turn that expects nothing is no mismatch.
func Compare(expects []pack.Expectation, answer string) (list []Expected, mismatch bool) {
	for _, e := range expects {
		x := Expected{Key: e.Key, Kind: strings.TrimSpace(e.Kind)}
		x.Why = miss(e, answer)
		mismatch = mismatch || x.Why != ""
		list = append(list, x)
	}
	return list, mismatch
}

// miss says why an answer is not what is expected, "" when it is.
func miss(e pack.Expectation, answer string) string {
	if e.Value == nil {
		return "there is no value to compare with"
	}
	want := plain(e.Value)
	switch strings.TrimSpace(e.Kind) {
	case "exact_match":
		if strings.TrimSpace(answer) != want {
			return "the answer is another text"
		}
	case "contains":
		if !strings.Contains(answer, want) {
			return "the answer does not contain it"
		}
	default:
		return "answers are compared by contains and exact_match only"
	}
	return ""
}

// plain is a value as a text: as it is written, not quoted.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case map[string]any, []any:
		b, err := json.Marshal(v)
		if err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(v)
}
