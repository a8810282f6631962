package template

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed primitives/*.json
var primitiveFiles embed.FS

// Primitive is a built-in tool as models and pack authors see it. The engine
// gives each one its behaviour.
type Primitive struct {
	Name        string          `json:"name"`
	Kind        string          `json:"kind"`  // the tool kind that unlocks it, "" for none
	Shell       bool            `json:"shell"` // unlocked by allow_shell instead of a kind
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON Schema
}

// Unlocked says whether a tool policy lets anybody use the tool: one that
// permits these kinds, all when there are none, and a shell or not.
func (p Primitive) Unlocked(kinds []string, shell bool) bool {
	if p.Shell && !shell {
		return false
	}
	return p.Kind == "" || len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind string) bool {
		return strings.EqualFold(strings.TrimSpace(kind), p.Kind)
	})
}

// Primitives returns every built-in tool of this version, sorted by name.
func Primitives() []Primitive {
	entries, err := primitiveFiles.ReadDir("primitives")
	if err != nil {
		panic(err) // embedded
	}
	list := make([]Primitive, 0, len(entries))
	for _, e := range entries {
		b, err := primitiveFiles.ReadFile("primitives/" + e.Name())
		if err != nil {
			panic(err)
		}
		var p Primitive
		if err := json.Unmarshal(b, &p); err != nil {
			panic(fmt.Sprintf("primitives/%s: %v", e.Name(), err))
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Primitive) int { return strings.Compare(a.Name, b.Name) })
	return list
}
