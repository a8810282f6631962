package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/engine/redact"
)

// Difference is the first field in which something is not what was recorded.
type Difference struct {
	Field    string `json:"field"`
	Recorded string `json:"recorded"` // excerpts around what differs
	Now      string `json:"now"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: recorded %s, now %s", cmp.Or(d.Field, "the whole"), d.Recorded, d.Now)
}

// nothing is what a member that is not there shows as.
const nothing = "nothing"

// absent stands for a member that is not there; null is a value.
type absent struct{}

// compareRequests compares two requests: the model first, then what was said.
func compareRequests(was line, now fields, messages []json.RawMessage) (Difference, bool) {
	if d, differ := compareJSON("model", was.Request["model"], now["model"]); differ {
		return d, true
	}
	for i := range max(len(was.messages), len(messages)) {
		if d, differ := compareJSON(fmt.Sprintf("messages[%d]", i), at(was.messages, i), at(messages, i)); differ {
			return d, true
		}
	}
	for _, key := range union(was.Request, now) {
		if d, differ := compareJSON(key, was.Request[key], now[key]); differ {
			return d, true
		}
	}
	return Difference{}, false
}

func at(list []json.RawMessage, i int) json.RawMessage {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// compareJSON compares two JSON texts, of which one may not be there.
func compareJSON(field string, was, now json.RawMessage) (Difference, bool) {
	if bytes.Equal(was, now) {
		return Difference{}, false
	}
	if d, differ := compare(field, tree(was), tree(now)); differ {
		return d, true
	}
	// the same values, in another order or written in another way
	return texts(field, string(was), string(now)), true
}

func tree(raw json.RawMessage) any {
	if raw == nil {
		return absent{}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	return v
}

func compare(field string, was, now any) (Difference, bool) {
	switch w := was.(type) {
	case map[string]any:
		if n, ok := now.(map[string]any); ok {
			return compareObjects(field, w, n)
		}
	case []any:
		if n, ok := now.([]any); ok {
			return compareLists(field, w, n)
		}
	case string:
		if n, ok := now.(string); ok {
			return texts(field, w, n), w != n
		}
	default:
		if now == was { // numbers, booleans, null, nothing
			return Difference{}, false
		}
	}
	return Difference{field, show(was), show(now)}, true
}

func compareObjects(field string, was, now map[string]any) (Difference, bool) {
	for _, key := range union(was, now) {
		if d, differ := compare(joined(field, key), member(was, key), member(now, key)); differ {
			return d, true
		}
	}
	return Difference{}, false
}

func compareLists(field string, was, now []any) (Difference, bool) {
	for i := range max(len(was), len(now)) {
		var w, n any = absent{}, absent{}
		if i < len(was) {
			w = was[i]
		}
		if i < len(now) {
			n = now[i]
		}
		if d, differ := compare(fmt.Sprintf("%s[%d]", field, i), w, n); differ {
			return d, true
		}
	}
	return Difference{}, false
}

func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func member(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

func joined(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// How much of a differing text is shown before and after the place.
const (
	shownBefore = 24
	shownAfter  = 56
)

// texts shows two texts around the first byte in which they differ.
func texts(field, was, now string) Difference {
	i := 0
	for i < min(len(was), len(now)) && was[i] == now[i] {
		i++
	}
	if strings.Count(was, redact.Mark) > strings.Count(now, redact.Mark) {
		return Difference{field, around(was, i), unsaid}
	}
	return Difference{field, around(was, i), around(now, i)}
}

// unsaid stands for a text that may hold what was taken out of the recorded one.
const unsaid = "something that is not shown, for a secret was taken out of what was recorded"

func around(s string, at int) string {
	from, to := max(at-shownBefore, 0), min(at+shownAfter, len(s))
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	text := strings.ToValidUTF8(s[from:to], "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if to < len(s) {
		text += "…"
	}
	return fmt.Sprintf("%q", text)
}

func show(v any) string {
	switch v := v.(type) {
	case absent:
		return nothing
	case string:
		return around(v, 0)
	}
	raw, err := compact(v)
	if err != nil {
		return nothing // what was decoded encodes
	}
	if len(raw) > shownBefore+shownAfter {
		return strings.ToValidUTF8(string(raw[:shownBefore+shownAfter]), "") + "…"
	}
	return string(raw)
}
