package pipeline

import (
	"github.com/agentclash/agentclash/cmd/ci"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/pack/regression"
)

// ciPaths refuses the first path of a manifest that [cli.Inside] refuses.
func ciPaths(a *cli.App, m *ci.Manifest) error {
	for _, p := range m.Paths() {
		if err := cli.Inside(a.Process.Dir, p.Path); err != nil {
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
	if err := cli.Inside(a.Process.Dir, a.Shown(dir)); err != nil {
		return err
	}
	files, err := regression.Files(dir)
	for _, file := range files {
		if err := cli.Inside(a.Process.Dir, a.Shown(file)); err != nil {
			return err
		}
	}
	return err
}
