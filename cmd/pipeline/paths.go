package pipeline

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/pack/regression"
)

// ciPaths refuses the first path of a manifest that [app.ciInside] refuses.
func ciPaths(a *cli.App, m *ci.Manifest) error {
	for _, p := range m.Paths() {
		if err := ciInside(a, p.Path); err != nil {
			return cli.Usage("%s: %w", p.Field, err)
		}
	}
	return ciSuites(a, m)
}

// ciSuites refuses suites that are kept elsewhere than in the repository, where a
// manifest reads or writes any by name.
func ciSuites(a *cli.App, m *ci.Manifest) error {
	e := m.Evaluation
	if m.Regressions.PromoteFailures == ci.Disabled && len(e.RegressionSuites)+len(e.RegressionCases) == 0 {
		return nil
	}
	dir := a.SuiteDir()
	if err := ciInside(a, a.Shown(dir)); err != nil {
		return err
	}
	files, err := regression.Files(dir)
	for _, file := range files {
		if err := ciInside(a, a.Shown(file)); err != nil {
			return err
		}
	}
	return err
}

// ciInside refuses a path that leads out of the repository by a link, and what is
// neither file nor directory: whoever opens a pull request could have the machine's
// own files shown to a model or written, or a job that waits for ever. What is not there is
// for its reader to tell.
func ciInside(a *cli.App, path string) error {
	root, err := filepath.EvalSymlinks(a.Process.Dir)
	if err != nil {
		return err
	}
	full, err := filepath.EvalSymlinks(a.Path(path))
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		root, full, err = a.Process.Dir, a.Path(path), nil
	}
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(root, full); err != nil || !filepath.IsLocal(rel) {
		return cli.Usage("%s leads out of the repository, to %s", path, full)
	}
	if missing {
		return nil
	}
	info, err := os.Stat(full)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return cli.Usage("%s is a pipe or a device", path)
	}
	return err
}
