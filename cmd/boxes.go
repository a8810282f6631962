package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/sandbox"
)

// The values of --sandbox.
const (
	sandboxAuto    = "auto"
	sandboxDocker  = "docker"
	sandboxScratch = "scratch"
)

// probeTime is how long `--sandbox auto`, doctor and the clean-up after a dead
// process wait for an engine to answer.
const probeTime = 500 * time.Millisecond

// boxes opens the sandbox provider that a pack needs and the user asked for;
// nil when the pack needs none.
func (a *app) boxes(ctx context.Context, kind, image string, needs engine.Needs) (sandbox.Provider, sandbox.Description, error) {
	if !needs.Box {
		return nil, sandbox.Description{}, nil
	}
	var p sandbox.Provider
	var err error
	switch kind {
	case sandboxDocker:
		p, err = a.openDocker(ctx, image)
	case sandboxScratch:
		if needs.Process {
			return nil, sandbox.Description{}, usage("this pack runs programs or installs packages, and the scratch sandbox does neither").hint("use --sandbox docker")
		}
		p, err = a.openScratch()
	default:
		p, err = a.autoBoxes(ctx, image, needs)
	}
	if err != nil {
		return nil, sandbox.Description{}, boxFailure(err)
	}
	d, err := p.Describe(ctx, needs.Spec)
	if err != nil {
		return nil, sandbox.Description{}, errors.Join(boxFailure(err), p.Close(context.WithoutCancel(ctx)))
	}
	if d.Note != "" {
		a.say("note: %s", d.Note)
	}
	return p, d, nil
}

// autoBoxes takes Docker when an engine answers, else a scratch directory when
// that is enough.
func (a *app) autoBoxes(ctx context.Context, image string, needs engine.Needs) (sandbox.Provider, error) {
	_, err := a.probeDocker(ctx)
	if err == nil {
		return a.openDocker(ctx, image)
	}
	if needs.Process {
		return nil, (&failure{status: statusUnavailable, code: "docker_unavailable",
			err: fmt.Errorf("this pack runs programs or installs packages in a sandbox and no Docker engine answers: %w", err)}).
			hint("start Docker (or set DOCKER_HOST), then: agentclash doctor")
	}
	a.say("note: no Docker engine answers; the pack needs no programs, so each trial gets a scratch directory")
	return a.openScratch()
}

// boxFailure gives a sandbox error its status and what to type.
func boxFailure(err error) error {
	var known *failure
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, sandbox.ErrSpec) {
		return usage("%w", err).hint("change version.sandbox or version.filesystem of the pack: docs/packs.md, The sandbox")
	}
	var box *sandbox.BoxError
	if errors.As(err, &box) && box.Kind == sandbox.Image {
		return &failure{status: statusUnavailable, code: "sandbox_image", err: err}
	}
	return (&failure{status: statusUnavailable, code: "docker_unavailable", err: err}).hint("agentclash doctor")
}
