package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/spec"
)

// deploymentsFile is a repository's deployments; none when there is no such file.
type deploymentsFile struct {
	path string
	list []spec.Deployment
	said map[string]bool // which names were said to be in the store, too
}

func (f *deploymentsFile) find(name string) (spec.Deployment, bool) {
	for _, d := range f.list {
		if strings.EqualFold(strings.TrimSpace(d.Name), strings.TrimSpace(name)) {
			return d, true
		}
	}
	return spec.Deployment{}, false
}

// repoDir is the .agentclash directory of the working directory's repository. It
// need not exist.
func (a *app) repoDir() string { return filepath.Dir(a.suiteDir()) }

// maxResourceFile is how long a file of a repository's resources may be.
const maxResourceFile = 1 << 20

// resourceFile reads a file that people wrote. A pipe or a device is refused.
func resourceFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is no regular file")}
	}
	if info.Size() > maxResourceFile {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is longer than %d KiB", maxResourceFile>>10)}
	}
	return os.ReadFile(path)
}
