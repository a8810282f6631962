package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Roots are the directories of the workspace that an agent is kept to. Paths are
// absolute and clean.
type Roots struct {
	// Dir is where programs start and what relative paths start from; "" is
	// Workspace.
	Dir string
	// Read is what can be read, Write what can be written and read, each with
	// everything below it. No Write at all is all of the workspace.
	Read, Write []string
}

// Narrow tells whether there is anything in the workspace that an agent may not
// do.
func (r Roots) Narrow() bool { return len(r.Write) > 0 && !slices.Contains(r.Write, Workspace) }

// Base is Dir, or Workspace.
func (r Roots) Base() string {
	if r.Dir == "" {
		return Workspace
	}
	return r.Dir
}

// Readable and Writable judge a path that Resolve gave, by its letters alone: an
// error is ErrRoots and names the roots.
func (r Roots) Readable(abs string) error {
	if !r.Narrow() || below(abs, r.Write) || below(abs, r.Read) {
		return nil
	}
	all := slices.Clone(r.Read)
	for _, root := range r.Write {
		if !below(root, r.Read) {
			all = append(all, root)
		}
	}
	return &rootsError{abs, "read", all}
}

// Writable is for paths that are to be written; see Readable.
func (r Roots) Writable(abs string) error {
	if !r.Narrow() || below(abs, r.Write) {
		return nil
	}
	return &rootsError{abs, "written", r.Write}
}

func below(abs string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return root == Workspace || abs == root || strings.HasPrefix(abs, root+"/")
	})
}

// rootsError refuses a path for the roots that there are.
type rootsError struct {
	path, what string // what: "read" or "written"
	roots      []string
}

func (e *rootsError) Error() string {
	path := e.path
	if len(path) > shownPathBytes {
		path = path[:shownPathBytes] + "..."
	}
	return fmt.Sprintf("%q is outside the directories that may be %s: %s", path, e.what, strings.Join(e.roots, ", "))
}

func (e *rootsError) Unwrap() error { return ErrRoots }

// The errors that roots bring.
var (
	ErrRoots   = errors.New("outside the directories that the task permits")
	ErrUnbound = errors.New("this sandbox cannot keep programs to directories")
)

// Binder is met by sessions whose boxes can keep an agent's programs to roots.
type Binder interface {
	// Bind makes the directories that the roots name, and returns the box as an
	// agent has it: of the workspace, its calls, its programs and all that these
	// start reach the roots and nothing else, by whatever way. Outside the
	// workspace nothing changes. The session itself stays as it is, for the
	// engine and for graders. It is called once, before any program is run. A
	// box that cannot keep to it is ErrUnbound.
	Bind(ctx context.Context, roots Roots) (Session, error)
}
