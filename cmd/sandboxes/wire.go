package sandboxes

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"time"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/sandbox/e2b"
	"github.com/agentclash/agentclash/sandbox/scratch"
)

// This is the only file where adapters meet: every model client and every
// sandbox provider of the program is made here.

func openDocker(ctx context.Context, a *cli.App, image string) (sandbox.Provider, error) {
	image, err := Image(a, image)
	if err != nil {
		return nil, err
	}
	return docker.Open(ctx, dockerOptions(a, image))
}

// Image is the image of Docker sandboxes: the one that was named, else the setting.
func Image(a *cli.App, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	usual, err := a.Setting(config.Image, nil)
	return usual.Value, err
}

func dockerOptions(a *cli.App, image string) docker.Options {
	return docker.Options{
		Getenv: a.Process.Getenv, Image: image, Guest: guestReader(a.Process.Getenv), Owner: cli.Owner(), HostID: cli.HostID(), Alive: cli.Alive,
		Now: a.Process.Now, Progress: a.Progress,
	}
}

// ProbeDocker asks whether an engine answers.
func ProbeDocker(ctx context.Context, a *cli.App) (docker.Engine, error) {
	return docker.Probe(ctx, dockerOptions(a, ""))
}

// reapDocker removes the containers of dead processes.
func reapDocker(ctx context.Context, a *cli.App) (int, error) {
	return docker.Reap(ctx, dockerOptions(a, ""))
}

// CollectDocker removes what nobody needs any more from the engine, or says
// what that is.
func CollectDocker(ctx context.Context, a *cli.App, dry bool) (docker.Garbage, error) {
	return docker.Collect(ctx, dockerOptions(a, ""), dry)
}

// CollectScratch does the same for scratch directories.
func CollectScratch(ctx context.Context, a *cli.App, dry bool) ([]string, error) {
	p, err := openScratch(a)
	if err != nil {
		return nil, err
	}
	if dry {
		return p.Left()
	}
	return p.Reap(ctx)
}

// LocalBoxes is a sandbox provider that fetches no image.
func LocalBoxes(ctx context.Context, a *cli.App, kind, image string, answers bool) (sandbox.Provider, error) {
	if kind == SandboxScratch || !answers {
		return openScratch(a)
	}
	image, err := Image(a, image)
	if err != nil {
		return nil, err
	}
	o := dockerOptions(a, image)
	o.NoPull = true
	return docker.Open(ctx, o)
}

// builtinImage is the image that needs no registry.
const builtinImage = docker.BuiltinImage

// E2bOptions reads how E2B is reached. Its key may be a secret as well.
func E2bOptions(a *cli.App, template string) (e2b.Options, error) {
	o := e2b.Options{
		Key: a.Process.Getenv("E2B_API_KEY"), Template: cmp.Or(template, a.Process.Getenv("E2B_TEMPLATE_ID")),
		BaseURL: a.Process.Getenv("E2B_API_BASE_URL"), SandboxURL: a.Process.Getenv("E2B_SANDBOX_URL"),
		Guest: guestReader(a.Process.Getenv), Owner: cli.Owner(), HostID: cli.HostID(), Alive: cli.Alive, Now: a.Process.Now, Proxy: http.ProxyFromEnvironment,
	}
	if _, err := a.ProxyFor(cmp.Or(o.BaseURL, e2b.DefaultAPI)); err != nil {
		return o, err
	}
	if text := a.Process.Getenv("E2B_REQUEST_TIMEOUT"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return o, cli.Usage("E2B_REQUEST_TIMEOUT must be a time such as 30s, not %q", text)
		}
		o.Timeout = d
	}
	if o.Key != "" {
		return o, nil
	}
	key, _, err := agents.Secret(a, "E2B_API_KEY")
	o.Key = key
	return o, err
}

// E2bAddress is where E2B is asked, when all that takes is there, a template of
// the pack's own ("" for none) included.
func E2bAddress(a *cli.App, template string) (string, error) {
	o, err := E2bOptions(a, template)
	if err == nil {
		err = o.Check()
	}
	return cmp.Or(o.BaseURL, e2b.DefaultAPI), err
}

// openE2B also removes, in passing, what dead processes have left with E2B: it
// is about to be asked anyway.
func openE2B(ctx context.Context, a *cli.App, template string) (sandbox.Provider, error) {
	o, err := E2bOptions(a, template)
	if err != nil {
		return nil, err
	}
	if err := o.Check(); err != nil {
		if errors.Is(err, sandbox.ErrKey) {
			return nil, err
		}
		return nil, cli.Usage("%w", err)
	}
	within, stop := context.WithTimeout(ctx, e2bSweepTime)
	defer stop()
	if n, err := e2b.Reap(within, o, false); err == nil && n > 0 {
		a.Say("note: removed %d E2B sandbox(es) that a dead process left behind", n)
	}
	return e2b.New(o)
}

// e2bSweepTime bounds that.
const e2bSweepTime = 5 * time.Second

// collectE2B removes the E2B sandboxes of dead processes where there is a key, or
// counts them. Asked tells whether E2B has answered.
func collectE2B(ctx context.Context, a *cli.App, dry bool) (n int, asked bool, err error) {
	o, err := E2bOptions(a, "")
	if err != nil || o.Key == "" {
		return 0, false, err
	}
	n, err = e2b.Reap(ctx, o, dry)
	return n, err == nil, err
}

func openScratch(a *cli.App) (*scratch.Provider, error) {
	home, err := a.Home()
	if err != nil {
		return nil, err
	}
	return scratch.New(scratch.Options{Dir: filepath.Join(home, "scratch"), Owner: cli.Owner(), Alive: cli.Alive})
}

// reapScratch removes the scratch directories of dead processes.
func reapScratch(ctx context.Context, a *cli.App) (int, error) {
	gone, err := CollectScratch(ctx, a, false)
	return len(gone), err
}
