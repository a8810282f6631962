package config

import (
	"fmt"
	"slices"
	"strings"
)

// Source is where a value comes from.
type Source string

// The sources, the one that wins first.
const (
	Flag        Source = "flag"
	Environment Source = "environment"
	Project     Source = "project"
	User        Source = "user"
	BuiltIn     Source = "default"
)

// Before says whether a source wins over another.
func (s Source) Before(other Source) bool {
	order := []Source{Flag, Environment, Project, User, BuiltIn}
	return slices.Index(order, s) < slices.Index(order, other)
}

// Value is what a setting is, and why.
type Value struct {
	Setting
	Value  string
	Source Source
	At     string // the flag, the variable, or file:line; "" for what is built in
}

// IsSet says whether anybody has set it.
func (v Value) IsSet() bool { return v.Source != BuiltIn }

// Inputs are what values come from. Files are in the order of their precedence;
// those that are not there are left out.
type Inputs struct {
	Getenv func(string) string
	Files  []*File
}

// Resolve finds the value of a setting. Flag is nil when none was given. A value
// that the setting does not take is an error that says where it stands, and comes
// with the value.
func (in Inputs) Resolve(s Setting, flag *string) (Value, error) {
	v := in.find(s, flag)
	if v.Source == BuiltIn {
		return v, nil
	}
	at := v.At
	if v.Source == Project || v.Source == User {
		name := s.Key
		if v.Source == Project {
			name = s.Project
		}
		at += ": " + name
	}
	return v, s.Check(at, v.Value)
}

func (in Inputs) find(s Setting, flag *string) Value {
	if flag != nil {
		return Value{s, *flag, Flag, s.Flag}
	}
	if s.Env != "" {
		if text := strings.TrimSpace(in.Getenv(s.Env)); text != "" {
			if s.envMeans != "" {
				text = s.envMeans
			}
			return Value{s, text, Environment, s.Env}
		}
	}
	for _, f := range in.Files {
		if l, ok := f.lines[s.Key]; ok {
			return Value{s, l.value, f.Source, fmt.Sprintf("%s:%d", f.Path, l.at)}
		}
	}
	return Value{s, s.Default, BuiltIn, ""}
}

// Over returns the value that counts where it comes from a source that wins over
// the given one.
func (in Inputs) Over(s Setting, source Source) (Value, bool) {
	v := in.find(s, nil)
	return v, v.Source.Before(source)
}
