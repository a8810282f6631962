package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"github.com/agentclash/agentclash/sandbox/guestbox"
)

const (
	// volumeAge is how old a guest's volume that nothing uses may get.
	volumeAge = 24 * time.Hour
)

// Reap removes the containers that dead processes of this machine have left,
// and those of any machine whose time is over; and the volumes of guests that
// have not been used for a day. It touches nothing of a living process, and
// nothing without our labels. It returns how many containers it removed.
//
// It needs nothing of Options but where the engine is, Owner, HostID and Alive.
func Reap(ctx context.Context, o Options) (removed int, err error) {
	cli, _, err := o.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer cli.Close()
	return o.reap(ctx, cli)
}

// Reap is the function Reap with the provider's engine and options.
func (p *Provider) Reap(ctx context.Context) (removed int, err error) {
	return p.o.reap(ctx, p.cli)
}

// stateRemoving is a container that the engine is about to have removed. Some
// engines forget to, so that reap asks once more, but nobody left it behind; and
// some, 20.10 among them, keep one in their list for good that is long gone.
const stateRemoving = "removing"

func ours(ctx context.Context, cli *client.Client) ([]container.Summary, error) {
	ctx, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	all, err := cli.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", guestbox.LabelOwner))})
	if err != nil {
		return nil, fmt.Errorf("list the containers of sandboxes: %w", err)
	}
	return all, nil
}

func (o Options) reap(ctx context.Context, cli *client.Client) (int, error) {
	all, err := ours(ctx, cli)
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	removed := 0
	turns := make(chan struct{}, 8)
	for _, c := range all {
		if !o.abandoned(c.Labels) {
			continue
		}
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			err := remove(ctx, cli, c.ID)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				failed = append(failed, err)
			case c.State != stateRemoving:
				removed++
			}
		})
	}
	wg.Wait()
	if _, err := removeOldVolumes(ctx, cli, o.now().Add(-volumeAge), ""); err != nil {
		failed = append(failed, err)
	}
	return removed, errors.Join(failed...)
}

// abandoned tells from a container's labels whether nobody looks after it.
func (o Options) abandoned(labels map[string]string) bool {
	return o.owner().Abandoned(labels, o.now())
}
