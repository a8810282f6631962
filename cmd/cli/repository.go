package cli

import (
	"errors"
	"fmt"
	"io"
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

// Inside refuses a path that leads out of a repository, by itself or by a link, and
// what is neither file nor directory: whoever writes the repository could have the
// machine's own files shown to a model or written, or have a command wait for ever.
// What is not there is for its reader to tell.
func Inside(root, path string) error {
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(root, path)
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(full)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		base, real, err = root, full, nil
	}
	if err != nil {
		return err
	}
	if !within(base, real) {
		return Usage("%s leads out of the repository, to %s", path, real)
	}
	if missing {
		return nil
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return Usage("%s is a pipe or a device", path)
	}
	return err
}

// maxResourceFile is how long a file of a repository's resources may be.
const maxResourceFile = 1 << 20

// ResourceFile reads a file that people wrote. A pipe or a device is refused, but for
// what the system lends under /dev, such as /dev/stdin.
func ResourceFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !strings.HasPrefix(filepath.ToSlash(path), "/dev/") {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is no regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxResourceFile+1))
	if err == nil && len(src) > maxResourceFile {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is longer than %d KiB", maxResourceFile>>10)}
	}
	return src, err
}
