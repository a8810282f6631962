package ci

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Change is what a job is asked about.
type Change struct {
	Files  []string // from the repository's root, with slashes, as git has them
	Labels []string
}

// The values of [Decision.Reason].
const (
	ReasonPath     = "path_match"
	ReasonLabel    = "label_match"
	ReasonManifest = "manifest_changed"
	ReasonNone     = "no_match"
)

// Decision says whether a change wants an evaluation. It is what `ci should-run`
// prints. No list is ever nil.
type Decision struct {
	ManifestPath  string   `json:"manifest_path"`
	ShouldRun     bool     `json:"should_run"`
	Reason        string   `json:"reason"`
	MatchedPaths  []string `json:"matched_paths"`
	MatchedLabels []string `json:"matched_labels"`
	ChangedFiles  int      `json:"changed_file_count"`
	// Base, Head and MergeBase are commits, empty when files were named.
	Base      string `json:"base,omitempty"`
	Head      string `json:"head,omitempty"`
	MergeBase string `json:"merge_base,omitempty"`
}

// ShouldRun holds a change against a manifest's trigger: a path or a label is
// enough, and so is the manifest itself, whose path from the root is given.
func (m *Manifest) ShouldRun(manifest string, c Change) Decision {
	d := Decision{ManifestPath: manifest, Reason: ReasonNone, MatchedPaths: []string{}, MatchedLabels: []string{}, ChangedFiles: len(c.Files)}
	changed := false
	for _, file := range c.Files {
		matched := slices.ContainsFunc(m.Trigger.Paths, func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, file) })
		if matched || file == manifest {
			d.MatchedPaths = append(d.MatchedPaths, file)
		}
		changed = changed || !matched && file == manifest
	}
	for _, label := range c.Labels {
		if slices.ContainsFunc(m.Trigger.Labels, func(want string) bool { return strings.EqualFold(strings.TrimSpace(want), strings.TrimSpace(label)) }) {
			d.MatchedLabels = append(d.MatchedLabels, label)
		}
	}
	switch {
	case changed && len(d.MatchedPaths) == 1 && len(d.MatchedLabels) == 0:
		d.Reason = ReasonManifest
	case len(d.MatchedPaths) > 0:
		d.Reason = ReasonPath
	case len(d.MatchedLabels) > 0:
		d.Reason = ReasonLabel
	}
	d.ShouldRun = d.Reason != ReasonNone
	return d
}
