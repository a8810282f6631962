package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/guest"
)

// Layers are built in a container and committed, not by the engine's builder: a
// container can be hardened, bounded, labelled with its owner and told apart
// from others', and the guest as its first process ends it when this process
// dies, kills what takes too long and bounds what it says.

const (
	updateTime  = 5 * time.Minute
	installTime = 20 * time.Minute
	queryTime   = time.Minute
	commitTime  = 5 * time.Minute
	buildLife   = updateTime + installTime + commitTime + 5*time.Minute
	sayEvery    = 15 * time.Second

	buildMemory = 2 << 30
	buildPIDs   = 1024
	buildOutput = 32 << 10 // head and tail of each stream
	policyFile  = "/usr/sbin/policy-rc.d"
)

// aptOptions stand before every command of apt-get. Without most capabilities it
// cannot become its own user for downloads.
var aptOptions = []string{
	"-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30",
	"-o", "Acquire::Languages=none", "-o", "APT::Update::Error-Mode=any", "-o", "Dpkg::Use-Pty=0", "-o", "DPkg::Lock::Timeout=60",
}

// buildCaps are what apt and dpkg need to put files of all owners and modes in
// their places.
var buildCaps = []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID"}

// workshop is the container in which a layer is built.
type workshop struct {
	layer  layer
	id     string
	client *guest.Client
	env    map[string]string
	secret []string // what must not be repeated: proxies may hold passwords
}

// buildLayer builds the layer and gives it its tag. Nothing is left of a build
// that fails: the container goes with its guest, which goes with us.
func (p *Provider) buildLayer(ctx context.Context, l layer) (err error) {
	give, err := p.memory.take(ctx, p.buildMemory())
	if err != nil {
		return err
	}
	var removals sync.WaitGroup
	defer func() { p.giveAfter(&removals, give) }()
	within, stop := context.WithTimeout(ctx, buildLife)
	defer stop()
	p.o.progress(fmt.Sprintf("installing %s into %s, once", strings.Join(l.names, ", "), l.base.ref))
	w, err := p.openWorkshop(within, l, &removals)
	if err != nil {
		return err
	}
	defer func() {
		_ = w.client.Close()
		removals.Add(1)
		p.discard(ctx, w.id, removals.Done)
	}()
	installed, err := p.install(within, w)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if _, found, err := p.findLayer(ctx, l); found || err != nil {
		return err // another process was sooner
	}
	if err := p.commit(within, w, installed); err != nil {
		return p.engineError(ctx, err)
	}
	p.o.progress(fmt.Sprintf("kept as %s: %d packages", l.tag, len(installed)))
	return nil
}

func (p *Provider) openWorkshop(ctx context.Context, l layer, removals *sync.WaitGroup) (*workshop, error) {
	g, err := p.guest()
	if err != nil {
		return nil, &sandbox.BoxError{Kind: sandbox.Engine, Err: err}
	}
	network := "default"
	w, err := p.startWorkshop(ctx, l, g, network, removals)
	if err != nil && ctx.Err() == nil && strings.Contains(err.Error(), "network") {
		// An image may have packages of its own to install. For others apt-get
		// says what it cannot reach.
		p.o.progress("the engine gives containers no network, so it is tried without: " + firstLine(err.Error()))
		network = "none"
		w, err = p.startWorkshop(ctx, l, g, network, removals)
	}
	if errors.Is(err, errNoGuest) {
		if err := p.deliver(ctx, l.base, g); err != nil {
			return nil, p.engineError(ctx, err)
		}
		w, err = p.startWorkshop(ctx, l, g, network, removals)
	}
	return w, err
}

