package sessions

import (
	"context"
	"errors"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
)

// SessionUsage is the help of --session.
const SessionUsage = "session to start the run into, by name; made when it is new (see eval session)"

// CheckSessionName refuses a name that would hide what a selector means.
func CheckSessionName(name string) error {
	trimmed := strings.ToLower(strings.TrimSpace(name))
	switch {
	case name != "" && trimmed == "":
		return cli.Usage("--session needs a name")
	case trimmed == store.Latest || trimmed == store.Baseline:
		return cli.Usage("--session %s is taken: it means a session already", trimmed)
	case name != "" && (len(name) > maxSessionName || !bundle.IsName(name)):
		return cli.Usage("--session must be one line of at most %d bytes", maxSessionName)
	}
	return nil
}

const maxSessionName = 200

// CheckJoin refuses a run that its session has no place for, before anything is
// written.
func CheckJoin(ctx context.Context, a *cli.App, planned *plan.Plan) error {
	if planned.Session == "" {
		return nil
	}
	if len(planned.Affected) > 0 || planned.Cache || planned.Recording != nil && planned.Recording.Mode == plan.Replayed {
		return cli.Usage("--session counts every trial as new, and the trials of this run stand for earlier ones or were replayed")
	}
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return err
	}
	err = db.CheckSession(ctx, planned.Workspace, planned.Session, planned.Pack.Slug, planned.SpecDigest)
	if errors.Is(err, store.ErrConflict) {
		return (&cli.Failure{Status: cli.StatusUsage, Code: "conflict", Err: err}).Hint("give another --session; agentclash eval session list shows those there are")
	}
	return err
}

// MissedSession is the name of the session that an imported run was started into
// and could not be put into here; "" for none.
func MissedSession(ctx context.Context, a *cli.App, db *store.DB, runID string) (string, error) {
	planned, err := db.Plan(ctx, runID)
	if err != nil || planned.Session == "" {
		return "", err
	}
	if s, ok, err := db.SessionOf(ctx, runID); err != nil || ok && !s.Single {
		return "", err
	}
	return planned.Session, nil
}
