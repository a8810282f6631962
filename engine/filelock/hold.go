package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// ErrHeld is a lock that another process has.
var ErrHeld = errors.New("another process holds the lock")

const (
	patience = 10 * time.Second // that a process waits for another
	pause    = 5 * time.Millisecond
)

// Hold waits until no other process holds a file, whose directory must be there,
// and holds it until release is called. The lock is a hidden file beside it, which
// is removed again. The error is [ErrHeld] when another does not let go of it in
// time.
func Hold(ctx context.Context, path string) (release func(), err error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	name := "." + filepath.Base(path) + ".lock"
	var f *os.File
	for until := time.Now().Add(patience); ; {
		f, err = take(root, name)
		again := errors.Is(err, ErrHeld) || errors.Is(err, errMoved)
		if again && time.Now().Before(until) && ctx.Err() == nil {
			time.Sleep(pause)
			continue
		}
		break
	}
	if err = errors.Join(err, context.Cause(ctx)); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), root.Close())
	}
	return func() {
		_ = root.Remove(name) // while it is locked, so that it is nobody else's; one that stays is taken over by the next
		_ = f.Close()
		_ = root.Close()
	}, nil
}

// errMoved is a lock on a file that its owner has removed meanwhile.
var errMoved = errors.New("the lock file is another one now")

func take(root *os.Root, name string) (*os.File, error) {
	// what is no file is not opened: a link leads elsewhere, a pipe waits for ever
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: remove it", name)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err = Try(f, true); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	there, gone := root.Lstat(name)
	if err == nil && (gone != nil || !os.SameFile(mine, there)) {
		err = errMoved
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
