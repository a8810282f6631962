package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/event"
)

const (
	maxDifferences = 5   // of one part
	maxValueText   = 120 // bytes of a value that are shown
)

// differences lists the first places where two JSON documents differ, as paths
// and excerpts. Documents that cannot be read differ as a whole.
func differences(was, is []byte) []Difference {
	a, err1 := document(was)
	b, err2 := document(is)
	if err1 != nil || err2 != nil {
		return []Difference{{}}
	}
	var w differ
	w.walk("", a, b)
	return w.found
}

func document(raw []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

type differ struct{ found []Difference }

func (w *differ) walk(path string, was, is any) {
	if len(w.found) == maxDifferences || reflect.DeepEqual(was, is) {
		return
	}
	if a, ok := was.(map[string]any); ok {
		if b, ok := is.(map[string]any); ok {
			w.objects(path, a, b)
			return
		}
	}
	if a, ok := was.([]any); ok {
		if b, ok := is.([]any); ok {
			w.lists(path, a, b)
			return
		}
	}
	w.found = append(w.found, Difference{Path: path, Was: valueText(was), Is: valueText(is)})
}

func (w *differ) objects(path string, was, is map[string]any) {
	keys := make([]string, 0, len(was)+len(is))
	for k := range was {
		keys = append(keys, k)
	}
	for k := range is {
		if _, both := was[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		w.walk(strings.TrimPrefix(path+"."+k, "."), at(was, k), at(is, k))
	}
}

func (w *differ) lists(path string, was, is []any) {
	for i := range max(len(was), len(is)) {
		var a, b any = absent{}, absent{}
		if i < len(was) {
			a = was[i]
		}
		if i < len(is) {
			b = is[i]
		}
		w.walk(fmt.Sprintf("%s[%d]", path, i), a, b)
	}
}

// absent is a value that is not there.
type absent struct{}

func at(m map[string]any, key string) any {
	if v, ok := m[key]; ok {
		return v
	}
	return absent{}
}

func valueText(v any) string {
	if v == (absent{}) {
		return ""
	}
	raw, err := event.Marshal(v)
	if err != nil {
		return ""
	}
	return event.Clip(string(raw), maxValueText)
}
