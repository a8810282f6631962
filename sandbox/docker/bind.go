package docker

import (
	"context"

	"github.com/agentclash/agentclash/sandbox"
)

// Bind keeps an agent to roots; see [sandbox.Binder].
func (s *Session) Bind(ctx context.Context, roots sandbox.Roots) (sandbox.Session, error) {
	return s.Calls.Bind(ctx, s, roots)
}
