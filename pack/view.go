package pack

import (
	"maps"
	"slices"
)

// AgentView is all that an agent may know of the pack and of its case. It is
// built up from nothing, never by taking away: expectations, the evaluation
// spec, tools' canned answers and other cases are not in it because nothing
// puts them there.
type AgentView struct {
	Pack      ViewPack      `json:"pack"`
	Challenge ViewChallenge `json:"challenge"`
	Case      ViewCase      `json:"case"`
	// Files are the paths staged in the workspace, sorted.
	Files []string `json:"workspace_files,omitempty"`
}

// ViewPack names the pack.
type ViewPack struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// ViewChallenge is the task.
type ViewChallenge struct {
	Key          string         `json:"key"`
	Title        string         `json:"title"`
	Category     string         `json:"category"`
	Difficulty   string         `json:"difficulty"`
	Instructions string         `json:"instructions,omitempty"`
	Definition   map[string]any `json:"definition,omitempty"` // without the instructions
}

// ViewCase is what the case gives the agent. Files that are staged in the
// workspace are left out here.
type ViewCase struct {
	Key     string         `json:"case_key"`
	Payload map[string]any `json:"payload,omitempty"`
	Inputs  []ViewInput    `json:"inputs,omitempty"`
}

// ViewInput is one input.
type ViewInput struct {
	Key   string `json:"key"`
	Kind  string `json:"kind"`
	Value any    `json:"value,omitempty"`
	// File is where the workspace holds the asset of an input that names one.
	File string `json:"file,omitempty"`
	Path string `json:"path,omitempty"`
}

// AgentView returns what an agent may see of a case.
func (p *Pack) AgentView(c Case) AgentView {
	ch, _ := p.Challenge(c.ChallengeKey)
	view := AgentView{
		Pack: ViewPack{Slug: p.Pack.Slug, Name: p.Pack.Name},
		Challenge: ViewChallenge{
			Key: ch.Key, Title: ch.Title, Category: ch.Category, Difficulty: ch.Difficulty,
			Instructions: ch.Prompt(),
			Definition:   without(ch.Definition, "instructions"),
		},
		Case: ViewCase{Key: c.Key(), Payload: without(c.Payload, "workspace_files")},
	}
	for _, f := range p.WorkspaceFiles(c) {
		view.Files = append(view.Files, f.Path)
	}
	for _, in := range c.Inputs {
		view.Case.Inputs = append(view.Case.Inputs, p.viewInput(in, c, view.Files))
	}
	return view
}

func (p *Pack) viewInput(in CaseInput, c Case, files []string) ViewInput {
	v := ViewInput{Key: in.Key, Kind: in.Kind, Value: in.Value, Path: in.Path}
	if in.Kind == workspaceKind {
		v.Value = nil
	}
	if a, ok := p.artifactFor(in.ArtifactKey, c.ChallengeKey); ok {
		if name, _ := assetPath(a.Path); slices.Contains(files, workspace+"/"+name) {
			v.File = workspace + "/" + name
		}
	}
	return v
}

// without is m less one key; nil when nothing is left.
func without(m map[string]any, key string) map[string]any {
	rest := maps.Clone(m)
	delete(rest, key)
	if len(rest) == 0 {
		return nil
	}
	return rest
}
