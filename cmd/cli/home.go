package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/agentclash/agentclash/cmd/config"
)

// Home is the directory that holds the store, the secrets and the
// configuration: AGENTCLASH_HOME, else ~/.agentclash.
func (a *App) Home() (string, error) {
	if dir := a.Process.Getenv("AGENTCLASH_HOME"); dir != "" {
		return a.Path(dir), nil
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if dir := a.Process.Getenv(name); dir != "" {
			return filepath.Join(dir, ".agentclash"), nil
		}
	}
	return "", (&Failure{Status: StatusUsage, Code: "invalid_config", Err: errors.New("find the home directory: HOME is not set")}).
		Hint("set HOME, or AGENTCLASH_HOME to a directory of your choice")
}

// OfHome says of an error what to type when it is that the home is a file, which no
// command has named.
func (a *App) OfHome(err error) error {
	var at *fs.PathError
	if !errors.Is(err, syscall.ENOTDIR) || !errors.As(err, &at) {
		return err
	}
	home, herr := a.Home()
	if herr != nil || !within(home, at.Path) && !within(at.Path, home) {
		return err
	}
	return (&Failure{Status: StatusUsage, Code: "invalid_config", Err: err}).Hint("set AGENTCLASH_HOME to a directory")
}

// within says whether a path is a directory or leads into it.
func within(dir, path string) bool {
	inside, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(inside)
}

// Path resolves an argument against the working directory.
func (a *App) Path(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(a.Process.Dir, p)
}

// WorkspaceName is the workspace to work in.
func (a *App) WorkspaceName() (string, error) {
	v, err := a.Setting(config.Workspace, NonEmpty(a.Workspace))
	return v.Value, err
}
