package pack

import (
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

// normalize gives a pack its one form: names trimmed, legacy spellings turned
// into today's, empty mappings where the format promises one. Doing it twice
// changes nothing. Text that people or models read (descriptions, payloads,
// values), free mappings, the sandbox block and the evaluation spec, which
// scoring normalizes for itself, are left as they were written.
func (p *Pack) normalize() {
	trim(&p.Pack.Slug, &p.Pack.Name, &p.Pack.Family, &p.Version.ExecutionMode, &p.Modality)
	lower(&p.Pack.Family)
	trimAssets(p.Version.Assets)
	p.Version.DeploymentDefaults = p.Version.DeploymentDefaults.normal()
	normalizeSecurity(p.Security)
	if s := p.InterfaceSpec; s != nil {
		trimEach(s.Transports)
		trim(&s.ChannelProfile)
	}
	if s := p.Scenario; s != nil {
		trim(&s.Persona, &s.Language)
	}
	for i := range p.Challenges {
		p.Challenges[i].normalize()
	}
	for i := range p.InputSets {
		p.InputSets[i].normalize()
	}
}

func (c *Challenge) normalize() {
	trim(&c.Key, &c.Title, &c.Category, &c.Difficulty, &c.Instructions)
	trimAssets(c.Assets)
	trimRefs(c.ArtifactRefs)
	if c.Definition == nil {
		c.Definition = map[string]any{}
	}
	if _, set := c.Definition["instructions"]; !set && c.Instructions != "" {
		c.Definition["instructions"] = c.Instructions
	}
}

func (s *InputSet) normalize() {
	trim(&s.Key, &s.Name)
	if len(s.Cases) == 0 {
		for _, item := range s.Items {
			s.Cases = append(s.Cases, Case{
				ChallengeKey: item.ChallengeKey,
				CaseKey:      item.ItemKey,
				ItemKey:      item.ItemKey,
				Payload:      item.Payload,
				Assets:       item.Assets,
			})
		}
	}
	s.Items = nil
	for i := range s.Cases {
		s.Cases[i].normalize()
	}
}

func (c *Case) normalize() {
	trim(&c.ChallengeKey, &c.CaseKey, &c.ItemKey)
	if c.CaseKey == "" {
		c.CaseKey = c.ItemKey
	}
	if c.ItemKey == "" {
		c.ItemKey = c.CaseKey
	}
	if c.Payload == nil {
		c.Payload = map[string]any{}
	}
	for i := range c.Inputs {
		in := &c.Inputs[i]
		trim(&in.Key, &in.Kind, &in.ArtifactKey, &in.Path)
	}
	for i := range c.Expectations {
		e := &c.Expectations[i]
		trim(&e.Key, &e.Kind, &e.ArtifactKey, &e.Source)
	}
	trimRefs(c.Artifacts)
	trimAssets(c.Assets)
}

// normal is the block trimmed; nil when it says nothing.
func (d *DeploymentDefaults) normal() *DeploymentDefaults {
	if d == nil || len(d.Aliases)+len(d.Lineups) == 0 {
		return nil
	}
	n := &DeploymentDefaults{Aliases: map[string]string{}, Lineups: map[string][]string{}}
	for _, key := range sortedKeys(d.Aliases) {
		n.Aliases[strings.TrimSpace(key)] = strings.TrimSpace(d.Aliases[key])
	}
	for _, key := range sortedKeys(d.Lineups) {
		trimEach(d.Lineups[key])
		n.Lineups[strings.TrimSpace(key)] = d.Lineups[key]
	}
	return n
}

// normalizeSecurity leaves the texts of adversarial prompts as they are: spaces may be
// part of an attack.
func normalizeSecurity(s *scoring.Security) {
	if s == nil {
		return
	}
	word(&s.DefaultSeverity)
	for i := range s.PlantedSecrets {
		p := &s.PlantedSecrets[i]
		trim(&p.Name, &p.Value, &p.FilePath)
		word(&p.Location, &p.Severity)
	}
	for i := range s.ForbiddenOutputs {
		o := &s.ForbiddenOutputs[i]
		trim(&o.Description, &o.Pattern, &o.Substring)
		word(&o.Severity)
	}
	for i := range s.ForbiddenEgress {
		e := &s.ForbiddenEgress[i]
		trim(&e.Description)
		word(&e.Host, &e.Severity)
		for j := range e.Allow {
			word(&e.Allow[j])
		}
	}
	for i := range s.AdversarialPrompts {
		a := &s.AdversarialPrompts[i]
		trim(&a.Name, &a.ExpectedRefusalPattern)
		word(&a.Strategy)
	}
}

func trimEach(texts []string) {
	for i := range texts {
		trim(&texts[i])
	}
}

func lower(fields ...*string) {
	for _, f := range fields {
		*f = strings.ToLower(*f)
	}
}

// word is for names that are compared without regard to case.
func word(fields ...*string) {
	trim(fields...)
	lower(fields...)
}

func trim(fields ...*string) {
	for _, f := range fields {
		*f = strings.TrimSpace(*f)
	}
}

func trimAssets(assets []Asset) {
	for i := range assets {
		a := &assets[i]
		trim(&a.Key, &a.Path, &a.Kind, &a.MediaType)
	}
}

func trimRefs(refs []ArtifactRef) {
	for i := range refs {
		trim(&refs[i].Key)
	}
}
