package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files that people name for what a command makes are treated alike. One that is there
// is replaced as a whole and keeps its permissions, since it can be made again; where it
// could not be, CheckNew keeps it without --force. A link to a file is refused: a
// checkout could lead a job to any file of the user's. Pipes and devices are written to.

// CheckOutput says why no file can be made at a path, as far as that can be told before
// there is something to write.
func (a *App) CheckOutput(name string) error {
	full := a.Path(name)
	if name == "" || os.IsPathSeparator(name[len(name)-1]) {
		return fmt.Errorf("%s is a directory", name)
	}
	info, err := os.Stat(full)
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory", name)
	}
	if isStream(full) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if at, err := os.Lstat(full); err == nil && at.Mode()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(full)
		if err != nil {
			return err
		}
		return fmt.Errorf("%s is a link, to %s: name the file itself", name, to)
	}
	for dir := filepath.Dir(full); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is no directory", dir)
		case err == nil || dir == filepath.Dir(dir):
			return nil
		}
	}
}

// CheckNew is CheckOutput for what a person goes on with or cannot make again: a file
// that is there is kept without force.
func (a *App) CheckNew(name string, force bool) error {
	if err := a.CheckOutput(name); err != nil {
		return Usage("%w", err)
	}
	full := a.Path(name)
	if info, err := os.Stat(full); err == nil && info.Mode().IsRegular() && !isStream(full) && !force {
		return Usage("%s is there already", name).Hint("give another name, or --force to replace it")
	}
	return nil
}

// WriteOutput writes such a file, once it has been checked. A new one has the mode.
func (a *App) WriteOutput(name string, mode fs.FileMode, write func(io.Writer) error) error {
	if err := a.CheckOutput(name); err != nil { // it may have come to be meanwhile
		return err
	}
	full := a.Path(name)
	if isStream(full) {
		return writeThrough(full, write)
	}
	return writeAt(full, mode, write)
}

// WriteOutputBytes is WriteOutput for what is in memory.
func (a *App) WriteOutputBytes(name string, content []byte) error {
	return a.WriteOutput(name, 0o644, writing(content))
}

// isStream says whether a path is a name that the system has for what a process has open,
// such as /dev/stdout: that may be an ordinary file, which the shell has opened.
func isStream(full string) bool {
	name := filepath.ToSlash(full)
	if name != "/dev/stdout" && name != "/dev/stderr" && !strings.HasPrefix(name, "/dev/fd/") && !strings.HasPrefix(name, "/proc/self/fd/") {
		return false
	}
	_, err := os.Stat(full)
	return !errors.Is(err, fs.ErrNotExist)
}
