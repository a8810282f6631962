package docker_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

const testHost = "agentclash-docker-test"

// agent builds the small guest once per test process.
var agent = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "agentclash-docker")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "agent")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "../guest/internal/agent")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the guest: %w\n%s", err, out)
	}
	return os.ReadFile(bin)
})

// agentUsed tells whether an engine may have got the guest.
var agentUsed atomic.Bool

// engine tells once whether an engine answers.
var engine = sync.OnceValues(func() (docker.Engine, error) {
	ctx, stop := context.WithTimeout(context.Background(), 15*time.Second)
	defer stop()
	return docker.Probe(ctx, docker.Options{Getenv: os.Getenv})
})

// podman is how Podman calls itself; see [docker.Engine].
const podman = "Podman Engine"

// needEngine skips a test where there is no engine, or fails it where one is
// demanded.
func needEngine(t testing.TB) docker.Engine {
	t.Helper()
	e, err := engine()
	if err != nil {
		if os.Getenv("AGENTCLASH_REQUIRE_DOCKER") == "1" {
			t.Fatalf("AGENTCLASH_REQUIRE_DOCKER is set: %v", err)
		}
		t.Skipf("no Docker engine: %v", err)
	}
	return e
}

// options are those of a provider for this test process. What it makes is
// labelled with an owner of its own.
func options(t testing.TB) docker.Options {
	t.Helper()
	needEngine(t)
	return docker.Options{
		Getenv: os.Getenv, Image: docker.BuiltinImage,
		Guest: func(string) ([]byte, error) {
			agentUsed.Store(true)
			return agent()
		},
		Owner: fmt.Sprintf("test/%d/%s", os.Getpid(), t.Name()), HostID: testHost,
		Alive:  func(string) bool { return true },
		Memory: 1 << 40, // tests hold several boxes at once: they must not wait for each other's
	}
}

func open(t testing.TB, o docker.Options) *docker.Provider {
	t.Helper()
	p, err := docker.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		if err := p.Close(ctx); err != nil {
			t.Errorf("close the provider: %v", err)
		}
	})
	return p
}

// haveStandIn tells whether the image with the tools is made. Where an engine
// is demanded, so is the image.
func haveStandIn(t testing.TB) bool {
	t.Helper()
	_, err := raw(t).ImageInspect(t.Context(), docker.StandInImage)
	if err != nil && os.Getenv("AGENTCLASH_REQUIRE_DOCKER") == "1" {
		t.Fatalf("AGENTCLASH_REQUIRE_DOCKER is set: there is no image %s; make sandbox-image makes it", docker.StandInImage)
	}
	return err == nil
}

// TestContract runs the port's suite on an image with tools, which asks for more
// of a box than one with a shell alone. That one is for where there is no such
// image, and for whoever has the time.
func TestContract(t *testing.T) {
	o := options(t)
	suite := func(image string, tools bool) {
		o := o
		o.Image = image
		t.Run(image, func(t *testing.T) {
			sandboxtest.Run(t, func(t *testing.T) sandbox.Provider { return open(t, o) }, sandboxtest.Capabilities{Process: true, Tools: tools})
		})
	}
	have := haveStandIn(t)
	if have {
		suite(docker.StandInImage, true)
	}
	if !have || os.Getenv("AGENTCLASH_SLOW") == "1" {
		suite(docker.BuiltinImage, false)
	}
}
