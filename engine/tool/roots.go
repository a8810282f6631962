package tool

import (
	"context"
	"maps"
	"path"
	"strings"

	"github.com/agentclash/agentclash/sandbox"
)

// In returns the same tools for agents that are kept to roots.
func (s *Set) In(roots sandbox.Roots) *Set {
	own := *s
	own.roots = roots
	return &own
}

// path is a path as an agent wrote it, absolute: a relative one starts where
// agents work.
func (w workplace) path(given string) (string, error) {
	if base := w.roots.Base(); base != sandbox.Workspace && !path.IsAbs(given) && len(given) <= sandbox.MaxPathBytes {
		given = base + "/" + given
	}
	return sandbox.Resolve(given)
}

// dir is where a program starts that an agent wants to start there. It may be
// outside the workspace.
func (w workplace) dir(given string) string {
	if path.IsAbs(given) {
		return path.Clean(given)
	}
	return path.Join(w.roots.Base(), given)
}

// Within returns a box as an agent has it that is kept to roots: what is asked
// of it by a path outside is refused with an error that names them. Links and
// programs are the box's own business; see [sandbox.Binder]. Programs find
// their home in home, "" to leave it.
func Within(box sandbox.Session, roots sandbox.Roots, home string) sandbox.Session {
	if !roots.Narrow() {
		return box
	}
	return &rooted{box, roots, home}
}

type rooted struct {
	sandbox.Session
	roots sandbox.Roots
	home  string
}

func (r *rooted) ReadFile(ctx context.Context, name string, limit int64) (sandbox.File, error) {
	abs, err := sandbox.Resolve(name)
	if err == nil {
		err = r.roots.Readable(abs)
	}
	if err != nil {
		return sandbox.File{}, err
	}
	return r.Session.ReadFile(ctx, abs, limit)
}

func (r *rooted) WriteFile(ctx context.Context, name string, data []byte) error {
	abs, err := sandbox.Resolve(name)
	if err == nil {
		err = r.roots.Writable(abs)
	}
	if err != nil {
		return err
	}
	return r.Session.WriteFile(ctx, abs, data)
}

func (r *rooted) List(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	abs, err := sandbox.Resolve(dir)
	if err == nil {
		err = r.roots.Readable(abs)
	}
	if err != nil {
		return sandbox.Listing{}, err
	}
	return r.Session.List(ctx, abs, recursive, limit)
}

// Exec refuses to start a program where it could not look around.
func (r *rooted) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	dir := path.Join(sandbox.Workspace, c.Dir)
	if path.IsAbs(c.Dir) {
		dir = path.Clean(c.Dir)
	}
	if dir == sandbox.Workspace || strings.HasPrefix(dir, sandbox.Workspace+"/") {
		if err := r.roots.Readable(dir); err != nil {
			return sandbox.Result{}, err
		}
	}
	if _, set := c.Env["HOME"]; !set && r.home != "" {
		env := map[string]string{"HOME": r.home}
		maps.Copy(env, c.Env)
		c.Env = env
	}
	return r.Session.Exec(ctx, c)
}
