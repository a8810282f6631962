package cmd

import (
	"context"
	"net/http"
	"path/filepath"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/openai"
	"github.com/agentclash/agentclash/engine/provider/scripted"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/sandbox/scratch"
)

// This is the only file where adapters meet: every model client and every
// sandbox provider of the program is made here.

// server is a provider of models that speaks OpenAI's protocol.
type server struct {
	provider string
	baseURL  string
	keyVar   string // environment variable of its key; "" when it needs none
}

// servers are the providers whose address this version knows.
func servers() []server {
	var list []server
	for _, e := range openai.Endpoints() {
		list = append(list, server{provider: e.Provider, baseURL: e.BaseURL, keyVar: e.KeyVar})
	}
	return list
}

func newServerClient(s server, key string) (provider.Client, error) {
	return openai.New(openai.Options{Provider: s.provider, BaseURL: s.baseURL, Key: key, Proxy: http.ProxyFromEnvironment})
}

func newScriptClient(name string, src []byte) (provider.Client, error) {
	script, err := scripted.Load(name, src)
	if err != nil {
		return nil, err
	}
	return scripted.New(script), nil
}

// newScriptJudge is the judge of a script: its judges list.
func newScriptJudge(name string, src []byte) (provider.Client, error) {
	script, err := scripted.Load(name, src)
	if err != nil {
		return nil, err
	}
	return scripted.NewJudge(script), nil
}

func (a *app) openDocker(ctx context.Context, image string) (sandbox.Provider, error) {
	return docker.Open(ctx, a.dockerOptions(image))
}

func (a *app) dockerOptions(image string) docker.Options {
	return docker.Options{
		Getenv: a.p.Getenv, Image: image, Guest: a.guest, Owner: owner(), HostID: hostID(), Alive: alive,
		Now: a.p.Now, Progress: a.progress,
	}
}

// probeDocker asks whether an engine answers, for half a second at most.
func (a *app) probeDocker(ctx context.Context) (docker.Engine, error) {
	ctx, stop := context.WithTimeout(ctx, probeTime)
	defer stop()
	return docker.Probe(ctx, a.dockerOptions(""))
}

// DockerAnswers says why no Docker engine answers within half a second, nil
// when one does.
func DockerAnswers(ctx context.Context, p *Process) error {
	_, err := (&app{p: p}).probeDocker(ctx)
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
