package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What a column may become.
const (
	toInput    = "input"
	toExpected = "expected"
	toID       = "id"
	toMetadata = "metadata"
	toTags     = "tags"
)

// Mapping says what the columns of a file become.
type Mapping []Target

// Target is what one column becomes. Name is the key of the payload or of the
// expectation; without one it is the column's, and the keys of an object are
// taken as they are.
type Target struct{ Role, Name, Column string }

// ParseMapping reads pairs such as input=question, input.q=question, id=ref.
func ParseMapping(pairs []string) (Mapping, error) {
	var m Mapping
	for _, pair := range pairs {
		left, column, ok := strings.Cut(pair, "=")
		role, name, named := strings.Cut(strings.TrimSpace(left), ".")
		t := Target{role, name, strings.TrimSpace(column)}
		switch {
		case !ok || t.Column == "":
			return nil, fmt.Errorf("%q: write ROLE=COLUMN, such as input=question", pair)
		case !slices.Contains([]string{toInput, toExpected, toID, toMetadata, toTags}, role):
			return nil, fmt.Errorf("%q: a column becomes input, expected, id, metadata or tags, not %q", pair, role)
		case named && (name == "" || role == toID || role == toTags || role == toMetadata):
			return nil, fmt.Errorf("%q: write input.NAME=COLUMN or expected.NAME=COLUMN for a name of its own", pair)
		case slices.ContainsFunc(m, func(other Target) bool {
			return other.Role == role && (role == toID || name != "" && other.Name == name)
		}):
			return nil, fmt.Errorf("%q: %s is mapped twice", pair, left)
		}
		m = append(m, t)
	}
	return m, nil
}

// known are the names by which a column's role is told when nobody says.
var known = map[string]string{
	"input": toInput, "inputs": toInput, "prompt": toInput, "question": toInput, "query": toInput, "item": toInput,
	"expected": toExpected, "expected_output": toExpected, "output": toExpected, "outputs": toExpected, "ideal": toExpected,
	"answer": toExpected, "reference": toExpected, "reference_outputs": toExpected, "ground_truth": toExpected, "label": toExpected,
	"id": toID, "case_key": toID, "example_id": toID, "external_id": toID, "metadata": toMetadata, "tags": toTags,
}

// usual is the mapping of a file that nobody gave one for, by the names of its
// columns.
func usual(columns []string) Mapping {
	var m Mapping
	for _, column := range columns {
		lower := strings.ToLower(column)
		if role, ok := known[lower]; ok {
			if role == toID && slices.ContainsFunc(m, func(t Target) bool { return t.Role == toID }) {
				continue
			}
			m = append(m, Target{Role: role, Column: column})
			continue
		}
		head, name, dotted := strings.Cut(column, ".")
		if role := known[strings.ToLower(head)]; dotted && name != "" && (role == toInput || role == toExpected) {
			m = append(m, Target{role, name, column})
		}
	}
	return m
}

// columnsOf are the names of all columns, sorted.
func columnsOf(rows []Row) []string {
	seen := map[string]bool{}
	for _, r := range rows {
		for name := range r.Fields {
			if len(seen) < maxColumns {
				seen[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// resolve is the mapping for the columns there are: what was given, else the
// usual one; key, metadata and tags are the usual ones where nothing is said of
// them. What was given must name columns of the file.
func (m Mapping) resolve(columns []string) (Mapping, error) {
	given := m
	for _, t := range usual(columns) {
		said := slices.ContainsFunc(given, func(g Target) bool { return g.Column == t.Column || g.Role == t.Role })
		if content := t.Role == toInput || t.Role == toExpected; len(given) == 0 || !content && !said {
			m = append(m[:len(m):len(m)], t)
		}
	}
	var problems Problems
	for _, t := range m {
		if !slices.Contains(columns, t.Column) {
			problems = append(problems, Problem{Column: t.Column, Message: "is not in the file, which has " + listed(columns)})
		}
	}
	if !slices.ContainsFunc(m, func(t Target) bool { return t.Role == toInput }) {
		problems = append(problems, Problem{Message: "nothing says which column is the input: --map input=COLUMN; the file has " + listed(columns)})
	}
	return m, problems.err()
}

// unused are the columns that become nothing.
func (m Mapping) unused(columns []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(c string) bool {
		return slices.ContainsFunc(m, func(t Target) bool { return t.Column == c })
	})
}

// listed names columns, not too many.
func listed(columns []string) string {
	const most = 20
	var names []string
	for _, c := range columns[:min(len(columns), most)] {
		names = append(names, fmt.Sprintf("%q", clip(c)))
	}
	if more := len(columns) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
