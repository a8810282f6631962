package sandbox

import (
	"fmt"
	"path"
	"strings"
)

// The longest path, and the longest name within one, that a box accepts, in
// bytes. They are Linux's own limits, so what Resolve lets through can exist.
const (
	MaxPathBytes = 4095
	MaxNameBytes = 255
)

// shownPathBytes bounds how much of a refused path its error repeats.
const shownPathBytes = 200

// Resolve turns a path as an agent or a pack wrote it into the absolute path it
// means: a relative one starts at Workspace, "" is Workspace itself, and "."
// and ".." and doubled slashes are worked out by their letters alone. The
// result is clean and is Workspace or lies below it.
//
// Every other path is refused with an error that is ErrOutside and names the
// path as given: one that leads elsewhere, holds a NUL byte, or is longer than
// MaxPathBytes or MaxNameBytes allow.
//
// Resolve looks at no file. That no symbolic link leads out of the workspace is
// the promise of each provider.
func Resolve(given string) (string, error) {
	if strings.IndexByte(given, 0) >= 0 {
		return "", &pathError{given, "holds a NUL byte"}
	}
	if len(given) > MaxPathBytes {
		return "", &pathError{given, fmt.Sprintf("is longer than %d bytes", MaxPathBytes)}
	}
	abs := path.Clean(given)
	if !path.IsAbs(given) {
		abs = path.Join(Workspace, given)
	}
	if abs != Workspace && !strings.HasPrefix(abs, Workspace+"/") {
		return "", &pathError{given, "is outside the workspace, " + Workspace}
	}
	if len(abs) > MaxPathBytes {
		return "", &pathError{given, fmt.Sprintf("is longer than %d bytes below %s", MaxPathBytes, Workspace)}
	}
	for name := range strings.SplitSeq(abs, "/") {
		if len(name) > MaxNameBytes {
			return "", &pathError{given, fmt.Sprintf("has a name longer than %d bytes", MaxNameBytes)}
		}
	}
	return abs, nil
}

// pathError refuses a path. It is ErrOutside to whoever asks, because nothing
// in the workspace can have that path; its text says which rule it broke.
type pathError struct {
	given, why string
}

func (e *pathError) Error() string {
	if len(e.given) > shownPathBytes {
		return fmt.Sprintf("path %q... %s", e.given[:shownPathBytes], e.why)
	}
	return fmt.Sprintf("path %q %s", e.given, e.why)
}

func (e *pathError) Unwrap() error { return ErrOutside }
