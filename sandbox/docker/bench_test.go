package docker_test

import (
	"io"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// Only ratios within one run mean anything: of "guest" to "api" and the like.

// program does nothing, in the image that has one.
var program = []string{"/bin/true"}

// bareContainer starts a container as one would without a guest: something that
// waits, hardened in nothing.
func bareContainer(b *testing.B, c *client.Client, image, volume string) string {
	b.Helper()
	resp, err := c.ContainerCreate(b.Context(),
		&container.Config{Image: image, Entrypoint: []string{"/.agentclash/guest", "ignore"}, Labels: map[string]string{"dev.agentclash.test": b.Name()}},
		&container.HostConfig{NetworkMode: "none", Binds: []string{volume + ":/.agentclash:ro"}}, nil, nil, "")
	if err != nil {
		b.Fatal(err)
	}
	if err := c.ContainerStart(b.Context(), resp.ID, container.StartOptions{}); err != nil {
		b.Fatal(err)
	}
	return resp.ID
}

// apiExec runs a program as "docker exec" does.
func apiExec(b *testing.B, c *client.Client, id string, argv []string) {
	b.Helper()
	e, err := c.ContainerExecCreate(b.Context(), id, container.ExecOptions{Cmd: argv, AttachStdout: true, AttachStderr: true})
	if err != nil {
		b.Fatal(err)
	}
	a, err := c.ContainerExecAttach(b.Context(), e.ID, container.ExecAttachOptions{})
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, a.Reader)
	a.Close()
	for {
		s, err := c.ContainerExecInspect(b.Context(), e.ID)
		if err != nil || s.ExitCode != 0 {
			b.Fatalf("exit %d, %v", s.ExitCode, err)
		}
		if !s.Running {
			return
		}
	}
}

// bench opens a provider, and has the engine hold the guest.
func bench(b *testing.B) (p *docker.Provider, s sandbox.Session, image, volume string) {
	b.Helper()
	o := options(b)
	if !haveStandIn(b) {
		b.Skipf("there is no image %s; make sandbox-image makes it", docker.StandInImage)
	}
	o.Image = docker.StandInImage
	p = open(b, o)
	s = box(b, p, sandbox.Spec{Lifetime: time.Hour})
	d, err := p.Describe(b.Context(), sandbox.Spec{})
	if err != nil {
		b.Fatal(err)
	}
	guest, err := agent()
	if err != nil {
		b.Fatal(err)
	}
	return p, s, d.ImageID, volumeOf(b, guest)
}

func BenchmarkExec(b *testing.B) {
	_, s, image, volume := bench(b)
	c := raw(b)
	id := bareContainer(b, c, image, volume)
	b.Cleanup(func() { removeContainer(b, id) })
	b.Run("guest", func(b *testing.B) {
		for b.Loop() {
			if r, err := s.Exec(b.Context(), sandbox.Command{Argv: program, Timeout: time.Minute}); err != nil || r.ExitCode != 0 {
				b.Fatalf("%+v, %v", r, err)
			}
		}
	})
	b.Run("api", func(b *testing.B) {
		for b.Loop() {
			apiExec(b, c, id, program)
		}
	})
}

func BenchmarkStart(b *testing.B) {
	p, _, image, volume := bench(b)
	c := raw(b)
	b.Run("guest", func(b *testing.B) { // create to the first answer
		for b.Loop() {
			s, err := p.Open(b.Context(), sandbox.Spec{Lifetime: time.Hour})
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			_ = s.Close(b.Context())
			await(b, "it is gone", func() bool { return !exists(b, c, s.ID()) })
			b.StartTimer()
		}
	})
	b.Run("api", func(b *testing.B) { // create, start, one exec
		for b.Loop() {
			id := bareContainer(b, c, image, volume)
			apiExec(b, c, id, program)
			b.StopTimer()
			removeContainer(b, id)
			b.StartTimer()
		}
	})
}

func BenchmarkFiles(b *testing.B) {
	_, s, _, _ := bench(b)
	for name, size := range map[string]int{"1KB": 1 << 10, "1MB": 1 << 20, "16MB": 16 << 20} {
		data := make([]byte, size)
		b.Run("write "+name, func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := s.WriteFile(b.Context(), "f", data); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("read "+name, func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if f, err := s.ReadFile(b.Context(), "f", 1<<30); err != nil || len(f.Data) != size {
					b.Fatal(err)
				}
			}
		})
	}
}
