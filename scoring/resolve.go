package scoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/scoring/jsondoc"
)

// cause is whose doing it is that a result is missing.
type cause int

const (
	causeNone   cause = iota // nobody's: there is a result, or no price, no clock
	causeAgent               // the agent did not produce what is read
	causePack                // the pack's author must mend something
	causeEngine              // the machinery around the agent failed
	causeJudge               // a judge gave no reply that says anything
)

// resolved is what a reference gave: a text, or why there is none.
type resolved struct {
	text   string
	state  State
	reason string
	cause  cause
}

func found(text string) resolved { return resolved{text: text, state: Available} }

func missing(c cause, format string, args ...any) resolved {
	return resolved{state: Unavailable, cause: c, reason: clipTo(fmt.Sprintf(format, args...), maxReason)}
}

// unreadable is evidence that is there and makes no sense. All of it comes
// with the pack: what the agent makes is plain text.
func unreadable(format string, args ...any) resolved {
	return resolved{state: Errored, cause: causePack, reason: clipTo(fmt.Sprintf(format, args...), maxReason)}
}

// maxSourceDepth bounds how many inputs may stand for one another.
const maxSourceDepth = 8

// trial is the evidence while one scorecard is made. The payload is decoded
// when it is first read.
type trial struct {
	ev Evidence
	// captures says that the spec declares any.
	captures bool
	payload  *decoded
	// values are the decoded inputs and expectations, by kind and key.
	values map[[2]string]decoded
}

// decoded is a JSON value, or why it is none.
type decoded struct {
	value any
	err   error
}

// ended says that the agent's part came to a regular end, so that what is not
// there was not produced, or not collected.
func (t *trial) ended() bool { return t.ev.Completed != nil && *t.ev.Completed }

func (t *trial) resolve(r reference) resolved {
	if read := r.kind.resolver(); read != nil {
		return read(t, r)
	}
	return unreadable("%s cannot be read", quoted(r.text))
}

func (t *trial) finalOutput(reference) resolved {
	if t.ev.FinalOutput == nil {
		return missing(causeAgent, "there is no final output")
	}
	return found(*t.ev.FinalOutput)
}

func (t *trial) input(r reference) resolved {
	return t.entry(entry{name: "input", key: r.key, path: r.path})
}

func (t *trial) expectation(r reference) resolved {
	return t.entry(entry{name: "expectation", key: r.key, path: r.path})
}

func (t *trial) asset(r reference) resolved { return t.artifact(r.key, r.path, false) }

func (t *trial) literal(r reference) resolved { return found(r.key) }

func (t *trial) decodedPayload() decoded {
	if t.payload == nil {
		v, err := jsondoc.Decode(bytes.NewReader(t.ev.Case.Payload))
		t.payload = &decoded{v, err}
	}
	return *t.payload
}

// decodedValue is the value of an input or an expectation.
func (t *trial) decodedValue(raw json.RawMessage, e entry) decoded {
	name := [2]string{e.name, e.key}
	d, ok := t.values[name]
	if !ok {
		d.value, d.err = jsondoc.Decode(bytes.NewReader(raw))
		if t.values == nil {
			t.values = map[[2]string]decoded{}
		}
		t.values[name] = d
	}
	return d
}

func (t *trial) challengeInput(reference) resolved {
	raw := bytes.TrimSpace(t.ev.Case.Payload)
	if len(raw) == 0 {
		return missing(causePack, "the case has no payload")
	}
	if p := t.decodedPayload(); p.err == nil {
		if s, ok := loose(p.value); ok {
			return found(s)
		}
	}
	return found(string(raw))
}

func (t *trial) fromPayload(r reference) resolved {
	if len(bytes.TrimSpace(t.ev.Case.Payload)) == 0 {
		return missing(causePack, "the case has no payload")
	}
	p := t.decodedPayload()
	if p.err != nil {
		return unreadable("the case's payload is not JSON: %v", p.err)
	}
	return walk(p.value, r.path, r)
}

// entry is the way to a value inside an input or an expectation.
type entry struct {
	name  string // input or expectation
	key   string
	path  []string
	depth int // how many inputs stood for one another on the way
}

func (e entry) String() string { return e.name + " " + quoted(e.key) }

// entry resolves an input or an expectation: to its value, else to what its
// source, its artifact or its path says.
func (t *trial) entry(e entry) resolved {
	entries := t.ev.Case.Inputs
	if e.name == "expectation" {
		entries = t.ev.Case.Expectations
	}
	in, ok := entries[e.key]
	switch {
	case !ok:
		return missing(causePack, "the case has no %s", e)
	case e.depth > maxSourceDepth:
		return unreadable("the source of %s goes through more than %d others", e, maxSourceDepth)
	case !isNull(in.Value):
		return t.fromValue(in.Value, e)
	case in.Source != "":
		return t.fromSource(in.Source, e)
	case in.ArtifactKey != "":
		return t.artifact(in.ArtifactKey, e.path, true)
	case in.Path != "" && len(e.path) == 0:
		return found(in.Path)
	}
	return missing(causePack, "%s has no value", e)
}

