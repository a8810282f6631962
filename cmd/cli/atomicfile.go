package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agentclash/agentclash/engine/filelock"
)

// WriteWhole writes a file of the user's at once: whoever looks sees the old content
// or the new, also after a crash. Directories are made. A link is followed, so that it
// stays one. What commands make anew goes to WriteOutput.
func WriteWhole(path string, write func(io.Writer) error) error {
	path, err := Followed(path)
	if err != nil {
		return err
	}
	return writeAt(path, 0o644, write)
}

// writeAt writes what path itself is: a file whole, with the permissions that it has
// or else mode; a pipe or a device as it is.
func writeAt(path string, mode fs.FileMode, write func(io.Writer) error) error {
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
	return Replace(path, mode, write)
}

// Followed is the file that a link leads to; a link to nothing is refused, since
// it would be replaced.
func Followed(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if info, gone := os.Lstat(path); gone == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a link to nothing")}
	}
	return path, nil
}

// ErrChanged is the error for a file that somebody else changed meanwhile.
var ErrChanged = errors.New("the file was changed meanwhile")

// Hold keeps other processes of this program from changing a file until release
// is called. Directories are made.
func Hold(ctx context.Context, path string) (release func(), err error) {
	if path, err = Followed(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return filelock.Hold(ctx, path)
}

// Rewrite puts new content in the place of what a file has, which must be what was
// read: nil stands for no file. It is to be held, since other programs alone are
// noticed by their changes.
func Rewrite(path string, was, is []byte) error {
	now, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && was == nil:
	case err != nil:
		return err
	case was == nil || !bytes.Equal(now, was):
		return &fs.PathError{Op: "write", Path: path, Err: ErrChanged}
	}
	return WriteBytes(path, is)
}

// WriteBytes is WriteWhole for what is in memory.
func WriteBytes(path string, content []byte) error {
	return WriteWhole(path, writing(content))
}

// writing writes what is in memory.
func writing(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// WriteNew writes a file that is not there yet, at once: whoever looks sees no file or
// all of it, also after a crash. The error is fs.ErrExist when there is something.
func WriteNew(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil { // before anything is written
		return &fs.PathError{Op: "write", Path: path, Err: fs.ErrExist}
	}
	return publish(path, 0o644, write, func(whole string) error {
		err := os.Link(whole, path)
		if err == nil {
			return os.Remove(whole)
		}
		if errors.Is(err, fs.ErrExist) {
			return err
		}
		// a file system without links: the name is taken before the file is put there
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Close(), os.Rename(whole, path)); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		return nil
	})
}

// Replace puts a new file in the place of what path names, once it is whole. Until
// then nobody else can read it.
func Replace(path string, mode fs.FileMode, write func(io.Writer) error) error {
	return publish(path, mode, write, func(whole string) error { return os.Rename(whole, path) })
}

// publish writes a file beside another, and has it put there once it is whole.
func publish(path string, mode fs.FileMode, write func(io.Writer) error, put func(whole string) error) error {
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
		err = put(f.Name())
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

// writeThrough writes to what is no ordinary file, or adds to what is behind it. A pipe that nobody reads is an error:
// to wait for a reader could not be interrupted.
func writeThrough(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a pipe that nobody reads")}
	}
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
