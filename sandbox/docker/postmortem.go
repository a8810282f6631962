package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
)

// evidence is what the engine remembers of a container's end.
type evidence struct {
	exited  bool
	code    int
	oom     bool // the kernel killed something in it for want of memory
	killed  bool // somebody had the engine kill it
	running bool // it still runs
}

// evidenceTime bounds the wait for the engine to notice an end. It learns of it
// at the same moment as we do.
const evidenceTime = 1500 * time.Millisecond

// postMortem says what a box that is gone died of. What it cannot explain is
// lost, and lost is nobody's fault but ours.
func (s *Session) postMortem(ctx context.Context) error {
	cause := s.client.Err()
	words := s.stream.lastWords()
	if errors.Is(cause, guest.ErrTampered) {
		return &sandbox.BoxError{Kind: sandbox.Tampered, Detail: words, Err: cause}
	}
	ev, err := s.p.evidence(ctx, s.id, !errors.Is(cause, guest.ErrStuck))
	if err != nil {
		return &sandbox.BoxError{Kind: sandbox.Engine, Detail: words, Err: errors.Join(cause, err)}
	}
	ev.oom = ev.oom || s.Starved() // Podman has no event for it
	e := ev.verdict(words)
	e.Detail, e.Err = ev.detail(words), cause
	return e
}

func (e evidence) verdict(words string) *sandbox.BoxError {
	switch {
	case e.running || !e.exited || e.killed:
		return &sandbox.BoxError{Kind: sandbox.Lost}
	case e.code == 137 && e.oom:
		return &sandbox.BoxError{Kind: sandbox.Limit, Limit: "memory"}
	case e.code == 2 && strings.Contains(words, "out of memory"):
		return &sandbox.BoxError{Kind: sandbox.Limit, Limit: "memory"}
	case e.code == 2 && strings.Contains(words, "create new OS thread"):
		return &sandbox.BoxError{Kind: sandbox.Limit, Limit: "pids"}
	}
	return &sandbox.BoxError{Kind: sandbox.Lost}
}

func (e evidence) detail(words string) string {
	var parts []string
	switch {
	case e.running:
		parts = append(parts, "its container still ran, and was removed")
	case e.exited:
		parts = append(parts, "exit status "+strconv.Itoa(e.code))
	default:
		parts = append(parts, "the engine does not know how it ended")
	}
	if e.oom {
		parts = append(parts, "out of memory")
	}
	if e.killed {
		parts = append(parts, "killed through the engine")
	}
	if words != "" {
		parts = append(parts, fmt.Sprintf("last words %q", words))
	}
	return strings.Join(parts, ", ")
}

// evidence asks the engine for the container's last events: one that has
// removed itself is known from nothing else. They are asked for when a box has
// died, which is seldom, and not followed all the time: the engine keeps the last
// 256, and a box's own end is the newest. With await it gives one that still
// runs the time to end.
func (p *Provider) evidence(ctx context.Context, id string, await bool) (evidence, error) {
	var ev evidence
	within, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	if _, err := p.cli.Ping(within); err != nil {
		return ev, fmt.Errorf("the engine no longer answers: %w", err)
	}
	if c, err := p.cli.ContainerInspect(within, id); err == nil && c.State != nil {
		ev.oom, ev.running = c.State.OOMKilled, c.State.Running
	}
	if ev.running && !await {
		return ev, nil
	}
	within, stop = context.WithTimeout(ctx, evidenceTime)
	defer stop()
	// From the beginning of time by the engine's own clock, which need not be ours.
	messages, failed := p.cli.Events(within, events.ListOptions{
		Since:   "1",
		Filters: filters.NewArgs(filters.Arg("type", "container"), filters.Arg("container", id)),
	})
	for {
		select {
		case m := <-messages:
			if ev.note(m) {
				return ev, nil
			}
		case err := <-failed:
			if within.Err() == nil && !errors.Is(err, io.EOF) {
				return ev, fmt.Errorf("read the engine's events: %w", err)
			}
			return ev, nil
		case <-within.Done():
			return ev, nil
		}
	}
}

// note takes an event in, and tells whether it is the last that matters.
func (e *evidence) note(m events.Message) bool {
	switch m.Action {
	case events.ActionOOM:
		e.oom = true
	case events.ActionKill:
		e.killed = true
	case events.ActionDie:
		e.exited, e.running = true, false
		e.code, _ = strconv.Atoi(m.Actor.Attributes["exitCode"])
		return true
	}
	return false
}
