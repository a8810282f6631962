//go:build unix

package docker_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/client"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// ownerEnv makes the test binary the owner of a box, to be killed.
const ownerEnv = "AGENTCLASH_TEST_OWNER"

func TestMain(m *testing.M) {
	if what := os.Getenv(ownerEnv); what != "" {
		own(what)
		return
	}
	if path := os.Getenv(dialEnv); path != "" {
		dialStdio(path)
		return
	}
	code := m.Run()
	removeAgent()
	os.Exit(code)
}

// removeAgent removes the volume of this process's guest. The engine keeps it
// when another process uses the same.
func removeAgent() {
	e, err := engine()
	if err != nil || !agentUsed.Load() {
		return
	}
	b, err := agent()
	if err != nil {
		return
	}
	c, err := client.NewClientWithOpts(client.WithHost(e.Host), client.WithAPIVersionNegotiation())
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.VolumeRemove(context.Background(), volumeName(b, e.Arch), false)
}

// own opens a box, starts what was asked for in it, says the container's name
// and waits for its end.
func own(what string) {
	ctx := context.Background()
	fail := func(err error) {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	b, err := os.ReadFile(os.Getenv("AGENTCLASH_TEST_GUEST"))
	if err != nil {
		fail(err)
	}
	p, err := docker.Open(ctx, docker.Options{
		Getenv: os.Getenv, Image: docker.BuiltinImage, Guest: func(string) ([]byte, error) { return b, nil },
		Owner: os.Getenv("AGENTCLASH_TEST_OWNER_NAME"), HostID: testHost,
	})
	if err != nil {
		fail(err)
	}
	if what == "churn" {
		churn(ctx, p)
	}
	lifetime := 5 * time.Minute
	if what == "stopped" {
		lifetime = 3 * time.Second
	}
	box, err := p.Open(ctx, sandbox.Spec{Lifetime: lifetime, Limits: sandbox.Limits{PIDs: 100}})
	if err != nil {
		fail(err)
	}
	if args := strings.Fields(what); args[0] == "run" {
		c := guestProgram(args[1:]...)
		c.Timeout = 0
		go func() { _, _ = box.Exec(ctx, c) }()
		time.Sleep(200 * time.Millisecond)
	}
	fmt.Println("box", box.ID())
	time.Sleep(time.Hour)
}

// churn opens and closes boxes until it is killed.
func churn(ctx context.Context, p *docker.Provider) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if b, err := p.Open(ctx, sandbox.Spec{Lifetime: time.Minute}); err == nil {
					_, _ = b.Exec(ctx, sh("echo hi"))
					_ = b.Close(ctx)
				}
			}
		})
	}
	wg.Wait()
}

// TestDeathAtAnyMoment kills an owner that opens and closes boxes, and wants
// what one reaping leaves to be nothing.
func TestDeathAtAnyMoment(t *testing.T) {
	if os.Getenv("AGENTCLASH_SLOW") != "1" {
		t.Skip("AGENTCLASH_SLOW is not 1")
	}
	o := options(t)
	file := guestOnDisk(t)
	o.Owner += "/killed"
	me := o
	me.Owner, me.Alive = "survivor", func(owner string) bool { return owner != o.Owner }
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		cmd := ownerProcess(file, "churn", o.Owner)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(100+random.IntN(2000)) * time.Millisecond)
		_, _ = cmd.Process.Kill(), cmd.Wait()
		// What the engine was doing for it, it may do still.
		await(t, fmt.Sprintf("nothing is left of the owner killed as number %d", i), func() bool {
			if _, err := docker.Reap(t.Context(), me); err != nil {
				t.Logf("reap: %v", err)
			}
			return len(owned(t, o)) == 0
		})
	}
}

