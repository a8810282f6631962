package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gopkg.in/yaml.v3"
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

// workspaceName is the workspace to work in: flag, environment, project file,
// "default".
func (a *app) workspaceName() (string, error) {
	if a.workspace != "" {
		return a.workspace, nil
	}
	if w := a.p.Getenv("AGENTCLASH_WORKSPACE"); w != "" {
		return w, nil
	}
	project, err := a.project()
	if err != nil {
		return "", err
	}
	if project.Workspace != "" {
		return project.Workspace, nil
	}
	return "default", nil
}

// project is the nearest .agentclash.yaml, from the working directory upwards.
type project struct {
	Workspace string `yaml:"workspace"`
}

func (a *app) project() (project, error) {
	for dir := a.p.Dir; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, ".agentclash.yaml")
		src, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			if dir == filepath.Dir(dir) {
				return project{}, nil
			}
			continue
		}
		if err != nil {
			return project{}, fmt.Errorf("read the project file: %w", err)
		}
		var p project
		if err := yaml.Unmarshal(src, &p); err != nil {
			return project{}, &failure{status: statusUsage, code: "invalid_config", err: fmt.Errorf("read %s: %w", file, err)}
		}
		return p, nil
	}
}
