package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/pack"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/sandbox"
)

// The values of --sandbox.
const (
	sandboxAuto    = "auto"
	sandboxDocker  = "docker"
	sandboxScratch = "scratch"
	sandboxE2B     = "e2b"
)

// sandboxUsage is the help of --sandbox.
const sandboxUsage = "auto, docker, scratch (a directory, no programs) or e2b (default: SANDBOX_PROVIDER, else the setting sandbox, else auto)"

// sandboxKind is the sandbox that was asked for, by flag or setting, or auto. What
// cannot go with it is refused.
func (a *app) sandboxKind(flag, image string) (string, error) {
	wanted, err := a.setting(config.Sandbox, nonEmpty(flag))
	if err != nil {
		return "", err
	}
	kind := wanted.Value
	switch {
	case kind == sandboxScratch && image != "":
		return "", usage("--image goes with a Docker or E2B sandbox, not with a scratch directory")
	case kind == sandboxE2B && image == builtinImage:
		return "", usage("--image builtin is Docker's: for an E2B sandbox --image names a template")
	}
	return kind, nil
}

// boxes opens the sandbox provider that a pack needs and the user asked for;
// nil when the pack needs none.
func (a *app) boxes(ctx context.Context, kind, image string, needs plan.Needs) (sandbox.Provider, sandbox.Description, error) {
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
	case sandboxE2B:
		p, err = a.openE2B(ctx, image)
	default:
		p, err = a.autoBoxes(ctx, image, needs)
	}
	if err != nil {
		return nil, sandbox.Description{}, boxFailure(kind, err)
	}
	d, err := p.Describe(ctx, needs.Spec)
	if err != nil {
		return nil, sandbox.Description{}, errors.Join(boxFailure(kind, err), p.Close(context.WithoutCancel(ctx)))
	}
	if d.Note != "" {
		a.say("note: %s", d.Note)
	}
	return p, d, nil
}

// autoBoxes takes Docker when an engine answers, else a scratch directory when
// that is enough.
func (a *app) autoBoxes(ctx context.Context, image string, needs plan.Needs) (sandbox.Provider, error) {
	_, err := a.probeDocker(ctx)
	if err == nil {
		return a.openDocker(ctx, image)
	}
	if needs.Process {
		return nil, (&failure{status: statusUnavailable, code: "docker_unavailable",
			err: fmt.Errorf("this pack runs programs or installs packages: %w", err)}).
			hint("start Docker (or set DOCKER_HOST), then: agentclash doctor")
	}
	a.say("note: no Docker engine answers; the pack needs no programs, so each trial gets a scratch directory")
	return a.openScratch()
}

// boxFailure gives a sandbox error its status and what to type.
func boxFailure(kind string, err error) error {
	var known *failure
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, sandbox.ErrSpec) {
		return usage("%w", err).hint("change version.sandbox or version.filesystem of the pack: docs/packs.md, The sandbox")
	}
	if errors.Is(err, sandbox.ErrKey) {
		return (&failure{status: statusNoPermission, code: "sandbox_key", err: err}).
			hint("export E2B_API_KEY=..., or agentclash secret set E2B_API_KEY")
	}
	var box *sandbox.BoxError
	if errors.As(err, &box) && box.Kind == sandbox.Image {
		return &failure{status: statusUnavailable, code: "sandbox_image", err: err}
	}
	if kind == sandboxE2B {
		return &failure{status: statusUnavailable, code: "sandbox_engine", err: err}
	}
	return (&failure{status: statusUnavailable, code: "docker_unavailable", err: err}).hint("agentclash doctor")
}

// closeBoxes removes what a provider of sandboxes has opened; nil has none.
func (a *app) closeBoxes(ctx context.Context, boxes sandbox.Provider) {
	if boxes == nil {
		return
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	if err := boxes.Close(closing); err != nil {
		a.say("! some sandboxes could not be removed: %v; agentclash sandbox gc tries again", err)
	}
}

// templateOf is the image or template that a pack names, "" for none.
func templateOf(p *pack.Pack) string {
	if p.Version.Sandbox == nil {
		return ""
	}
	return p.Version.Sandbox.SandboxTemplateID
}
