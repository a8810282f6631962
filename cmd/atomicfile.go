package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeWhole writes a file at once: whoever looks sees the old content or the
// new, also after a crash. Directories are made. A link is followed, so that it
// stays one; what exists and is no file, such as /dev/stdout, is written to.
func writeWhole(path string, write func(io.Writer) error) error {
	mode := fs.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a directory")}
	case err == nil && !info.Mode().IsRegular():
		return writeThrough(path, write)
	case err == nil:
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return replace(path, mode, write)
}

// replace puts a new file in the place of what path names, once it is whole. Until
// then nobody else can read it.
func replace(path string, mode fs.FileMode, write func(io.Writer) error) error {
	f, err := newBeside(path) // made with 0600
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// newBeside makes a new file in the directory of another. Its name is hidden.
func newBeside(path string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return nil, fmt.Errorf("make a file beside %s: %w", path, err)
	}
	return f, nil
}

func writeThrough(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
