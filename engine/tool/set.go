package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/sandbox"
)

// Submit is the tool that ends a trial.
const Submit = "submit"

// The origins of a failed call.
const (
	OriginPolicy    = "policy"    // the tool may not be used here
	OriginPrimitive = "primitive" // the tool itself failed
)

// Result is what a tool answered.
type Result struct {
	Content  string // what the model is told, bounded
	IsError  bool
	Origin   string // of an error: OriginPolicy or OriginPrimitive
	Category string // primitive, or "" for a tool that is not there
	// Answer is the final answer when the call was a successful submit.
	Answer *string
}

// Set is the tools one agent sees. It is safe for concurrent use.
type Set struct {
	definitions []provider.Tool
	tools       map[string]tool
}

type tool struct {
	schema *jsonschema.Schema
	run    func(ctx context.Context, box sandbox.Session, args json.RawMessage) (Result, error)
}

// NewSet makes the set of tools that a policy shows.
func NewSet(policy Policy) (*Set, error) {
	s := &Set{tools: map[string]tool{}}
	for _, p := range template.Primitives() {
		run, ok := primitives[p.Name]
		if !ok || !policy.permits(p.Name, p.Kind, p.Shell) {
			continue
		}
		schema, err := compile(p.Name, p.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", p.Name, err)
		}
		s.tools[p.Name] = tool{schema: schema, run: run}
		s.definitions = append(s.definitions, provider.Tool{Name: p.Name, Description: p.Description, Parameters: p.Parameters})
	}
	return s, nil
}

func compile(name string, parameters json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(parameters))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	return c.Compile(name)
}

// Definitions returns the visible tools, sorted by name.
func (s *Set) Definitions() []provider.Tool { return s.definitions }

// Has says whether a tool of this name is visible. Names are compared trimmed.
func (s *Set) Has(name string) bool {
	_, ok := s.tools[strings.TrimSpace(name)]
	return ok
}

// Call runs one call in a box. The error is non-nil only when the box is gone
// or ctx has ended; everything else is a Result for the model to read.
func (s *Set) Call(ctx context.Context, box sandbox.Session, call provider.ToolCall) (Result, error) {
	name := strings.TrimSpace(call.Name)
	t, ok := s.tools[name]
	if !ok {
		r := failure("tool %q is not available in this runtime", clip(name, 100))
		r.Origin, r.Category = OriginPolicy, ""
		return r, nil
	}
	args := call.Arguments
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	if problem := check(t.schema, args); problem != "" {
		return failure("the arguments of %s do not fit: %s", name, clip(problem, 1000)), nil
	}
	r, err := t.run(ctx, box, args)
	if err == nil {
		return r, nil
	}
	if gone := ended(ctx, err); gone != nil {
		return Result{}, gone
	}
	return failure("%s: %v", name, err), nil
}

// ended returns the error that ends the trial, or nil for one the model may
// read.
func ended(ctx context.Context, err error) error {
	var lost *sandbox.BoxError
	if errors.As(err, &lost) || errors.Is(err, sandbox.ErrClosed) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Refusal answers a call that the loop does not run.
func Refusal(why string) Result { return failure("%s", why) }

func failure(format string, args ...any) Result {
	b, err := json.Marshal(map[string]string{"error": clip(fmt.Sprintf(format, args...), maxMessage)})
	if err != nil {
		panic(err) // a map of strings
	}
	return Result{Content: string(b), IsError: true, Origin: OriginPrimitive, Category: "primitive"}
}

func success(v any) (Result, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // the reader is a model, not a browser
	if err := enc.Encode(v); err != nil {
		return Result{}, err
	}
	return Result{Content: strings.TrimSuffix(b.String(), "\n"), Category: "primitive"}, nil
}

// check returns what is wrong with the arguments, "" when nothing is.
func check(schema *jsonschema.Schema, args json.RawMessage) string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if _, text := v.(string); err != nil || text {
		return "they are not valid JSON" // a client hands on what does not parse as a string
	}
	err = schema.Validate(v)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return ""
	}
	leaf := invalid
	for len(leaf.Causes) > 0 {
		leaf = leaf.Causes[0]
	}
	where := strings.Join(leaf.InstanceLocation, ".")
	text := leaf.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if where != "" {
		return where + ": " + text
	}
	return text
}

// clip cuts a text to n bytes, on a rune boundary, and says so.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
