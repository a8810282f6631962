package pack

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/pack/template"
)

// maxPackages is how many packages are installed for a pack.
const maxPackages = 200

// Blocker is something in a valid pack that keeps this version from running it:
// a part of the format that is not built yet, or a mistake that the format does
// not forbid. Field is as in [Problem].
type Blocker struct{ Field, Message string }

// Blockers returns everything that keeps this version from running the pack.
// To run it all the same would be to run another pack than the one written.
func (p *Pack) Blockers() []Blocker {
	b := blockers{Pack: p}
	b.arenas()
	b.blocks()
	b.tools()
	b.box()
	b.toolPolicy()
	b.filesystem()
	b.room()
	b.prompts()
	b.workspaceFiles()
	b.security()
	for _, f := range p.Version.EvaluationSpec.Unsupported() {
		b.add(specField+"."+f.Field, "%s", f.Message)
	}
	b.assets()
	return b.found
}

// MissingAssets are the blockers that are local assets without bytes. Such a
// pack cannot be published either.
func (p *Pack) MissingAssets() []Blocker {
	b := blockers{Pack: p}
	b.assets()
	return b.found
}

// blockers gathers what it finds in the order of the file's blocks.
type blockers struct {
	*Pack
	found []Blocker
}

func (b *blockers) add(field, format string, args ...any) {
	b.found = append(b.found, Blocker{field, fmt.Sprintf(format, args...)})
}

// arenas are comparisons of conversations after a run.
func (b *blockers) arenas() {
	for i, set := range b.InputSets {
		for j, c := range set.Cases {
			if u := c.UserSimulator; u != nil && u.PostRun != nil && u.PostRun.Arena != nil && u.PostRun.Arena.Enabled {
				b.add(fmt.Sprintf("input_sets[%d].cases[%d].user_simulator.post_run.arena", i, j),
					"this version does not pair conversations after a run; leave it out and have a judge of the mode n_wise rank them")
			}
		}
	}
}

// blocks are the parts of the format that nothing reads yet.
func (b *blockers) blocks() {
	if b.Modality == Voice {
		b.add("modality", "this version does not run voice packs")
	}
}

// tools are the pack's own that no run can have.
func (b *blockers) tools() {
	tools, problems := template.ReadTools(b.Tools)
	for _, p := range problems {
		if p.Blocks {
			b.add(p.Field, "%s", p.Message)
		}
	}
	for i, c := range tools.Custom {
		if c.Name != template.Submit && b.unlocked(c.Name) { // submit has been said
			b.add(indexed("tools.custom", i)+".name", "is the name of a built-in tool that the tool policy unlocks")
		}
	}
}

// unlocked says whether the tool policy unlocks a built-in tool.
func (p *Pack) unlocked(name string) bool {
	var kinds []string
	list, _ := p.Version.ToolPolicy["allowed_tool_kinds"].([]any)
	for _, item := range list {
		kind, _ := item.(string)
		kinds = append(kinds, kind)
	}
	shell, _ := p.Version.ToolPolicy["allow_shell"].(bool)
	return slices.ContainsFunc(template.Primitives(), func(t template.Primitive) bool {
		return t.Name == name && t.Unlocked(kinds, shell)
	})
}

func (b *blockers) box() {
	const field = "version.sandbox"
	box := b.Version.Sandbox
	if box == nil {
		return
	}
	for i, name := range box.AdditionalPackages {
		if strings.HasSuffix(name, "-") { // the format lets it be
			b.add(indexed(field+".additional_packages", i), "ends in a minus, by which apt-get removes a package")
		}
	}
	if n := len(box.AdditionalPackages); n > maxPackages {
		b.add(field+".additional_packages", "are %d: at most %d are installed; name an image that has them in sandbox_template_id", n, maxPackages)
	}
	for _, name := range sortedKeys(box.EnvVars) {
		if strings.ContainsRune(box.EnvVars[name], 0) {
			b.add(field+".env_vars["+name+"]", "holds a NUL character, which no environment can")
		}
	}
}

func (b *blockers) toolPolicy() {
	for _, key := range []string{"allow_shell", "allow_network"} {
		if value, set := b.Version.ToolPolicy[key]; set && value != nil {
			if _, ok := value.(bool); !ok {
				b.add("version.tool_policy."+key, "must be true or false, without quotes")
			}
		}
	}
}

