package cmd

import (
	"errors"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/config"
)

// home is the directory that holds the store, the secrets and the
// configuration: AGENTCLASH_HOME, else ~/.agentclash.
func (a *app) home() (string, error) {
	if dir := a.p.Getenv("AGENTCLASH_HOME"); dir != "" {
		return a.path(dir), nil
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := a.p.Getenv(name); dir != "" {
			return filepath.Join(dir, ".agentclash"), nil
		}
	}
	return "", (&failure{status: statusUsage, code: "invalid_config", err: errors.New("find the home directory: HOME is not set")}).
		hint("set HOME, or AGENTCLASH_HOME to a directory of your choice")
}

// path resolves an argument against the working directory.
func (a *app) path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.p.Dir, p)
}

// workspaceName is the workspace to work in.
func (a *app) workspaceName() (string, error) {
	v, err := a.setting(config.Workspace, nonEmpty(a.workspace))
	return v.Value, err
}
