package docker

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/system"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	"golang.org/x/sync/errgroup"

	"github.com/agentclash/agentclash/sandbox"
)

// minAPI is the oldest API with everything the containers here ask for.
const minAPI = "1.40"

// podman is how Podman calls itself in the list of its components.
const podman = "Podman Engine"

// Engine describes the engine that answers.
type Engine struct {
	Host         string   `json:"host"`   // its address
	Source       string   `json:"source"` // who said to look there
	Name         string   `json:"name"`   // "Docker Engine", "Podman Engine"
	Version      string   `json:"version"`
	API          string   `json:"api"`
	OS           string   `json:"os"`
	Arch         string   `json:"arch"` // amd64, arm64
	CPUs         int      `json:"cpus"`
	MemoryBytes  int64    `json:"memory_bytes"`
	Rootless     bool     `json:"rootless"`
	CgroupV2     bool     `json:"cgroup_v2"`
	Runtime      string   `json:"runtime"`
	Runtimes     []string `json:"runtimes"`
	StorageSpace string   `json:"storage"` // the storage driver
	// Dir is where it keeps images and containers, and DiskFreeBytes what is free
	// there; "" and 0 when that is not on this machine.
	Dir           string `json:"dir,omitempty"`
	DiskFreeBytes int64  `json:"disk_free_bytes,omitempty"`
}

// Probe asks whether an engine answers, within five seconds unless it is
// reached through ssh. When none does the error wraps
// [sandbox.ErrUnavailable] and says where was looked.
func Probe(ctx context.Context, o Options) (Engine, error) {
	c, e, err := o.connect(ctx)
	if err != nil {
		return Engine{}, err
	}
	defer c.Close()
	return describe(ctx, c, e)
}

// connect finds the endpoint that answers, and agrees with it on the API.
func (o Options) connect(ctx context.Context) (*client.Client, endpoint, error) {
	all, err := o.endpoints()
	if err != nil {
		return nil, endpoint{}, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	limit := answerTime
	if strings.HasPrefix(all[0].host, "ssh://") {
		limit = sshTime
	}
	within, stop := context.WithTimeout(ctx, limit)
	defer stop()
	var tried []string
	for _, e := range all {
		c, err := o.open(within, e)
		if err == nil {
			return c, e, nil
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, endpoint{}, context.Cause(ctx)
		}
		if within.Err() != nil {
			err = within.Err()
		}
		tried = append(tried, fmt.Sprintf("%s (%s): %s", e.host, e.source, reason(err)))
	}
	if len(all) > 1 {
		// Whoever has no engine is not helped by all the sockets it is not on.
		tried = slices.DeleteFunc(tried, func(t string) bool { return strings.HasSuffix(t, reasonAbsent) && t != tried[0] })
	}
	return nil, endpoint{}, fmt.Errorf("%w: %s", sandbox.ErrUnavailable, strings.Join(tried, "; "))
}

const reasonAbsent = "there is no such socket"

// reason is an error of a first contact in few words.
func reason(err error) string {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return reasonAbsent
	case errors.Is(err, os.ErrPermission):
		return "permission denied (is your user in the docker group?)"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	if request, ok := errors.AsType[*url.Error](err); ok { // its address is one that only the library knows
		err = request.Err
	}
	return err.Error()
}

func (o Options) open(ctx context.Context, e endpoint) (*client.Client, error) {
	d := &dialer{}
	c, err := o.newClient(e, d)
	if err != nil {
		return nil, err
	}
	ping, err := c.Ping(ctx)
	if client.IsErrConnectionFailed(err) {
		err = cmp.Or(d.lastError(), err) // the library says no more than that it failed
	}
	if err == nil && ping.OSType != "" && ping.OSType != "linux" {
		err = fmt.Errorf("it runs %s containers, not Linux ones", ping.OSType)
	}
	if err == nil && ping.APIVersion != "" && versions.LessThan(ping.APIVersion, minAPI) {
		err = fmt.Errorf("it speaks API %s, which is older than %s", ping.APIVersion, minAPI)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	c.NegotiateAPIVersionPing(ping)
	return c, nil
}

// dialer makes a client's connections, so that they can be watched while they
// are upgraded (see attach) and a failure keeps its reason.
type dialer struct {
	limit time.Duration
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	mu    sync.Mutex
	err   error // of the last try
}

func (d *dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	within, stop := context.WithTimeout(ctx, d.limit)
	defer stop()
	conn, err := d.dial(within, network, addr)
	if w, ok := ctx.Value(watchKey{}).(*connWatch); ok && err == nil {
		w.set(conn)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	return conn, err
}

func (d *dialer) lastError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (o Options) newClient(e endpoint, d *dialer) (*client.Client, error) {
	d.limit = dialTime
	transport := &http.Transport{MaxIdleConns: 16, MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second}
	opts := []client.Opt{client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect})}
	if strings.HasPrefix(e.host, "ssh://") {
		d.limit = sshTime
		dial, err := sshDialer(o.SSH, e.host)
		if err != nil {
			return nil, err
		}
		opts = append(opts, client.WithHost("http://docker.invalid"), client.WithDialContext(dial))
	} else {
		opts = append(opts, client.WithHost(e.host))
	}
	c, err := client.NewClientWithOpts(opts...)
	if err != nil {
		return nil, err
	}
	d.dial = transport.DialContext
	if e.tls != nil {
		// Told of TLS, the library would dial upgrades by itself.
		d.dial = (&tls.Dialer{Config: e.tls}).DialContext
	}
	transport.DialContext, transport.Proxy = d.DialContext, nil
	return c, nil
}

func describe(ctx context.Context, c *client.Client, e endpoint) (Engine, error) {
	within, stop := context.WithTimeout(ctx, callTime)
	defer stop()
	var info system.Info
	var version types.Version
	g, within := errgroup.WithContext(within)
	g.Go(func() (err error) {
		info, err = c.Info(within)
		return err
	})
	g.Go(func() (err error) {
		version, err = c.ServerVersion(within)
		return err
	})
	if err := g.Wait(); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return Engine{}, context.Cause(ctx)
		}
		return Engine{}, fmt.Errorf("%w: %s (%s): ask it about itself: %s", sandbox.ErrUnavailable, e.host, e.source, reason(err))
	}
	d := Engine{
		Host: e.host, Source: e.source, Name: "Docker Engine", Version: info.ServerVersion, API: c.ClientVersion(),
		OS: info.OperatingSystem, Arch: goArch(info.Architecture), CPUs: info.NCPU, MemoryBytes: info.MemTotal,
		CgroupV2: info.CgroupVersion == "2", Runtime: info.DefaultRuntime, StorageSpace: info.Driver,
	}
	d.locate(info.Name, info.DockerRootDir)
	for name := range info.Runtimes {
		d.Runtimes = append(d.Runtimes, name)
	}
	slices.Sort(d.Runtimes)
	for _, s := range info.SecurityOptions {
		d.Rootless = d.Rootless || strings.Contains(s, "rootless")
	}
	for _, part := range version.Components {
		if part.Name == podman {
			d.Name = podman
		}
	}
	return d, nil
}

// goArch translates the kernel's name of an architecture.
func goArch(arch string) string {
	switch arch {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return arch
}
