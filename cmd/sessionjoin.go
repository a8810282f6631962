package cmd

import (
	"context"
	"errors"
	"strings"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
)

const sessionUsage = "session to start the run into, by name; made when it is new (see eval session)"

// checkSessionName refuses a name that would hide what a selector means.
func checkSessionName(name string) error {
	trimmed := strings.ToLower(strings.TrimSpace(name))
	switch {
	case name != "" && trimmed == "":
		return usage("--session needs a name")
	case trimmed == store.Latest || trimmed == store.Baseline:
		return usage("--session %s is taken: it means a session already", trimmed)
	case name != "" && (len(name) > maxSessionName || !bundle.IsName(name)):
		return usage("--session must be one line of at most %d bytes", maxSessionName)
	}
	return nil
}

const maxSessionName = 200

// checkJoin refuses a run that its session has no place for, before anything is
// written.
func (a *app) checkJoin(ctx context.Context, planned *plan.Plan) error {
	if planned.Session == "" {
		return nil
	}
	if len(planned.Affected) > 0 || planned.Cache || planned.Recording != nil && planned.Recording.Mode == plan.Replayed {
		return usage("--session counts every trial as new, and the trials of this run stand for earlier ones or were replayed")
	}
	db, ok, err := a.reading(ctx)
	if err != nil || !ok {
		return err
	}
	err = db.CheckSession(ctx, planned.Workspace, planned.Session, planned.Pack.Slug, planned.SpecDigest)
	if errors.Is(err, store.ErrConflict) {
		return (&failure{status: statusUsage, code: "conflict", err: err}).hint("give another --session; agentclash eval session list shows those there are")
	}
	return err
}

// missedSession is the name of the session that an imported run was started into
// and could not be put into here; "" for none.
func (a *app) missedSession(ctx context.Context, db *store.DB, runID string) (string, error) {
	planned, err := db.Plan(ctx, runID)
	if err != nil || planned.Session == "" {
		return "", err
	}
	if s, ok, err := db.SessionOf(ctx, runID); err != nil || ok && !s.Single {
		return "", err
	}
	return planned.Session, nil
}
