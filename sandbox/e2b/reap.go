package e2b

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentclash/agentclash/sandbox/guestbox"
)

// Reap removes the machines that dead processes of this host have left, and
// those of any host whose time is over. It touches nothing of a living process,
// and nothing without our labels. It returns how many machines it removed or, if
// dry, would remove.
//
// It needs nothing of Options but how E2B is reached, Owner, HostID and Alive.
func Reap(ctx context.Context, o Options, dry bool) (removed int, err error) {
	o, err = o.settled(false)
	if err != nil {
		return 0, err
	}
	a := newAPI(o)
	defer a.http.CloseIdleConnections()
	all, err := a.list(ctx, map[string]string{labelKind: kindBox})
	if err != nil {
		return 0, fmt.Errorf("look for old sandboxes: %w", boxError(ctx, err))
	}
	var failed []error
	for _, l := range all {
		if !o.abandoned(l.Metadata) {
			continue
		}
		if dry {
			removed++
			continue
		}
		if err := a.kill(ctx, l.SandboxID); err != nil {
			failed = append(failed, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(failed...)
}

// abandoned tells from a machine's labels whether nobody looks after it.
func (o Options) abandoned(labels map[string]string) bool {
	return labels[labelKind] == kindBox && o.owner().Abandoned(labels, o.Now())
}

func (o Options) owner() guestbox.Owner {
	return guestbox.Owner{Process: o.Owner, Host: o.HostID, Alive: o.Alive}
}
