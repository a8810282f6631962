package cmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/ci"
)

// ciPaths refuses the first path of a manifest that [app.ciInside] refuses.
func (a *app) ciPaths(m *ci.Manifest) error {
	for _, p := range m.Paths() {
		if err := a.ciInside(p.Path); err != nil {
			return usage("%s: %w", p.Field, err)
		}
	}
	return nil
}

// ciInside refuses a path that leads out of the repository by a link, and what is
// neither file nor directory: whoever opens a pull request could have the machine's
// own files shown to a model, or a job that waits for ever. What is not there is
// for its reader to tell.
func (a *app) ciInside(path string) error {
	root, err := filepath.EvalSymlinks(a.p.Dir)
	if err != nil {
		return err
	}
	full, err := filepath.EvalSymlinks(a.path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, full); err != nil || !filepath.IsLocal(rel) {
		return usage("%s leads out of the repository, to %s", path, full)
	}
	info, err := os.Stat(full)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return usage("%s is a pipe or a device", path)
	}
	return err
}
