package docker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// raw is the engine without our room in between, to look at what it did.
func raw(t testing.TB) *client.Client {
	t.Helper()
	e := needEngine(t)
	c, err := client.NewClientWithOpts(client.WithHost(e.Host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func box(t testing.TB, p *docker.Provider, spec sandbox.Spec) sandbox.Session {
	t.Helper()
	if spec.Labels == (sandbox.Labels{}) {
		spec.Labels = sandbox.Labels{RunID: "docker-test", TrialID: t.Name()}
	}
	if spec.Lifetime == 0 {
		spec.Lifetime = 5 * time.Minute
	}
	b, err := p.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	return b
}

// guestProgram runs one of the misbehaving programs of the guest used in tests.
func guestProgram(args ...string) sandbox.Command {
	return sandbox.Command{Argv: append([]string{"/.agentclash/guest"}, args...), Timeout: time.Minute}
}

func sh(script string) sandbox.Command {
	return sandbox.Command{Argv: []string{"/bin/sh", "-c", script}, Timeout: time.Minute}
}

func run(t testing.TB, b sandbox.Session, c sandbox.Command) sandbox.Result {
	t.Helper()
	r, err := b.Exec(t.Context(), c)
	if err != nil {
		t.Fatalf("exec %q: %v", c.Argv, err)
	}
	return r
}

func wantFine(t testing.TB, b sandbox.Session) {
	t.Helper()
	if r := run(t, b, sh("echo fine")); r.Stdout.Text != "fine\n" {
		t.Errorf("afterwards: got %+v, want a box that works", r)
	}
}

// await polls for what only the engine decides the time of.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("after 20 s still not: %s", what)
}

func exists(t testing.TB, c *client.Client, id string) bool {
	t.Helper()
	_, err := c.ContainerInspect(context.Background(), id)
	return err == nil
}

func TestContainerIsHardened(t *testing.T) {
	t.Parallel()
	o := options(t)
	p := open(t, o)
	b := box(t, p, sandbox.Spec{
		Labels: sandbox.Labels{RunID: "run-1", TrialID: "trial-1", Agent: "agent \x1b[31m", Case: strings.Repeat("c", 1000)},
		Env:    map[string]string{"TASK": "value"},
		Limits: sandbox.Limits{MemoryBytes: 256 << 20, PIDs: 64, NanoCPUs: 5e8, OpenFiles: 128},
	})
	c, err := raw(t).ContainerInspect(t.Context(), b.ID())
	if err != nil {
		t.Fatal(err)
	}
	if h := c.HostConfig; p.Engine().Name != podman { // which says it in its own words
		got := fmt.Sprint(h.NetworkMode, h.ReadonlyRootfs, h.AutoRemove, h.Privileged, h.CapDrop, h.CapAdd, h.SecurityOpt, *h.Init,
			h.LogConfig.Type, h.Memory, h.MemorySwap, *h.PidsLimit, h.NanoCPUs, h.IpcMode, len(h.Binds), len(h.Devices), c.Config.Tty, c.Config.StdinOnce)
		want := fmt.Sprint("none", true, true, false, []string{"ALL"}, []string(nil), []string{"no-new-privileges:true"}, false,
			"none", 256<<20, 256<<20, 64, int64(5e8), "private", 0, 0, false, true)
		if got != want {
			t.Errorf("host config:\ngot  %s\nwant %s", got, want)
		}
	}
	l := c.Config.Labels
	if l["dev.agentclash.owner"] != o.Owner || l["dev.agentclash.host"] != o.HostID || l["dev.agentclash.run"] != "run-1" ||
		l["dev.agentclash.trial"] != "trial-1" || l["dev.agentclash.agent"] != "agent [31m" || len(l["dev.agentclash.case"]) != 256 || l["dev.agentclash.expires"] == "" {
		t.Errorf("labels: got %v", l)
	}

	r := run(t, b, sh(`while read -r k v; do case $k in CapEff:|CapPrm:|CapBnd:|NoNewPrivs:|Seccomp:) echo "$k$v";; esac; done < /proc/self/status
		while read -r dev at type opts rest; do case $at in /|/workspace|/tmp|/var/tmp|/run|/.agentclash|/dev/shm) echo "$at ${opts%%,*}";; esac; done < /proc/mounts
		read -r h < /proc/sys/kernel/hostname; echo "$h"; ulimit -n 2>/dev/null; echo "$TASK $HOME $TZ $TMPDIR"`))
	lines := strings.Split(strings.TrimSpace(r.Stdout.Text), "\n")
	slices.Sort(lines)
	wantLines := []string{
		"/ ro", "/.agentclash ro", "/dev/shm rw", "/run rw", "/tmp rw", "/var/tmp rw", "/workspace rw",
		"CapBnd:0000000000000000", "CapEff:0000000000000000", "CapPrm:0000000000000000", "NoNewPrivs:1", "Seccomp:2",
		"sandbox", "value /workspace/.home UTC /tmp",
	}
	if diff := cmp.Diff(wantLines, slices.DeleteFunc(lines, func(l string) bool { return l == "128" })); diff != "" {
		t.Errorf("from inside (-want +got):\n%s", diff)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	p := open(t, options(t))
	for name, spec := range map[string]sandbox.Spec{
		"little memory":      {Limits: sandbox.Limits{MemoryBytes: 8 << 20}},
		"few processes":      {Limits: sandbox.Limits{PIDs: 3}},
		"too large a space":  {Limits: sandbox.Limits{MemoryBytes: 256 << 20, WorkspaceBytes: 200 << 20}},
		"an overflow":        {Limits: sandbox.Limits{WorkspaceBytes: 1<<63 - 1}},
		"an odd environment": {Env: map[string]string{"A=B": "c"}},
	} {
		b, err := p.Open(t.Context(), spec)
		if err == nil {
			_ = b.Close(t.Context())
			t.Errorf("%s: got a box, want an error", name)
		}
		if _, ok := errors.AsType[*sandbox.BoxError](err); ok {
			t.Errorf("%s: got %v, want a refusal that is not the engine's", name, err)
		}
	}
}

func TestSmallBox(t *testing.T) {
	t.Parallel()
	b := box(t, open(t, options(t)), sandbox.Spec{Limits: sandbox.Limits{MemoryBytes: 32 << 20, PIDs: 32}})
	wantFine(t, b)
	if err := b.WriteFile(t.Context(), "f", make([]byte, 32<<20)); !errors.Is(err, sandbox.ErrNoSpace) {
		t.Errorf("write as much as there is memory: got %v, want ErrNoSpace", err)
	}
	wantFine(t, b)
}

func TestLocalhostResolves(t *testing.T) {
	t.Parallel()
	b := box(t, open(t, options(t)), sandbox.Spec{})
	if r := run(t, b, guestProgram("resolve", "localhost")); !strings.Contains(r.Stdout.Text, "127.0.0.1") {
		t.Errorf("got %+v, want 127.0.0.1", r)
	}
	if r := run(t, b, guestProgram("resolve", "example.com")); !strings.Contains(r.Stdout.Text, "[]") {
		t.Errorf("a name of the network: got %+v, want no address", r)
	}
}

func TestNonRoot(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.User = "1000:1000"
	b := box(t, open(t, o), sandbox.Spec{})
	if err := b.WriteFile(t.Context(), "dir/by-guest", []byte("x")); err != nil {
		t.Error(err)
	}
	r := run(t, b, sh(`echo y > dir/by-program && echo z > /tmp/f && echo fine; while read -r k v; do case $k in Uid:) echo $v;; esac; done < /proc/self/status`))
	if !strings.HasPrefix(r.Stdout.Text, "fine\n1000") {
		t.Errorf("got %+v, want files written by user 1000", r)
	}
	if r := run(t, b, guestProgram("pry", "/proc/1/fd/0", "/proc/1/fd/1", "/proc/1/mem", "/proc/1/environ")); r.ExitCode != 0 {
		t.Errorf("the guest's own: got %+v, want all refused", r)
	}
}

func TestCloseOfTheProviderLeavesNothing(t *testing.T) {
	t.Parallel()
	o := options(t)
	p, err := docker.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range 3 {
		b := box(t, p, sandbox.Spec{})
		ids = append(ids, b.ID())
		if i == 0 {
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if exists(t, raw(t), id) {
			t.Errorf("the container %s is still there", id)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("close again: %v", err)
	}
}

func TestOpenThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	o := options(t)
	p := open(t, o)
	wantFine(t, box(t, p, sandbox.Spec{})) // the guest is delivered by now
	for _, after := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond, 150 * time.Millisecond} {
		ctx, stop := context.WithTimeout(t.Context(), after)
		b, err := p.Open(ctx, sandbox.Spec{Lifetime: time.Minute})
		stop()
		if err == nil {
			_ = b.Close(t.Context())
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("given up after %s: got %v, want the context's error", after, err)
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := owned(t, o); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// owned lists the containers with an owner's label.
func owned(t testing.TB, o docker.Options) []string {
	t.Helper()
	all, err := raw(t).ContainerList(context.Background(), container.ListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range all {
		if c.Labels["dev.agentclash.owner"] == o.Owner {
			names = append(names, fmt.Sprint(c.Names, c.State))
		}
	}
	return names
}

func TestOutputIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	b := box(t, open(t, options(t)), sandbox.Spec{})
	c := sh(`printf 'äöüßäöüß'`)
	c.HeadBytes, c.TailBytes = 3, 3
	if r := run(t, b, c); r.Stdout.Text != "ä\n[... 12 bytes dropped ...]\nß" || r.Stdout.Bytes != 16 || !r.Stdout.Truncated {
		t.Errorf("got %+v", r.Stdout)
	}
}

func TestMoreProcessorsThanThereAre(t *testing.T) {
	t.Parallel()
	wantFine(t, box(t, open(t, options(t)), sandbox.Spec{Limits: sandbox.Limits{NanoCPUs: 1000e9}}))
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	p := open(t, options(t))
	d, err := p.Describe(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Kind != "docker" || d.Image != docker.BuiltinImage || !strings.HasPrefix(d.ImageID, "sha256:") || d.Note != "" || !strings.Contains(d.Engine, needEngine(t).Version) {
		t.Errorf("got %+v", d)
	}
	if _, err := json.Marshal(p.Engine()); err != nil || p.Engine().CPUs < 1 || p.Engine().Arch == "" {
		t.Errorf("engine: got %+v, %v", p.Engine(), err)
	}
}

// TestFewerProcessors: a machine that has fewer than were asked for is used, and
// says so.
func TestFewerProcessors(t *testing.T) {
	t.Parallel()
	p := open(t, options(t))
	spec := sandbox.Spec{Limits: sandbox.Limits{NanoCPUs: 1000e9}}
	d, err := p.Describe(t.Context(), spec)
	if err != nil || !strings.Contains(d.Note, "not the 1000 that were asked for") {
		t.Errorf("got the note %q and %v, want what boxes have", d.Note, err)
	}
	wantFine(t, box(t, p, spec))
	if d, err = p.Describe(t.Context(), sandbox.Spec{}); err != nil || strings.Contains(d.Note, "processors") {
		t.Errorf("got the note %q and %v, want none", d.Note, err)
	}
}

// TestWhatCannotBeInABox: a refusal of a spec says that it is one.
func TestWhatCannotBeInABox(t *testing.T) {
	t.Parallel()
	p := open(t, options(t))
	many := make([]string, 201)
	for i := range many {
		many[i] = fmt.Sprintf("package%d", i)
	}
	for what, spec := range map[string]sandbox.Spec{
		"a variable": {Env: map[string]string{"a=b": "c"}}, "packages": {Packages: many},
	} {
		if _, err := p.Open(t.Context(), spec); !errors.Is(err, sandbox.ErrSpec) {
			t.Errorf("%s: got %v, want ErrSpec", what, err)
		}
	}
}
