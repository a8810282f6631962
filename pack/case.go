package pack

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/scoring"
)

// Errors of [Pack.InputSet], for callers that go on in different ways.
var (
	ErrNotFound  = errors.New("not found")
	ErrAmbiguous = errors.New("ambiguous")
)

// InputSet finds an input set by its key or name: as written, else whatever
// the case of its letters. An empty selector takes the only one there is. An
// error wraps ErrNotFound or ErrAmbiguous and names the keys there are.
func (p *Pack) InputSet(selector string) (InputSet, error) {
	if selector == "" {
		if len(p.InputSets) == 1 {
			return p.InputSets[0], nil
		}
		return InputSet{}, fmt.Errorf("choose an input set: %w: there are %s", ErrAmbiguous, p.inputSetKeys())
	}
	for _, matches := range []func(InputSet) bool{
		func(s InputSet) bool { return s.Key == selector },
		func(s InputSet) bool { return s.Name == selector },
		func(s InputSet) bool {
			return strings.EqualFold(s.Key, selector) || strings.EqualFold(s.Name, selector)
		},
	} {
		var found []InputSet
		for _, s := range p.InputSets {
			if matches(s) {
				found = append(found, s)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return InputSet{}, fmt.Errorf("choose input set %q: %w: there are %s", selector, ErrAmbiguous, p.inputSetKeys())
		}
	}
	return InputSet{}, fmt.Errorf("choose input set %q: %w: there are %s", selector, ErrNotFound, p.inputSetKeys())
}

func (p *Pack) inputSetKeys() string {
	keys := make([]string, len(p.InputSets))
	for i, s := range p.InputSets {
		keys[i] = fmt.Sprintf("%q", s.Key)
	}
	return strings.Join(keys, ", ")
}

// Challenge finds a challenge by its key.
func (p *Pack) Challenge(key string) (Challenge, bool) {
	i, ok := p.lookup().challenges[key]
	if !ok {
		return Challenge{}, false
	}
	return p.Challenges[i], true
}

// Render fills the {{name}} placeholders of text from the case's payload and
// inputs. What cannot be filled stays as it is.
func (c Case) Render(text string) string {
	filled, _ := c.RenderStrict(text)
	return filled
}

// RenderStrict is Render, and returns the names that could not be filled, each
// once, in order.
func (c Case) RenderStrict(text string) (filled string, missing []string) {
	filled, unresolved := template.Fill(text, c.vars())
	for _, u := range unresolved {
		missing = append(missing, u.Name)
	}
	return filled, missing
}

// storedCase is the document a case is kept as when it is more than a payload.
type storedCase struct {
	SchemaVersion      int            `json:"schema_version"`
	CaseKey            string         `json:"case_key,omitempty"`
	Payload            map[string]any `json:"payload,omitempty"`
	Inputs             []CaseInput    `json:"inputs,omitempty"`
	Expectations       []Expectation  `json:"expectations,omitempty"`
	UserSimulator      *UserSimulator `json:"user_simulator,omitempty"`
	Artifacts          []ArtifactRef  `json:"artifacts,omitempty"`
	Assets             []Asset        `json:"assets,omitempty"`
	CaseTimeoutSeconds int32          `json:"case_timeout_seconds,omitempty"`
}

// StoredCase is the document of a case: its bare payload when it has nothing
// else, otherwise an object with schema_version 1. A payload that has a
// schema_version of its own is always wrapped, so that it cannot be taken for
// such an object.
func StoredCase(c Case) json.RawMessage {
	_, versioned := c.Payload["schema_version"]
	if len(c.Inputs)+len(c.Expectations)+len(c.Artifacts)+len(c.Assets) == 0 && c.UserSimulator == nil &&
		c.CaseTimeoutSeconds == 0 && !versioned {
		if len(c.Payload) == 0 {
			return json.RawMessage("{}")
		}
		return compact(c.Payload)
	}
	return compact(storedCase{1, c.Key(), c.Payload, c.Inputs, c.Expectations, c.UserSimulator, c.Artifacts, c.Assets, c.CaseTimeoutSeconds})
}

// compact is v as JSON with sorted keys. A decoded pack holds only what JSON
// can, so that the error cannot come.
func compact(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// maxEvidenceText bounds the text of one asset that scoring gets to see.
const maxEvidenceText = 1 << 20

// ScoringCase is the case as scoring reads it, with the assets that references
// may name. An asset's text is filled in when it is UTF-8 of at most 1 MiB, and
// else why it is not.
func (p *Pack) ScoringCase(c Case) scoring.Case {
	s := scoring.Case{
		Key:          c.Key(),
		ChallengeKey: c.ChallengeKey,
		Payload:      json.RawMessage("{}"),
		Inputs:       map[string]scoring.CaseInput{},
		Expectations: map[string]scoring.CaseInput{},
		Artifacts:    map[string]scoring.AssetEvidence{},
		Watched:      !p.Security.Empty(),
	}
	if len(c.Payload) > 0 {
		s.Payload = compact(c.Payload)
	}
	for _, in := range c.Inputs {
		s.Inputs[in.Key] = scoring.CaseInput{Kind: in.Kind, Value: value(in.Value), ArtifactKey: in.ArtifactKey, Path: in.Path}
	}
	for _, e := range c.Expectations {
		s.Expectations[e.Key] = scoring.CaseInput{Kind: e.Kind, Value: value(e.Value), ArtifactKey: e.ArtifactKey, Source: e.Source}
	}
	for _, a := range c.Assets {
		s.Artifacts[a.Key] = p.evidence(a)
	}
	for _, key := range c.referredKeys() {
		if a, ok := p.artifactFor(key, c.ChallengeKey); ok {
			s.Artifacts[key] = p.evidence(a)
		}
	}
	return s
}

func value(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	return compact(v)
}

// referredKeys are the artifact keys that a case uses in any way.
func (c Case) referredKeys() []string {
	var keys []string
	for _, ref := range c.Artifacts {
		keys = append(keys, ref.Key)
	}
	for _, in := range c.Inputs {
		keys = append(keys, in.ArtifactKey)
	}
	for _, e := range c.Expectations {
		keys = append(keys, e.ArtifactKey, e.sourceArtifact())
	}
	return keys
}

func (p *Pack) evidence(a Asset) scoring.AssetEvidence {
	e := scoring.AssetEvidence{Key: a.Key, Kind: a.Kind, Path: a.Path, MediaType: a.MediaType}
	name, _ := assetPath(a.Path)
	switch data, ok := p.assets[name]; {
	case !ok:
	case len(data) > maxEvidenceText:
		e.Unread = fmt.Sprintf("it has %d bytes, more than %d", len(data), maxEvidenceText)
	case !utf8.Valid(data):
		e.Unread = "it is not UTF-8"
	default:
		e.Text = new(string(data))
	}
	return e
}
