package template

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Tools is the `tools` block of a pack: which built-in tools an agent sees, and
// the pack's own.
type Tools struct {
	Allowed []string // built-in tools to show, when there are any
	Denied  []string // built-in tools to hide; submit cannot be hidden
	Custom  []CustomTool
}

// CustomTool is one of the pack's own tools. It is either Composed or a Mock.
type CustomTool struct {
	Name        string // without the space around it
	Description string
	Parameters  json.RawMessage    // the JSON Schema of its arguments, as models see it
	Schema      *jsonschema.Schema // the same, compiled; nil when it is not one
	Composed    *Composed
	Mock        *Mock
	// Unusable says why no run can have the tool although the format accepts
	// it: "field: message". It is empty when a run can.
	Unusable string
}

// Composed is a tool that calls another one, its delegate, with arguments made
// from its own.
type Composed struct {
	Primitive string         // the delegate: a built-in tool or another of the pack's
	Args      map[string]any // of the delegate, with ${...} in its texts
	Secrets   []string       // the names in Args, sorted

	declared map[string]bool // the properties of the parameters
}

// MaxDelegations is how many composed tools may hand a call on before a
// built-in tool or a mock answers it.
const MaxDelegations = 8

// Bounds of a whole block, far above what any pack needs.
const (
	maxTools  = 256
	maxDepth  = 64
	maxValues = 50_000
	maxText   = 4 << 20
)

// ReadTools decodes and checks the `tools` block of a pack, which is made of
// what YAML and JSON decode to: nil, text, bools, numbers, []any, map[string]any.
//
// Problems are errors for what the format forbids, in its order, then warnings
// for what it accepts and no run can use, or ignores. With an error among them
// the result is as much as could be read. Keys are matched without regard to
// case, as the format does.
func ReadTools(block map[string]any) (Tools, []Problem) {
	if len(block) == 0 {
		return Tools{}, nil
	}
	r := newReader()
	if !r.bounded(block) {
		return Tools{}, r.problems
	}
	f := r.fields(root(), block, "allowed", "denied", "custom")
	drafts := r.custom(f)
	r.graph(drafts)
	r.registry(drafts)
	custom := make(map[string]bool, len(drafts))
	tools := Tools{}
	for _, d := range drafts {
		custom[d.Name] = true
		tools.Custom = append(tools.Custom, d.CustomTool)
	}
	tools.Allowed = r.toolNames(f, "allowed", custom)
	tools.Denied = r.toolNames(f, "denied", custom)
	return tools, r.sorted()
}
