package cmd

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"time"

	"github.com/agentclash/agentclash/cmd/config"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/sandbox/e2b"
	"github.com/agentclash/agentclash/sandbox/scratch"
)

// This is the only file where adapters meet: every model client and every
// sandbox provider of the program is made here.

func (a *app) openDocker(ctx context.Context, image string) (sandbox.Provider, error) {
	if image == "" {
		usual, err := a.setting(config.Image, nil)
		if err != nil {
			return nil, err
		}
		if usual.IsSet() {
			image = usual.Value
		}
	}
	return docker.Open(ctx, a.dockerOptions(image))
}

func (a *app) dockerOptions(image string) docker.Options {
	return docker.Options{
		Getenv: a.p.Getenv, Image: image, Guest: guestReader(a.p.Getenv), Owner: owner(), HostID: hostID(), Alive: alive,
		Now: a.p.Now, Progress: a.progress,
	}
}

// probeDocker asks whether an engine answers.
func (a *app) probeDocker(ctx context.Context) (docker.Engine, error) {
	return docker.Probe(ctx, a.dockerOptions(""))
}

// DockerAnswers says why no Docker engine answers, nil
// when one does.
func DockerAnswers(ctx context.Context, p *Process) error {
	a := &app{p: p}
	_, err := a.probeDocker(ctx)
	return err
}

// reapDocker removes the containers of dead processes.
func (a *app) reapDocker(ctx context.Context) (int, error) {
	return docker.Reap(ctx, a.dockerOptions(""))
}

// collectDocker removes what nobody needs any more from the engine, or says
// what that is.
func (a *app) collectDocker(ctx context.Context, dry bool) (docker.Garbage, error) {
	return docker.Collect(ctx, a.dockerOptions(""), dry)
}

// collectScratch does the same for scratch directories.
func (a *app) collectScratch(ctx context.Context, dry bool) ([]string, error) {
	p, err := a.openScratch()
	if err != nil {
		return nil, err
	}
	if dry {
		return p.Left()
	}
	return p.Reap(ctx)
}

// localBoxes is a sandbox provider that fetches no image.
func (a *app) localBoxes(ctx context.Context, kind, image string, answers bool) (sandbox.Provider, error) {
	if kind == sandboxScratch || !answers {
		return a.openScratch()
	}
	o := a.dockerOptions(image)
	o.NoPull = true
	return docker.Open(ctx, o)
}

// defaultImage is the image of sandboxes that nobody has named another for.
const defaultImage = docker.DefaultImage

// builtinImage is the image that needs no registry.
const builtinImage = docker.BuiltinImage

// e2bOptions reads how E2B is reached. Its key may be a secret as well.
func (a *app) e2bOptions(template string) (e2b.Options, error) {
	o := e2b.Options{
		Key: a.p.Getenv("E2B_API_KEY"), Template: cmp.Or(template, a.p.Getenv("E2B_TEMPLATE_ID")),
		BaseURL: a.p.Getenv("E2B_API_BASE_URL"), SandboxURL: a.p.Getenv("E2B_SANDBOX_URL"),
		Guest: guestReader(a.p.Getenv), Owner: owner(), HostID: hostID(), Alive: alive, Now: a.p.Now, Proxy: http.ProxyFromEnvironment,
	}
	if text := a.p.Getenv("E2B_REQUEST_TIMEOUT"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return o, usage("E2B_REQUEST_TIMEOUT must be a time such as 30s, not %q", text)
		}
		o.Timeout = d
	}
	if o.Key != "" {
		return o, nil
	}
	key, _, err := a.secret("E2B_API_KEY")
	o.Key = key
	return o, err
}

// e2bAddress is where E2B is asked, when all that takes is there, a template of
// the pack's own ("" for none) included.
func (a *app) e2bAddress(template string) (string, error) {
	o, err := a.e2bOptions(template)
	if err == nil {
		err = o.Check()
	}
	return cmp.Or(o.BaseURL, e2b.DefaultAPI), err
}

// openE2B also removes, in passing, what dead processes have left with E2B: it
// is about to be asked anyway.
func (a *app) openE2B(ctx context.Context, template string) (sandbox.Provider, error) {
	o, err := a.e2bOptions(template)
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		if errors.Is(err, sandbox.ErrKey) {
			return nil, err
		}
		return nil, usage("%w", err)
	}
	within, stop := context.WithTimeout(ctx, e2bSweepTime)
	defer stop()
	if n, err := e2b.Reap(within, o, false); err == nil && n > 0 {
		a.say("note: removed %d E2B sandbox(es) that a dead process left behind", n)
	}
	return e2b.New(o)
}

// e2bSweepTime bounds that.
const e2bSweepTime = 5 * time.Second

// collectE2B removes the E2B sandboxes of dead processes where there is a key, or
// counts them. Asked tells whether E2B has answered.
func (a *app) collectE2B(ctx context.Context, dry bool) (n int, asked bool, err error) {
	o, err := a.e2bOptions("")
	if err != nil || o.Key == "" {
		return 0, false, err
	}
	n, err = e2b.Reap(ctx, o, dry)
	return n, err == nil, err
}

func (a *app) openScratch() (*scratch.Provider, error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	return scratch.New(scratch.Options{Dir: filepath.Join(home, "scratch"), Owner: owner(), Alive: alive})
}

// reapScratch removes the scratch directories of dead processes.
func (a *app) reapScratch(ctx context.Context) (int, error) {
	gone, err := a.collectScratch(ctx, false)
	return len(gone), err
}
