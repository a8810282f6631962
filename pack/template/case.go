package template

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// casePlaceholder is the whole grammar: what does not match is plain text.
// There is no escape, and what is filled in is not looked at again.
var casePlaceholder = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}`)

// Unresolved is a placeholder that has no value.
type Unresolved struct {
	Name string
	// Malformed says that the path itself is wrong (an empty segment below
	// an existing mapping), so that no case could ever fill it.
	Malformed bool
}

// Placeholders returns the names of the {{name}} placeholders in text, each
// once, in order of appearance.
func Placeholders(text string) []string {
	if !strings.Contains(text, "{{") {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for _, m := range casePlaceholder.FindAllStringSubmatch(text, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			names = append(names, m[1])
		}
	}
	return names
}

// Missing returns the names that have no value in vars, in the order given.
func Missing(names []string, vars map[string]any) []Unresolved {
	var missing []Unresolved
	for _, name := range names {
		if _, ok, malformed := lookup(vars, name); !ok {
			missing = append(missing, Unresolved{name, malformed})
		}
	}
	return missing
}

// Fill replaces each {{name}} in text by its value in vars. A name is a dotted
// path that descends mappings only. What cannot be filled stays as it is and
// is returned, each name once, in order of appearance.
//
// Text goes in as it is, numbers in plain decimals (at most six after the
// point), everything else as compact JSON.
func Fill(text string, vars map[string]any) (string, []Unresolved) {
	names := Placeholders(text)
	if len(names) == 0 {
		return text, nil
	}
	filled := casePlaceholder.ReplaceAllStringFunc(text, func(match string) string {
		name := casePlaceholder.FindStringSubmatch(match)[1]
		if value, ok, _ := lookup(vars, name); ok {
			return format(value)
		}
		return match
	})
	return filled, Missing(names, vars)
}

// lookup walks a dotted path. A null at its end counts as a value.
func lookup(vars map[string]any, name string) (value any, ok, malformed bool) {
	value = vars
	for segment := range strings.SplitSeq(name, ".") {
		m, isMap := value.(map[string]any)
		if !isMap {
			return nil, false, false
		}
		if segment == "" {
			return nil, false, true
		}
		if value, ok = m[segment]; !ok {
			return nil, false, false
		}
	}
	return value, true, false
}

func format(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return trimZeros(strconv.FormatFloat(v, 'f', 6, 64))
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "" // no decoded case holds such a value
	}
	return string(b)
}

func trimZeros(number string) string {
	number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	if number == "-0" {
		return "0"
	}
	return number
}
