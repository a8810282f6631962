package regression

import (
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
