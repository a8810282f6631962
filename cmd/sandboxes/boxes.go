package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
)

// The values of --sandbox.
const (
	SandboxAuto    = "auto"
	SandboxDocker  = "docker"
	SandboxScratch = "scratch"
	SandboxE2B     = "e2b"
)

// SandboxUsage is the help of --sandbox.
const SandboxUsage = "auto, docker, scratch (a directory, no programs) or e2b (default: SANDBOX_PROVIDER, else the setting sandbox, else auto)"

// SandboxKind is the sandbox that was asked for, by flag or setting, or auto. What
// cannot go with it is refused.
func SandboxKind(a *cli.App, flag, image string) (string, error) {
	wanted, err := a.Setting(config.Sandbox, cli.NonEmpty(flag))
	if err != nil {
		return "", err
	}
	kind := wanted.Value
	switch {
	case kind == SandboxScratch && image != "":
		return "", cli.Usage("--image goes with a Docker or E2B sandbox, not with a scratch directory")
	case kind == SandboxE2B && image == builtinImage:
		return "", cli.Usage("--image builtin is Docker's: for an E2B sandbox --image names a template")
	}
	return kind, nil
}

// Boxes opens the sandbox provider that a pack needs and the user asked for;
// nil when the pack needs none.
func Boxes(ctx context.Context, a *cli.App, kind, image string, needs plan.Needs) (sandbox.Provider, sandbox.Description, error) {
	if !needs.Box {
		return nil, sandbox.Description{}, nil
	}
	var p sandbox.Provider
	var err error
	switch kind {
	case SandboxDocker:
		p, err = openDocker(ctx, a, image)
	case SandboxScratch:
		if needs.Process {
			return nil, sandbox.Description{}, cli.Usage("this pack runs programs or installs packages, and the scratch sandbox does neither").Hint("use --sandbox docker")
		}
		p, err = openScratch(a)
	case SandboxE2B:
		p, err = openE2B(ctx, a, image)
	default:
		p, err = autoBoxes(ctx, a, image, needs)
	}
	if err != nil {
		return nil, sandbox.Description{}, boxFailure(kind, err)
	}
	d, err := p.Describe(ctx, needs.Spec)
	if err != nil {
		return nil, sandbox.Description{}, errors.Join(boxFailure(kind, err), p.Close(context.WithoutCancel(ctx)))
	}
	if d.Note != "" {
		a.Say("note: %s", d.Note)
	}
	return p, d, nil
}

// autoBoxes takes Docker when an engine answers, else a scratch directory when
// that is enough.
func autoBoxes(ctx context.Context, a *cli.App, image string, needs plan.Needs) (sandbox.Provider, error) {
	_, err := ProbeDocker(ctx, a)
	if err == nil {
		return openDocker(ctx, a, image)
	}
	if needs.Process {
		return nil, (&cli.Failure{Status: cli.StatusUnavailable, Code: "docker_unavailable",
			Err: fmt.Errorf("this pack runs programs or installs packages: %w", err)}).
			Hint("start Docker (or set DOCKER_HOST), then: agentclash doctor")
	}
	a.Say("note: no Docker engine answers; the pack needs no programs, so each trial gets a scratch directory")
	return openScratch(a)
}

// boxFailure gives a sandbox error its status and what to type.
func boxFailure(kind string, err error) error {
	var known *cli.Failure
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, sandbox.ErrSpec) {
		return cli.Usage("%w", err).Hint("change version.sandbox or version.filesystem of the pack: docs/packs.md, The sandbox")
	}
	if errors.Is(err, sandbox.ErrKey) {
		return (&cli.Failure{Status: cli.StatusNoPermission, Code: "sandbox_key", Err: err}).
			Hint("export E2B_API_KEY=..., or agentclash secret set E2B_API_KEY")
	}
	var box *sandbox.BoxError
	if errors.As(err, &box) && box.Kind == sandbox.Image {
		return &cli.Failure{Status: cli.StatusUnavailable, Code: "sandbox_image", Err: err}
	}
	if kind == SandboxE2B {
		return &cli.Failure{Status: cli.StatusUnavailable, Code: "sandbox_engine", Err: err}
	}
	return (&cli.Failure{Status: cli.StatusUnavailable, Code: "docker_unavailable", Err: err}).Hint("agentclash doctor")
}

// CloseBoxes removes what a provider of sandboxes has opened; nil has none.
func CloseBoxes(ctx context.Context, a *cli.App, boxes sandbox.Provider) {
	if boxes == nil {
		return
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	if err := boxes.Close(closing); err != nil {
		a.Say("! some sandboxes could not be removed: %v; agentclash sandbox gc tries again", err)
	}
}

// TemplateOf is the image or template that a pack names, "" for none.
func TemplateOf(p *pack.Pack) string {
	if p.Version.Sandbox == nil {
		return ""
	}
	return p.Version.Sandbox.SandboxTemplateID
}