// guestOnDisk is a file with the guest, for another process to read.
func guestOnDisk(t *testing.T) string {
	t.Helper()
	agentUsed.Store(true)
	guest, err := agent()
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/guest"
	if err := os.WriteFile(file, guest, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// ownerProcess is the test binary as an owner.
func ownerProcess(guest, what, owner string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"="+what, "AGENTCLASH_TEST_GUEST="+guest, "AGENTCLASH_TEST_OWNER_NAME="+owner)
	return cmd
}

func TestDeathOfTheOwnerRemovesTheContainer(t *testing.T) {
	t.Parallel()
	o := options(t)
	file := guestOnDisk(t)
	for what, signal := range map[string]syscall.Signal{
		"idle":            syscall.SIGKILL,
		"run ignore":      syscall.SIGKILL,
		"run daemon bare": syscall.SIGKILL,
		"run bomb setsid": syscall.SIGKILL,
		"run spew":        syscall.SIGKILL,
		"stopped":         syscall.SIGSTOP, // hung, not dead: the lifetime ends it
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cmd := ownerProcess(file, what, o.Owner)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
			line, _ := bufio.NewReader(out).ReadString('\n')
			id, ok := strings.CutPrefix(strings.TrimSpace(line), "box ")
			if !ok {
				t.Fatalf("the owner says %q", line)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			await(t, "the container is gone", func() bool { return !exists(t, raw(t), id) })
			t.Logf("gone after %s", time.Since(began).Round(time.Millisecond))
		})
	}
}

// TestGuestThatNobodyGreets is an owner that dies between start and attach.
func TestGuestThatNobodyGreets(t *testing.T) {
	t.Parallel()
	o := options(t)
	p := open(t, o)
	wantFine(t, box(t, p, sandbox.Spec{})) // the guest is delivered by now
	guest, err := agent()
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	c := raw(t)
	resp, err := c.ContainerCreate(t.Context(),
		&container.Config{
			Image: d.ImageID, Entrypoint: []string{"/.agentclash/guest"}, Cmd: []string{"sandbox-agent", "--hello", "1s"},
			OpenStdin: true, StdinOnce: true, Labels: map[string]string{"dev.agentclash.test": t.Name()},
		},
		&container.HostConfig{
			NetworkMode: "none", AutoRemove: true,
			Mounts: []mount.Mount{{Type: mount.TypeVolume, Source: volumeOf(t, guest), Target: "/.agentclash", ReadOnly: true}},
		}, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeContainer(t, resp.ID) })
	if err := c.ContainerStart(t.Context(), resp.ID, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "it has ended", func() bool { return !exists(t, c, resp.ID) })
}

func TestReap(t *testing.T) {
	t.Parallel()
	o := options(t)
	p := open(t, o)
	d, err := p.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	me := o.Owner
	// Our own is never asked for: a clean-up must not depend on that answer.
	o.Alive = func(owner string) bool { return owner != me+"/dead" && owner != me }
	past, future := fmt.Sprint(time.Now().Add(-time.Hour).Unix()), fmt.Sprint(time.Now().Add(time.Hour).Unix())
	type labels map[string]string
	ids := map[string]string{}
	for name, l := range map[string]labels{
		"removed: a dead owner's":                 {"owner": me + "/dead", "host": o.HostID, "expires": future},
		"removed: another machine's, expired":     {"owner": "far", "host": me, "expires": past},
		"removed: a live owner's, expired":        {"owner": me + "/live", "host": o.HostID, "expires": past},
		"kept: a live owner's":                    {"owner": me + "/live", "host": o.HostID, "expires": future},
		"kept: another machine's":                 {"owner": me + "/dead", "host": me, "expires": future},
		"kept: our own":                           {"owner": me, "host": o.HostID, "expires": future},
		"kept: one with labels of other products": {"other": "x"},
	} {
		full := map[string]string{"dev.agentclash.test": t.Name()}
		for k, v := range l {
			full["dev.agentclash."+k] = v
		}
		if l["other"] != "" {
			full = map[string]string{"com.example.owner": me + "/dead"}
		}
		resp, err := raw(t).ContainerCreate(t.Context(), &container.Config{Image: d.ImageID, Entrypoint: []string{"/x"}, Labels: full}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeContainer(t, resp.ID) })
		ids[name] = resp.ID
	}
	live := box(t, p, sandbox.Spec{})
	// What has expired may be reaped by anyone, so only the dead owner's is sure.
	n, err := docker.Reap(t.Context(), o)
	if err != nil || n < 1 {
		t.Errorf("got %d removed, %v; want 1 at least", n, err)
	}
	for name, id := range ids {
		if want, got := strings.HasPrefix(name, "kept"), exists(t, raw(t), id); got != want {
			t.Errorf("%s: got it there %v, want %v", name, got, want)
		}
	}
	wantFine(t, live)
	if _, err := p.Reap(t.Context()); err != nil {
		t.Error(err)
	}
}
