package cmd

import (
	"context"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
)

type pageOptions struct{ limit, offset int }

func (p *pageOptions) check() error {
	if p.limit < 0 || p.limit > 100 || p.offset < 0 {
		return usage("--limit must be 0 to 100 and --offset must not be negative")
	}
	if p.limit == 0 {
		p.limit = 20
	}
	return nil
}

// sayMore says how a list goes on of which a page is shown.
func sayMore[T any](a *app, page view.Page[T]) {
	if last := page.Offset + len(page.Items); page.HasMore {
		a.say("showing %d to %d of %d; next: --offset %d", page.Offset+1, last, page.Total, last)
	}
}

// storedRun finds a run; none named is the newest.
func (a *app) storedRun(ctx context.Context, db *store.DB, args []string) (store.Run, error) {
	selector := store.Latest
	if len(args) > 0 {
		selector = args[0]
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return store.Run{}, err
	}
	return db.Run(ctx, workspace, selector)
}

// withRun opens the store for reading and finds a run in it.
func (a *app) withRun(ctx context.Context, args []string, f func(*store.DB, store.Run) error) error {
	db, err := a.stored(ctx)
	if err != nil {
		return err
	}
	r, err := a.storedRun(ctx, db, args)
	if err != nil {
		return err
	}
	return f(db, r)
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
