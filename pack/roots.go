package pack

import (
	"slices"
	"strings"
)

// Roots are version.filesystem's directories, absolute and clean, none below
// another of its list: where agents work ("" for the workspace itself), what they
// may read, and what they may write and read. No write is all of the workspace,
// and read then says nothing.
func (p *Pack) Roots() (dir string, read, write []string) {
	given, _ := p.Version.Filesystem["working_directory"].(string)
	if full, inside := inWorkspace(given); inside && full != workspace {
		dir = full
	}
	read, write = p.rootList("readable_roots"), p.rootList("writable_roots")
	if slices.Contains(write, workspace) {
		write = nil
	}
	if len(write) > 0 && len(read) == 0 {
		read = []string{workspace}
	}
	return dir, read, write
}

func (p *Pack) rootList(key string) []string {
	items, _ := p.Version.Filesystem[key].([]any)
	var all []string
	for _, item := range items {
		text, _ := item.(string)
		if full, inside := inWorkspace(text); inside {
			all = append(all, full)
		}
	}
	slices.Sort(all)
	var roots []string
	for _, dir := range all { // what is above comes first
		if !below(dir, roots) {
			roots = append(roots, dir)
		}
	}
	return roots
}

// below tells whether a directory is one of the roots or in one.
func below(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return dir == root || strings.HasPrefix(dir, root+"/") })
}
