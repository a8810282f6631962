package selector

import (
	"context"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/store"
)

// StoredRun finds a run; none named is the newest.
func StoredRun(ctx context.Context, a *cli.App, db *store.DB, args []string) (store.Run, error) {
	selector := store.Latest
	if len(args) > 0 {
		selector = args[0]
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return store.Run{}, err
	}
	return db.Run(ctx, workspace, selector)
}

// WithRun opens the store for reading and finds a run in it.
func WithRun(ctx context.Context, a *cli.App, args []string, f func(*store.DB, store.Run) error) error {
	db, err := a.Stored(ctx)
	if err != nil {
		return err
	}
	r, err := StoredRun(ctx, a, db, args)
	if err != nil {
		return err
	}
	return f(db, r)
}

// When is a time that may be missing: nil when it is zero.
func When(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