func (p *Provider) startWorkshop(ctx context.Context, l layer, g guestFile, network string, removals *sync.WaitGroup) (_ *workshop, err error) {
	done, err := p.life.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	defer func() { done(err) }()
	config, host := p.workshopConfig(l, g)
	host.NetworkMode = container.NetworkMode(network)
	within, stop := context.WithTimeout(ctx, createTime)
	defer stop()
	name := fmt.Sprintf("agentclash-layer-%s-%d", strings.ToLower(p.tag), p.seq.Add(1))
	made, err := p.cli.ContainerCreate(within, config, host, nil, nil, name)
	if err != nil {
		if unanswered(err) {
			removals.Add(1)
			p.discard(ctx, name, removals.Done)
		}
		return nil, p.engineError(ctx, fmt.Errorf("create a container to install packages in: %w", err))
	}
	settled := make(chan struct{})
	defer func() {
		if err != nil {
			removals.Add(1)
			p.discardAfter(ctx, made.ID, settled, removals.Done)
		}
	}()
	st, err := p.run(ctx, made.ID, settled)
	if err != nil {
		return nil, err
	}
	within, stop = context.WithTimeout(ctx, greetTime)
	defer stop()
	c, facts, err := guest.Connect(within, st, guest.Config{})
	if err == nil && facts.GuestBytes != g.size {
		_ = c.Close()
		err = errors.New("the guest's file is not whole")
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%w: %w", errNoGuest, &sandbox.BoxError{Kind: sandbox.Engine, Detail: st.lastWords(), Err: err})
	}
	return p.equip(&workshop{layer: l, id: made.ID, client: c}), nil
}

// buildMemory is what a build may take: no more than boxes may have together.
func (p *Provider) buildMemory() int64 {
	if p.memory.total > 0 {
		return min(buildMemory, p.memory.total)
	}
	return buildMemory
}

// workshopConfig is the container: root, with a network and a root that can be
// written to, and otherwise as closed as a box. Its environment is the image's
// and nothing else, because it is committed.
func (p *Provider) workshopConfig(l layer, g guestFile) (*container.Config, *container.HostConfig) {
	stopNow, noInit, pids := 0, false, int64(buildPIDs)
	memory, labels := p.buildMemory(), p.ownLabels(buildLife)
	labels[labelMemory] = strconv.FormatInt(memory, 10)
	c := &container.Config{
		Image: l.base.id, Entrypoint: []string{guestPath}, Cmd: []string{guest.Subcommand, "--deadline", buildLife.String()},
		User: "0:0", WorkingDir: "/",
		OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, StopSignal: "SIGKILL", StopTimeout: &stopNow,
		Labels: labels,
	}
	h := &container.HostConfig{
		AutoRemove: true, Init: &noInit, CapDrop: []string{"ALL"}, CapAdd: buildCaps,
		SecurityOpt: []string{"no-new-privileges:true"}, OomScoreAdj: 500,
		IpcMode: container.IPCModePrivate, CgroupnsMode: container.CgroupnsModePrivate,
		Tmpfs:     map[string]string{"/tmp": "rw,nosuid,nodev,exec,size=256m,mode=1777", "/run": "rw,nosuid,nodev,size=16m,mode=0755"},
		Mounts:    []mount.Mount{{Type: mount.TypeVolume, Source: g.volume, Target: guestDir, ReadOnly: true, VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: map[string]string{labelGuest: g.volume}}}},
		LogConfig: container.LogConfig{Type: "none"},
		Resources: container.Resources{
			Memory: memory, MemorySwap: memory, PidsLimit: &pids, Ulimits: []*container.Ulimit{{Name: "nofile", Soft: 4096, Hard: 4096}, {Name: "core"}},
		},
	}
	return c, h
}

// equip gives the programs of a build what they need of this machine: how it
// reaches the network. Boxes never see it.
func (p *Provider) equip(w *workshop) *workshop {
	w.env = map[string]string{"DEBIAN_FRONTEND": "noninteractive", "HOME": "/root", "LC_ALL": "C.UTF-8", "TMPDIR": "/tmp"}
	if p.o.Getenv == nil {
		return w
	}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		upper := strings.ToUpper(name)
		value := p.o.Getenv(name)
		if value == "" {
			value = p.o.Getenv(upper)
		}
		if value == "" {
			continue
		}
		w.env[name], w.env[upper] = value, value
		if name != "no_proxy" {
			w.secret = append(w.secret, value)
		}
	}
	return w
}

