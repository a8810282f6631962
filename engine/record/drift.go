package record

import (
	"encoding/json"
	"regexp"
)

// volatile is what differs from one run of a program to the next and says
// nothing about what it did: dates and times of day, durations with a unit,
// UUIDs, addresses in memory, process ids, and names of temporary files.
var volatile = []struct {
	text *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| ?[+-]\d\d:?\d\d)?`), "<time>"},
	{regexp.MustCompile(`\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +[A-Za-z0-9]{1,3} +[A-Za-z0-9]{1,3} +\d[\d:]+( [A-Z]{3,4})?( \d{4}|[ \d:]+[A-Z]{3,4})?`), "<time>"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(\.\d+)?\b`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`), "<uuid>"},
	{regexp.MustCompile(`\b0x[0-9a-fA-F]{6,16}\b`), "<address>"},
	{regexp.MustCompile(`\b\d+(\.\d+)? ?(ns|us|µs|ms|s|sec|secs|seconds)\b`), "<duration>"},
	{regexp.MustCompile(`\b(pid|PID)([ =:]+)\d+`), "$1$2<pid>"},
	{regexp.MustCompile(`/tmp/[\w.-]*[\w-]{6,}`), "/tmp/<name>"},
}

// Settled is a text without what differs from run to run.
func Settled(s string) string {
	for _, v := range volatile {
		s = v.text.ReplaceAllString(s, v.as)
	}
	return s
}

// Drift compares what a tool answered now with what was recorded, both results
// as JSON. What is volatile does not count.
func Drift(recorded, now []byte) (Difference, bool) {
	return compare("", settle(tree(recorded)), settle(tree(now)))
}

// settle takes what is volatile out of a value. A text that is a JSON object, as
// most of what tools say is, is looked into.
func settle(v any) any {
	switch v := v.(type) {
	case string:
		if inner, ok := tree(json.RawMessage(v)).(map[string]any); ok && json.Valid([]byte(v)) {
			return settle(inner)
		}
		return Settled(v)
	case map[string]any:
		for key := range v {
			v[key] = settle(v[key])
		}
	case []any:
		for i := range v {
			v[i] = settle(v[i])
		}
	}
	return v
}
