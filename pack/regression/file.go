package regression

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dir is where a repository keeps its suites, below the directory of
// .agentclash.yaml or the one that has .agentclash.
const Dir = ".agentclash/regressions"

// ErrChanged is the error for a suite that somebody else changed meanwhile.
var ErrChanged = errors.New("the file was changed meanwhile")

// Home is the directory of the suites for a working directory: that of the
// nearest directory upwards that has .agentclash.yaml or .agentclash, without
// one that of the working directory itself. It need not exist. Not are
// directories that are no project's .agentclash, such as the user's own.
func Home(dir string, not ...string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".agentclash.yaml")); err == nil {
			return filepath.Join(at, filepath.FromSlash(Dir))
		}
		own := filepath.Join(at, ".agentclash")
		if info, err := os.Stat(own); err == nil && info.IsDir() && !slices.Contains(not, own) {
			return filepath.Join(at, filepath.FromSlash(Dir))
		}
		if at == filepath.Dir(at) {
			return filepath.Join(dir, filepath.FromSlash(Dir))
		}
	}
}

// Files lists the suite files of a directory, sorted; none when it is not there.
func Files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list suites: %w", err)
	}
	var files []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && (ext == ".yaml" || ext == ".yml") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}

// Write puts a suite's source in place of what the file has, which must be what
// was read; nil stands for no file. The file is whole at any moment, and keeps
// its permissions.
func Write(path string, was, src []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write suite: %w", err)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".suite-*.tmp")
	if err != nil {
		return fmt.Errorf("write suite: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already when all went well
	_, err = f.Write(src)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = unchanged(path, was)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write suite %s: %w", path, err)
	}
	return nil
}

func unchanged(path string, was []byte) error {
	is, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && was == nil:
		return nil
	case err != nil:
		return err
	case was == nil || !bytes.Equal(is, was):
		return ErrChanged
	}
	return nil
}