func (t *trial) fromValue(raw json.RawMessage, e entry) resolved {
	if len(e.path) == 0 && raw[0] == '"' { // the common case, without a tree
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return found(s)
		}
	}
	d := t.decodedValue(raw, e)
	if d.err != nil {
		return unreadable("the value of %s is not JSON: %v", e, d.err)
	}
	return walk(d.value, e.path, e)
}

func (t *trial) fromSource(source string, e entry) resolved {
	if key, ok := strings.CutPrefix(source, "input:"); ok {
		return t.entry(entry{name: "input", key: strings.TrimSpace(key), path: e.path, depth: e.depth + 1})
	}
	if key, ok := strings.CutPrefix(source, "artifact:"); ok {
		return t.artifact(strings.TrimSpace(key), e.path, true)
	}
	return unreadable("the source %s of %s is neither input:<key> nor artifact:<key>", quoted(source), e)
}

// artifact resolves an asset: to its content for an input or an expectation
// that is backed by it, where the content is known, to its path otherwise.
func (t *trial) artifact(key string, path []string, content bool) resolved {
	a, ok := t.ev.Case.Artifacts[key]
	if !ok {
		return missing(causePack, "the case has no artifact %s", quoted(key))
	}
	if len(path) == 0 {
		switch {
		case content && a.Text != nil:
			return found(*a.Text)
		case content && a.Unread != "": // its path would be compared as if it were the text
			return missing(causePack, "artifact %s cannot be read as text: %s", quoted(key), a.Unread)
		}
		return found(a.Path)
	}
	fields := map[string]string{"key": a.Key, "kind": a.Kind, "path": a.Path, "media_type": a.MediaType}
	if v, ok := fields[path[0]]; ok && len(path) == 1 {
		return found(v)
	}
	return missing(causePack, "artifact %s has no field %s; it has key, kind, path and media_type", quoted(key), quoted(strings.Join(path, ".")))
}

// walk follows the steps of a reference into a JSON value.
func walk(v any, path []string, name fmt.Stringer) resolved {
	for i, step := range path {
		next, ok := child(v, step)
		if !ok {
			return missing(causePack, "%s has nothing at %s", name, quoted(strings.Join(path[:i+1], ".")))
		}
		v = next
	}
	return found(stringify(v))
}

func child(v any, step string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		item, ok := v[step]
		return item, ok
	case []any:
		i, err := strconv.ParseUint(step, 10, 31)
		if err != nil || int(i) >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// file resolves a capture. A check that was never taken is not the same as a
// file that does not exist: the first is nobody's evidence.
func (t *trial) file(r reference) resolved {
	key := r.key
	if f, ok := t.ev.Files[key]; ok {
		if !f.Exists {
			return missing(causeAgent, "the captured file %s does not exist", quoted(f.Path))
		}
		if f.Unread != "" {
			return missing(causeAgent, "the captured file %s cannot be read (%s)", quoted(f.Path), f.Unread)
		}
		return found(f.Content)
	}
	if d, ok := t.ev.Directories[key]; ok {
		if !d.Exists {
			return missing(causeAgent, "the listed directory %s does not exist", quoted(d.Path))
		}
		if d.Unread != "" {
			return missing(causeAgent, "the directory %s cannot be listed (%s)", quoted(d.Path), d.Unread)
		}
		return listing(d)
	}
	return missing(t.uncollected(), "%s was never captured", quoted("file:"+key))
}

// uncollected is whose doing it is that evidence was not collected at all: the
// agent's, when it did not let the trial end regularly; the author's, when the
// spec declares no capture; else the machinery's.
func (t *trial) uncollected() cause {
	switch {
	case !t.ended():
		return causeAgent
	case !t.captures:
		return causePack
	}
	return causeEngine
}

func listing(d CapturedDirectory) resolved {
	if d.Entries == nil {
		d.Entries = []DirectoryEntry{}
	}
	b, err := json.Marshal(struct {
		Key     string           `json:"key"`
		Path    string           `json:"path"`
		Entries []DirectoryEntry `json:"entries"`
	}{d.Key, d.Path, d.Entries})
	if err != nil {
		return unreadable("write the listing %s: %v", quoted(d.Key), err)
	}
	return found(string(b))
}
