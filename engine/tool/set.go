package tool

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/sandbox"
)

// Submit is the tool that ends a trial.
const Submit = template.Submit

// Set is the tools of one pack: those its agents see, and those that only its
// composed tools may call. It is safe for concurrent use.
type Set struct {
	definitions []provider.Tool // of the visible ones
	tools       map[string]*entry
	queries     *query.Runner
	network     Network
	roots       sandbox.Roots
}

// entry is one tool. It has one of run, composed and mock.
type entry struct {
	visible  bool
	category string
	schema   *jsonschema.Schema
	run      primitive
	composed *template.Composed
	mock     *template.Mock
}

// NewSet makes the tools that a policy unlocks. Queries are answered by the
// runner, which a set that is only looked at does not need.
func NewSet(policy Policy, queries *query.Runner) (*Set, error) {
	s := &Set{tools: map[string]*entry{}, queries: queries}
	for _, p := range template.Primitives() {
		run, ok := primitives[p.Name]
		if !ok || !p.Unlocked(policy.Kinds, policy.AllowShell) {
			continue
		}
		schema, err := compile(p.Name, p.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", p.Name, err)
		}
		visible := policy.shows(p.Name)
		s.tools[p.Name] = &entry{category: CategoryPrimitive, visible: visible, schema: schema, run: run}
		if visible {
			s.define(p.Name, p.Description, p.Parameters)
		}
	}
	for _, c := range policy.Custom {
		if err := s.add(c, !policy.hides(c.Name)); err != nil {
			return nil, err
		}
	}
	s.hideUnanswered()
	for _, c := range policy.Custom {
		if s.visible(c.Name) != nil {
			s.define(c.Name, c.Description, c.Parameters)
		}
	}
	slices.SortFunc(s.definitions, func(a, b provider.Tool) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

func (s *Set) define(name, description string, parameters json.RawMessage) {
	s.definitions = append(s.definitions, provider.Tool{Name: name, Description: description, Parameters: parameters})
}

// add takes in one of the pack's own tools, which the pack's names do not hide,
// but a deployment's may.
func (s *Set) add(c template.CustomTool, visible bool) error {
	switch {
	case c.Unusable != "":
		return errors.New(c.Unusable)
	case s.tools[c.Name] != nil:
		return fmt.Errorf("tools.custom: there is a tool %q already", c.Name)
	}
	e := &entry{visible: visible, schema: c.Schema, composed: c.Composed, mock: c.Mock, category: CategoryMock}
	if c.Composed != nil {
		e.category = CategoryComposed
	}
	s.tools[c.Name] = e
	return nil
}

// hideUnanswered removes the composed tools whose delegate is not to be had,
// then those that delegate to these, and so on.
func (s *Set) hideUnanswered() {
	for again := true; again; {
		again = false
		for name, e := range s.tools {
			if e.composed != nil && s.tools[e.composed.Primitive] == nil {
				delete(s.tools, name)
				again = true
			}
		}
	}
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
func (s *Set) Has(name string) bool { return s.visible(name) != nil }

func (s *Set) visible(name string) *entry {
	if e := s.tools[strings.TrimSpace(name)]; e != nil && e.visible {
		return e
	}
	return nil
}

// Category is what kind of tool a visible name is, "" for no tool.
func (s *Set) Category(name string) string {
	if e := s.visible(name); e != nil {
		return e.category
	}
	return ""
}

// Reaches says whether an agent has any of these built-in tools in its hands,
// be it through a composed one.
func (s *Set) Reaches(names ...string) bool {
	for name, e := range s.tools {
		if !e.visible {
			continue
		}
		for range template.MaxDelegations {
			if e == nil || e.composed == nil {
				break
			}
			name, e = e.composed.Primitive, s.tools[e.composed.Primitive]
		}
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

// Call runs one call in a box. The error is non-nil only when the box is gone
// or ctx has ended; everything else is a Result for the model to read.
func (s *Set) Call(ctx context.Context, box sandbox.Session, call provider.ToolCall) (Result, error) {
	name := strings.TrimSpace(call.Name)
	if !s.Has(name) {
		r := failure("tool %q is not available in this runtime", clip(name, 100))
		r.Origin, r.Category = OriginPolicy, ""
		return r, nil
	}
	r, err := s.call(ctx, box, name, call.Arguments, nil)
	if err != nil {
		return Result{}, err
	}
	r.Content = bounded(s.network.clean(r.Content))
	return r, nil
}

// call runs a tool, visible or not, on behalf of the tools above it.
func (s *Set) call(ctx context.Context, box sandbox.Session, name string, args json.RawMessage, above []string) (Result, error) {
	e, chain := s.tools[name], append(slices.Clip(above), name)
	if text := string(bytes.TrimSpace(args)); text == "" || text == "null" {
		args = json.RawMessage("{}")
	}
	var r Result
	var err error
	switch problem := check(e.schema, args); {
	case problem != "":
		r = failure("the arguments of %s do not fit: %s", name, clip(problem, 1000))
		if e.composed != nil {
			r.Origin = OriginResolution
		}
	case e.composed != nil:
		r, err = s.delegate(ctx, box, e.composed, args, chain)
	case e.mock != nil:
		r = answer(*e.mock, args)
	default:
		r, err = e.run(ctx, workplace{box: box, roots: s.roots, tool: name, queries: s.queries, network: s.network}, args)
		if gone := ended(ctx, err); gone != nil {
			return Result{}, gone
		}
		if err != nil {
			r, err = refused(name, err), nil
		}
	}
	if err != nil {
		return Result{}, err
	}
	if r.Chain == nil { // the last of the chain
		r.Chain, r.ResolvedName, r.ResolvedCategory = chain, name, e.category
	}
	r.Category = e.category
	return r, nil
}

// ended returns the error that ends the trial, or nil for one the model may
// read.
func ended(ctx context.Context, err error) error {
	var lost *sandbox.BoxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lost), errors.Is(err, sandbox.ErrClosed):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// check returns what is wrong with the arguments, "" when nothing is.
func check(schema *jsonschema.Schema, args json.RawMessage) string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if _, text := v.(string); err != nil || text {
		return "they are not valid JSON" // a client hands on what does not parse as a string
	}
	if _, object := v.(map[string]any); !object {
		return "they must be an object"
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
