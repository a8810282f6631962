package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
)

// Bind makes the roots and, where they are narrower than the workspace, has the
// kernel keep an agent to them; see [sandbox.Binder].
func (s *Session) Bind(ctx context.Context, roots sandbox.Roots) (sandbox.Session, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	var dirs []string
	if roots.Dir != "" {
		dirs = append(dirs, roots.Dir)
	}
	err := s.client.Bind(ctx, dirs, roots.Narrow(), sandbox.Workspace, roots.Read, roots.Write)
	if errors.Is(err, guest.ErrUnbound) {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrUnbound, err)
	}
	if err != nil {
		return nil, s.explain(ctx, "bind", err)
	}
	if !roots.Narrow() {
		return s, nil
	}
	return &boundSession{Session: s}, nil
}

// boundSession is a box as an agent has it that is kept to roots.
type boundSession struct{ *Session }

func (s *boundSession) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	return s.exec(ctx, c, s.client.Bound().Exec)
}

func (s *boundSession) ReadFile(ctx context.Context, name string, limit int64) (sandbox.File, error) {
	f, err := s.readFile(ctx, name, limit, s.client.Bound().ReadFile)
	return f, denied(err)
}

func (s *boundSession) WriteFile(ctx context.Context, name string, data []byte) error {
	return denied(s.writeFile(ctx, name, data, s.client.Bound().WriteFile))
}

func (s *boundSession) List(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	l, err := s.list(ctx, dir, recursive, limit, s.client.Bound().List)
	return l, denied(err)
}

// denied is what the kernel forbids: a path that leads out of the roots by way
// of a link, if not by its letters.
func denied(err error) error {
	if errors.Is(err, guest.ErrDenied) {
		return fmt.Errorf("%w: %w", sandbox.ErrRoots, err)
	}
	return err
}
