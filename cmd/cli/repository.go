package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/spec"
)

// DeploymentsFile is a repository's deployments; none when there is no such file.
type DeploymentsFile struct {
	Path string
	List []spec.Deployment
	Said map[string]bool // which names were said to be in the store, too
}

// Find is the deployment of a name, whatever its case.
func (f *DeploymentsFile) Find(name string) (spec.Deployment, bool) {
	for _, d := range f.List {
		if strings.EqualFold(strings.TrimSpace(d.Name), strings.TrimSpace(name)) {
			return d, true
		}
	}
	return spec.Deployment{}, false
}

// RepoDir is the .agentclash directory of the working directory's repository. It
// need not exist.
func (a *App) RepoDir() string { return filepath.Dir(a.SuiteDir()) }

// maxResourceFile is how long a file of a repository's resources may be.
const maxResourceFile = 1 << 20

// ResourceFile reads a file that people wrote. A pipe or a device is refused.
func ResourceFile(path string) ([]byte, error) {
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