// filesystem refuses what would not be kept to.
func (b *blockers) filesystem() {
	const field = "version.filesystem"
	known := []string{"working_directory", "readable_roots", "writable_roots", "max_workspace_bytes"}
	for _, key := range sortedKeys(b.Version.Filesystem) {
		value, at := b.Version.Filesystem[key], join(field, key)
		switch key {
		case "working_directory":
			b.workingDirectory(at, value)
		case "readable_roots", "writable_roots":
			b.roots(at, value)
		case "max_workspace_bytes":
			if n, ok := value.(int64); !ok || n < 0 {
				b.add(at, "must be a whole number of bytes, 0 for no limit")
			}
		default:
			b.add(at, "is not a key that this version keeps to%s", didYouMean(key, known))
		}
	}
	_, read, write := b.Roots()
	if _, set := b.Version.Filesystem["working_directory"]; !set && len(write) > 0 && !below(workspace, read) {
		b.add(field, "agents start in %s, which is in none of the directories that they may read: set working_directory, or add it to readable_roots", workspace)
	}
}

func (b *blockers) workingDirectory(field string, value any) {
	dir, _ := value.(string)
	full, inside := inWorkspace(dir)
	_, read, write := b.Roots()
	switch {
	case !inside:
		b.add(field, "must be a directory in %s", workspace)
	case len(write) > 0 && !below(full, read) && !below(full, write):
		b.add(field, "is in none of the directories that agents may read: add it to readable_roots")
	}
}

// roots sees that the roots are directories that can be, and narrow something:
// a limit that is silently not kept is worse than none.
func (b *blockers) roots(field string, value any) {
	list, ok := value.([]any)
	if !ok {
		b.add(field, "must be a list of directories")
		return
	}
	for i, item := range list {
		dir, _ := item.(string)
		if _, inside := inWorkspace(dir); !inside {
			b.add(indexed(field, i), "must be a directory in %s", workspace)
		}
	}
	_, read, write := b.Roots()
	if strings.HasSuffix(field, ".readable_roots") && len(write) == 0 && len(read) > 0 && read[0] != workspace {
		b.add(field, "has no effect while agents may write to all of %s, and so read it: set writable_roots, too", workspace)
	}
}

// prompts sees that every challenge that is asked says something.
func (b *blockers) prompts() {
	if !b.Asks() {
		return
	}
	said := map[string]bool{}
	for _, set := range b.InputSets {
		for _, c := range set.Cases {
			i, ok := b.lookup().challenges[c.ChallengeKey]
			if !ok || said[c.ChallengeKey] || strings.TrimSpace(b.Challenges[i].Prompt()) != "" {
				continue
			}
			said[c.ChallengeKey] = true
			b.add(indexed("challenges", i)+".instructions", "are required when execution_mode is %s: they are all that a model is sent", b.Mode())
		}
	}
}

// workspaceFiles sees that what a case puts into the workspace has a path and a
// content, and that no path would have to be a file and a directory at once.
func (b *blockers) workspaceFiles() {
	if b.Asks() {
		return // nothing is staged
	}
	for i, set := range b.InputSets {
		for j, c := range set.Cases {
			field := fmt.Sprintf("input_sets[%d].cases[%d]", i, j)
			for _, list := range c.fileLists() {
				_, problems := workspaceFiles(list.value)
				for _, p := range problems {
					b.add(field+"."+list.field+p.Field, "%s", p.Message)
				}
			}
			b.collisions(field, c)
		}
	}
}

func (b *blockers) collisions(field string, c Case) {
	files := map[string]bool{}
	for _, f := range b.staged(c) {
		files[f.Path] = true
	}
	dirs := map[string]bool{}
	root, read, write := b.Roots()
	for _, dir := range slices.Concat([]string{root}, read, write) {
		for ; len(dir) > len(workspace); dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, p := range sortedKeys(files) {
		for dir := path.Dir(p); len(dir) > len(workspace) && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	for _, p := range sortedKeys(files) {
		if dirs[p] {
			b.add(field, "%s would be a file and a directory at once", quote(p))
		}
	}
}

func (b *blockers) assets() {
	for _, a := range b.everyAsset() {
		_, bad := assetPath(a.Path)
		switch {
		case bad != "" && a.Path != "" && !escapes(a.Path): // that is an error of the format
			b.add(a.field+".path", "%s", bad)
		}
	}
	b.found = append(b.found, b.missing...)
}
