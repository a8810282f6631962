package pack

import "strings"

// normalize gives a pack its one form: names trimmed, legacy spellings turned
// into today's, empty mappings where the format promises one. Doing it twice
// changes nothing. Text that people or models read (descriptions, payloads,
// values), free mappings, the sandbox block and the evaluation spec, which
// scoring normalizes for itself, are left as they were written.
func (p *Pack) normalize() {
	trim(&p.Pack.Slug, &p.Pack.Name, &p.Pack.Family, &p.Version.ExecutionMode)
	p.Pack.Family = strings.ToLower(p.Pack.Family)
	trimAssets(p.Version.Assets)
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

func trim(fields ...*string) {
	for _, f := range fields {
		*f = strings.TrimSpace(*f)
	}
}

func trimAssets(assets []Asset) {
	for i := range assets {
		a := &assets[i]
		trim(&a.Key, &a.Path, &a.Kind, &a.MediaType, &a.ArtifactID)
	}
}

func trimRefs(refs []ArtifactRef) {
	for i := range refs {
		trim(&refs[i].Key)
	}
}
