package pack

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// StagedFile is a file that is put into a sandbox.
type StagedFile struct {
	Path string // absolute, below /workspace, clean
	Data []byte // must not be changed
}

// WorkspaceFiles returns what an agent finds in its workspace: the assets of
// the version, of the case's challenge and of the case, then the files written
// in payload.workspace_files and in inputs of kind workspace, then those that
// secrets are planted in, sorted by path.
// Where two want one path, the later in this order wins.
//
// A file that any case's expectations refer to is not among them, unless this
// case or its challenge refers to it as well, as an input or an artifact.
func (p *Pack) WorkspaceFiles(c Case) []StagedFile {
	last := map[string]StagedFile{}
	for _, f := range p.staged(c) {
		last[f.Path] = f
	}
	return sortedFiles(last)
}

// GraderFiles returns the assets that the case's expectations refer to and
// that [Pack.WorkspaceFiles] keeps from the agent, sorted by path. They are
// staged after the agent has been stopped.
func (p *Pack) GraderFiles(c Case) []StagedFile {
	shown := map[string]bool{}
	for _, name := range p.agentAssets(c) {
		shown[name] = true
	}
	files := map[string]StagedFile{}
	for name := range p.expectedPaths(c) {
		if data, ok := p.assets[name]; ok && !shown[name] {
			files[name] = StagedFile{workspace + "/" + name, data}
		}
	}
	return sortedFiles(files)
}

func sortedFiles(byPath map[string]StagedFile) []StagedFile {
	files := make([]StagedFile, 0, len(byPath))
	for _, f := range byPath {
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b StagedFile) int { return cmp.Compare(a.Path, b.Path) })
	return files
}

// staged lists the files of a case in the order they are put in place.
func (p *Pack) staged(c Case) []StagedFile {
	var files []StagedFile
	for _, name := range p.agentAssets(c) {
		files = append(files, StagedFile{workspace + "/" + name, p.assets[name]})
	}
	for _, list := range c.fileLists() {
		written, _ := workspaceFiles(list.value)
		files = append(files, written...)
	}
	return append(files, p.plantedFiles(files)...)
}

// agentAssets returns the paths of the assets an agent may have, each once.
func (p *Pack) agentAssets(c Case) []string {
	challenge, _ := p.Challenge(c.ChallengeKey)
	hidden := p.lookup().expected
	referred := p.referredPaths(c, challenge)
	var names []string
	seen := map[string]bool{}
	for _, list := range [][]Asset{p.Version.Assets, challenge.Assets, c.Assets} {
		for _, a := range list {
			name, bad := assetPath(a.Path)
			if bad != "" || seen[name] || hidden[name] && !referred[name] {
				continue
			}
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// referredPaths are the assets that the case or its challenge means the agent
// to have.
func (p *Pack) referredPaths(c Case, challenge Challenge) map[string]bool {
	keys := []string{}
	for _, ref := range slices.Concat(challenge.ArtifactRefs, c.Artifacts) {
		keys = append(keys, ref.Key)
	}
	for _, in := range c.Inputs {
		keys = append(keys, in.ArtifactKey)
	}
	return p.paths(keys, c.ChallengeKey)
}

// expectedPaths are the assets that the case's expectations refer to.
func (p *Pack) expectedPaths(c Case) map[string]bool {
	var keys []string
	for _, e := range c.Expectations {
		keys = append(keys, e.ArtifactKey, e.sourceArtifact())
	}
	return p.paths(keys, c.ChallengeKey)
}

func (p *Pack) paths(keys []string, challenge string) map[string]bool {
	var paths map[string]bool
	for _, key := range keys {
		a, ok := p.artifactFor(key, challenge)
		if !ok {
			continue
		}
		if name, bad := assetPath(a.Path); bad == "" {
			if paths == nil {
				paths = map[string]bool{}
			}
			paths[name] = true
		}
	}
	return paths
}

// artifactFor finds the asset a reference means: one of the version, else one
// of the challenge it is used for.
func (p *Pack) artifactFor(key, challenge string) (Asset, bool) {
	if key == "" {
		return Asset{}, false
	}
	if i, ok := p.lookup().assets[key]; ok {
		return p.Version.Assets[i], true
	}
	ch, _ := p.Challenge(challenge)
	for _, a := range ch.Assets {
		if a.Key == key {
			return a, true
		}
	}
	return Asset{}, false
}

// sourceArtifact is the key in `source: artifact:<key>`, "" for none.
func (e Expectation) sourceArtifact() string {
	key, ok := strings.CutPrefix(strings.TrimSpace(e.Source), "artifact:")
	if !ok {
		return ""
	}
	return strings.TrimSpace(key)
}

// workspaceKind is the kind of an input whose value is a list of files.
const workspaceKind = "workspace"

// fileList is a value that holds files for the workspace and its field in the
// case.
type fileList struct {
	field string
	value any
}

func (c Case) fileLists() []fileList {
	var lists []fileList
	if v := c.Payload["workspace_files"]; v != nil {
		lists = append(lists, fileList{"payload.workspace_files", v})
	}
	for i, in := range c.Inputs {
		if in.Kind == workspaceKind && in.Value != nil {
			lists = append(lists, fileList{indexed("inputs", i) + ".value", in.Value})
		}
	}
	return lists
}

// workspaceFiles reads a list of {path, content}. The fields of its problems
// are what comes after the list's own.
func workspaceFiles(value any) (files []StagedFile, problems Problems) {
	list, ok := value.([]any)
	if !ok {
		return nil, Problems{{Message: "must be a list of files, each with path and content"}}
	}
	wrong := func(field, message string) {
		problems = append(problems, Problem{Field: field, Message: message})
	}
	for i, item := range list {
		at := fmt.Sprintf("[%d]", i)
		entry, ok := item.(map[string]any)
		if !ok {
			wrong(at, "must be a file with path and content")
			continue
		}
		name, isText := entry["path"].(string)
		full, inside := inWorkspace(name)
		if !isText || !inside || full == workspace {
			wrong(at+".path", "must be the path of a file in "+workspace)
			continue
		}
		content, isText := entry["content"].(string)
		if !isText {
			wrong(at+".content", "must be text")
			continue
		}
		files = append(files, StagedFile{full, []byte(content)})
	}
	return files, problems
}

// inWorkspace makes a path absolute and clean and says whether it names
// something in the workspace. A path that needs "..", even where it would lead
// back, is refused.
func inWorkspace(name string) (string, bool) {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7F }) {
		return "", false
	}
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", false
	}
	full := name
	if !path.IsAbs(full) {
		full = workspace + "/" + full
	}
	full = path.Clean(full)
	return full, full == workspace || strings.HasPrefix(full, workspace+"/")
}
