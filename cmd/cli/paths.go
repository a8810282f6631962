package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/pack/regression"
)

// LooksLikePath says that an argument means a file: by its first character, a
// separator or its suffix.
func LooksLikePath(s string) bool {
	return strings.HasPrefix(s, ".") || strings.ContainsAny(s, `/\`) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(s))
}

// Exists says that there is a file, and no directory, at path.
func Exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// ReadBounded reads a file, or stdin for -, of at most so many bytes.
func (a *App) ReadBounded(file string, most int64) ([]byte, error) {
	in := a.Process.In
	if file != StdoutPath {
		info, err := os.Stat(a.Path(file))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &Failure{Status: StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("read %s: no such file", file)}
		case err != nil:
		case info.IsDir():
			return nil, Usage("%s is a directory", file)
		case !info.Mode().IsRegular() && !strings.HasPrefix(filepath.ToSlash(file), "/dev/"): // opening a pipe that nobody writes to waits for ever
			return nil, Usage("%s is a pipe or a device: hand it over on stdin, with - for the file", file)
		}
		f, err := os.Open(a.Path(file))
		if at := (*fs.PathError)(nil); errors.As(err, &at) {
			err = at.Err // it names the file once more, in full
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		defer f.Close()
		in = f
	}
	src, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if int64(len(src)) > most {
		return nil, Usage("%s is longer than %d MiB", file, most>>20)
	}
	return src, nil
}

// StdoutPath stands for stdout.
const StdoutPath = "-"

// Shown is a path as people type it: below the working directory without it.
func (a *App) Shown(path string) string {
	if rel, err := filepath.Rel(a.Process.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// SuiteDir is where the suites of the working directory's repository are.
func (a *App) SuiteDir() string {
	home, err := a.Home()
	if err != nil {
		home = "" // then no directory is mistaken for it
	}
	// the user's own is none of a repository, also when AGENTCLASH_HOME is another
	return regression.Home(a.Process.Dir, home, filepath.Join(a.Process.Getenv("HOME"), ".agentclash"))
}
