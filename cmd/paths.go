package cmd

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

func looksLikePath(s string) bool {
	return strings.HasPrefix(s, ".") || strings.ContainsAny(s, `/\`) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(s))
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// readBounded reads a file, or stdin for -, of at most so many bytes.
func (a *app) readBounded(file string, most int64) ([]byte, error) {
	in := a.p.In
	if file != stdoutPath {
		info, err := os.Stat(a.path(file))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &failure{status: statusNotFound, code: "file_not_found", err: fmt.Errorf("read %s: no such file", file)}
		case err != nil:
		case info.IsDir():
			return nil, usage("%s is a directory", file)
		case !info.Mode().IsRegular() && !strings.HasPrefix(filepath.ToSlash(file), "/dev/"): // opening a pipe that nobody writes to waits for ever
			return nil, usage("%s is a pipe or a device: hand it over on stdin, with - for the file", file)
		}
		f, err := os.Open(a.path(file))
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
		return nil, usage("%s is longer than %d MiB", file, most>>20)
	}
	return src, nil
}

// stdoutPath stands for stdout.
const stdoutPath = "-"

// shown is a path as people type it: below the working directory without it.
func (a *app) shown(path string) string {
	if rel, err := filepath.Rel(a.p.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// suiteDir is where the suites of the working directory's repository are.
func (a *app) suiteDir() string {
	home, err := a.home()
	if err != nil {
		home = "" // then no directory is mistaken for it
	}
	// the user's own is none of a repository, also when AGENTCLASH_HOME is another
	return regression.Home(a.p.Dir, home, filepath.Join(a.p.Getenv("HOME"), ".agentclash"))
}