// install runs apt-get, and returns what there is more than before: each
// package's name and its version.
func (p *Provider) install(ctx context.Context, w *workshop) (map[string]string, error) {
	before, err := w.query(ctx)
	if err != nil {
		return nil, err
	}
	// Nothing that is installed is started: a build is no machine. A policy that
	// is there already stays.
	ours := false
	if _, err := w.client.ReadFile(ctx, policyFile, 1); errors.Is(err, guest.ErrNotFound) {
		ours = w.client.WriteFile(ctx, policyFile, []byte("#!/bin/sh\nexit 101\n"), 0o755) == nil
	}
	if err := w.apt(ctx, p.o, "reading the lists of packages", updateTime, "update"); err != nil {
		return nil, err
	}
	if err := w.apt(ctx, p.o, "installing", installTime, slices.Concat([]string{"install", "-y", "--no-install-recommends", "--"}, w.layer.names)...); err != nil {
		return nil, err
	}
	after, err := w.query(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range w.layer.names {
		if after.versions[name] == "" && !after.provided[name] {
			return nil, unknownPackage(name, w.layer.base.ref)
		}
	}
	// What only helped to get here is no part of the layer.
	clean := [][]string{{"apt-get", "clean"}, {"find", "/var/lib/apt/lists", "/var/cache/apt", "!", "-type", "d", "-delete"}}
	if ours {
		clean = append(clean, []string{"rm", "-f", policyFile})
	}
	for _, argv := range clean {
		if _, err := w.run(ctx, queryTime, argv); err != nil {
			return nil, err
		}
	}
	if err := w.client.Quiesce(ctx); err != nil {
		return nil, &sandbox.BoxError{Kind: sandbox.Engine, Err: fmt.Errorf("end what the packages started: %w", err)}
	}
	maps.DeleteFunc(after.versions, func(name, version string) bool {
		return before.versions[name] == version && !slices.Contains(w.layer.names, name)
	})
	return after.versions, nil
}

// apt runs apt-get and says now and then that it is still at it.
func (w *workshop) apt(ctx context.Context, o Options, what string, limit time.Duration, args ...string) error {
	o.progress("packages: " + what)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for spent := sayEvery; ; spent += sayEvery {
			select {
			case <-time.After(sayEvery):
				o.progress(fmt.Sprintf("packages: still %s after %s", what, spent))
			case <-ended:
				return
			}
		}
	}()
	r, err := w.run(ctx, limit, slices.Concat([]string{"apt-get"}, aptOptions, args))
	if err != nil {
		return err
	}
	if r.ExitCode != 0 || r.StartError != "" {
		return w.explain(what, limit, r)
	}
	return nil
}

func (w *workshop) run(ctx context.Context, limit time.Duration, argv []string) (guest.Result, error) {
	r, err := w.client.Exec(ctx, guest.Command{Argv: argv, Env: w.env, Dir: "/", Timeout: limit, Head: buildOutput, Tail: buildOutput})
	if err != nil && ctx.Err() == nil {
		err = &sandbox.BoxError{Kind: sandbox.Engine, Err: fmt.Errorf("the container in which packages are installed is gone: %w", err)}
	}
	return r, err
}

// packageSet is what dpkg says is installed.
type packageSet struct {
	versions map[string]string
	provided map[string]bool // by another name
}

func (w *workshop) query(ctx context.Context) (packageSet, error) {
	set := packageSet{versions: map[string]string{}, provided: map[string]bool{}}
	r, err := w.client.Exec(ctx, guest.Command{
		Argv: []string{"dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\t${Version}\t${Provides}\n"}, Env: w.env, Dir: "/",
		Timeout: queryTime, Head: guest.MaxKeep,
	})
	if err != nil && ctx.Err() == nil {
		err = &sandbox.BoxError{Kind: sandbox.Engine, Err: fmt.Errorf("ask which packages are installed: %w", err)}
	}
	if err != nil {
		return set, err
	}
	if r.StartError != "" || r.ExitCode != 0 {
		return set, imageError("%q has no dpkg, so no packages can be installed in it: additional_packages are Debian's; name an image made from Debian or Ubuntu (--image, or version.sandbox.sandbox_template_id), or one that has the packages", w.layer.base.ref)
	}
	for line := range strings.Lines(string(r.Stdout.Head)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || !strings.HasPrefix(f[0], "ii") || !packageName.MatchString(f[1]) {
			continue
		}
		set.versions[f[1]] = plainVersion(f[2])
		for provided := range strings.SplitSeq(f[3], ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(provided), " ")
			set.provided[name] = true
		}
	}
	return set, nil
}

// plainVersion is a version as Debian's rules have it, and nothing else: it goes
// into a label by way of a line that the engine reads.
func plainVersion(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".+:~-", r) {
			return r
		}
		return '_'
	}, s)
}
