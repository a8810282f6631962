package guestbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
)

// Bind makes the roots and, where they are narrower than the workspace, has the
// kernel keep an agent to them; see [sandbox.Binder]. Box is the session whose
// calls these are.
func (s *Calls) Bind(ctx context.Context, box sandbox.Session, roots sandbox.Roots) (sandbox.Session, error) {
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
		return box, nil
	}
	return &bound{Session: box, calls: s}, nil
}

// bound is a box as an agent has it that is kept to roots.
type bound struct {
	sandbox.Session
	calls *Calls
}

func (s *bound) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	return s.calls.exec(ctx, c, s.calls.client.Bound().Exec)
}

func (s *bound) ReadFile(ctx context.Context, name string, limit int64) (sandbox.File, error) {
	f, err := s.calls.readFile(ctx, name, limit, s.calls.client.Bound().ReadFile)
	return f, denied(err)
}

func (s *bound) WriteFile(ctx context.Context, name string, data []byte) error {
	return denied(s.calls.writeFile(ctx, name, data, s.calls.client.Bound().WriteFile))
}

func (s *bound) List(ctx context.Context, dir string, recursive bool, limit int) (sandbox.Listing, error) {
	l, err := s.calls.list(ctx, dir, recursive, limit, s.calls.client.Bound().List)
	return l, denied(err)
}

// denied is what the kernel forbids: a path that leads out of the roots by way
// of a link, if not by its letters.
func denied(err error) error {
	if errors.Is(err, guest.ErrBounds) {
		return fmt.Errorf("%w: %w", sandbox.ErrRoots, err)
	}
	return err
}
