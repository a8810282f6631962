//go:build linux

package docker_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/docker"
)

// BenchmarkRatios compares boxes with the same work done on the bare engine, the
// two in turns, and reports the ratio of their medians beside the bound that
// bench/README.md states. Times of a busy machine mean nothing, and ratios of a
// very busy one little. Each row is one measurement, whatever -benchtime is; 1x
// is enough.
func BenchmarkRatios(b *testing.B) {
	r := newRaw(b)
	b.Run("calls", r.calls)
	b.Run("files", r.files)
	b.Run("life", r.life)
	b.Run("run", r.wholeRun)
	b.Run("ends", r.ends)
	b.Run("network", r.network)
	b.Run("memory", r.memory)
}

// rawEngine does by hand what boxes do, as one would without them: containers
// hardened in nothing, programs and files through the API.
type rawEngine struct {
	p     *docker.Provider
	o     docker.Options
	c     *client.Client
	image string
	box   sandbox.Session
	id    string // a container that waits
}

func newRaw(b *testing.B) *rawEngine {
	o := options(b)
	if !haveStandIn(b) {
		b.Skipf("there is no image %s; make sandbox-image makes it", docker.StandInImage)
	}
	o.Image = docker.StandInImage
	r := &rawEngine{p: open(b, o), o: o, c: raw(b), image: docker.StandInImage}
	r.box = box(b, r.p, sandbox.Spec{Lifetime: time.Hour})
	r.id = r.start(b)
	b.Cleanup(func() { removeContainer(b, r.id) })
	return r
}

func (r *rawEngine) start(b *testing.B) string {
	b.Helper()
	resp, err := r.c.ContainerCreate(b.Context(),
		&container.Config{Image: r.image, Entrypoint: []string{"/bin/sleep", "3600"}, WorkingDir: "/work", Labels: map[string]string{"dev.agentclash.test": b.Name()}},
		&container.HostConfig{NetworkMode: "none"}, nil, nil, "")
	if err == nil {
		err = r.c.ContainerStart(b.Context(), resp.ID, container.StartOptions{})
	}
	if err != nil {
		b.Fatal(err)
	}
	return resp.ID
}

// exec runs a program through the API and returns what it wrote.
func (r *rawEngine) exec(b *testing.B, id string, stdin []byte, argv ...string) int64 {
	b.Helper()
	e, err := r.c.ContainerExecCreate(b.Context(), id, container.ExecOptions{Cmd: argv, AttachStdin: stdin != nil, AttachStdout: true, AttachStderr: true})
	if err != nil {
		b.Fatal(err)
	}
	a, err := r.c.ContainerExecAttach(b.Context(), e.ID, container.ExecAttachOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	if stdin != nil {
		_, _ = a.Conn.Write(stdin)
		_ = a.CloseWrite()
	}
	n, _ := io.Copy(io.Discard, a.Reader)
	s, err := r.c.ContainerExecInspect(b.Context(), e.ID)
	for ; err == nil && s.Running; s, err = r.c.ContainerExecInspect(b.Context(), e.ID) {
	}
	if err != nil || s.ExitCode != 0 {
		b.Fatalf("exec %q: exit %d, %v", argv, s.ExitCode, err)
	}
	return n
}

func archive(files map[string][]byte) *bytes.Buffer {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for name, data := range files {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))})
		_, _ = w.Write(data)
	}
	_ = w.Close()
	return &buf
}

func (r *rawEngine) copyTo(b *testing.B, id string, files map[string][]byte) {
	b.Helper()
	if err := r.c.CopyToContainer(b.Context(), id, "/work", archive(files), copyOptions); err != nil {
		b.Fatal(err)
	}
}

func (r *rawEngine) copyFrom(b *testing.B, id, name string) {
	b.Helper()
	body, _, err := r.c.CopyFromContainer(b.Context(), id, "/work/"+name)
	if err != nil {
		b.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, body)
	_ = body.Close()
}

// work is a call in a box that must go well.
func work(b *testing.B, s sandbox.Session, argv ...string) {
	b.Helper()
	if r, err := s.Exec(b.Context(), sandbox.Command{Argv: argv, Timeout: time.Minute}); err != nil || r.ExitCode != 0 {
		b.Fatalf("exec %q: %+v, %v", argv, r, err)
	}
}

func put(b *testing.B, s sandbox.Session, name string, data []byte) {
	b.Helper()
	if err := s.WriteFile(b.Context(), name, data); err != nil {
		b.Fatal(err)
	}
}

func get(b *testing.B, s sandbox.Session, name string) {
	b.Helper()
	if _, err := s.ReadFile(b.Context(), name, 1<<30); err != nil {
		b.Fatal(err)
	}
}

func took(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

func percentile(all []time.Duration, p int) time.Duration {
	slices.Sort(all)
	return all[min(len(all)*p/100, len(all)-1)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// turns measures two ways of doing the same in turns, after one round that is
// not counted, and reports the ratio of the medians.
func turns(b *testing.B, name string, bound float64, rounds int, ours, theirs func()) {
	b.Run(name, func(b *testing.B) {
		var a, z []time.Duration
		for i := range rounds + 1 {
			x, y := took(ours), took(theirs)
			if i > 0 {
				a, z = append(a, x), append(z, y)
			}
		}
		x, y := percentile(a, 50), percentile(z, 50)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(x)/float64(y), "ratio")
		b.ReportMetric(bound, "bound")
		b.ReportMetric(ms(x), "ms")
		b.ReportMetric(ms(y), "ms-other")
	})
}

// report is a figure with a bound of its own.
func report(b *testing.B, name, unit string, bound, got float64) {
	b.Run(name, func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(got, unit)
		b.ReportMetric(bound, "bound")
	})
}

func (r *rawEngine) calls(b *testing.B) {
	call := func() { work(b, r.box, "/bin/true") }
	api := func() { r.exec(b, r.id, nil, "/bin/true") }
	turns(b, "call / API exec", 0.06, 40, call, api)
	if path, err := exec.LookPath("docker"); err == nil {
		turns(b, "call / docker exec", 0.06, 20, call, func() {
			if out, err := exec.Command(path, "-H", needEngine(b).Host, "exec", r.id, "/bin/true").CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		})
	}
	turns(b, "call / fork and exec on the host", 3, 100, call, func() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	})
	for _, name := range []string{"few/a", "few/b", "few/c"} {
		put(b, r.box, name, nil)
	}
	turns(b, "listing of three files / GET _ping", 5, 100, func() {
		if _, err := r.box.List(b.Context(), "few", false, 10); err != nil {
			b.Fatal(err)
		}
	}, func() {
		if _, err := r.c.Ping(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
	boxes, ids := []sandbox.Session{r.box}, []string{r.id}
	for range 3 {
		boxes, ids = append(boxes, box(b, r.p, sandbox.Spec{})), append(ids, r.start(b))
		b.Cleanup(func() { removeContainer(b, ids[len(ids)-1]) })
	}
	defer func() {
		for i := 1; i < 4; i++ {
			_ = boxes[i].Close(b.Context())
			removeContainer(b, ids[i])
		}
	}()
	each := func(n int, f func(i int)) func() {
		return func() {
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for range n {
						f(i)
					}
				})
			}
			wg.Wait()
		}
	}
	turns(b, "20 calls in each of 4 boxes / 20 API execs", 1.0/25, 5,
		each(20, func(i int) { work(b, boxes[i], "/bin/true") }), each(20, func(i int) { r.exec(b, ids[i], nil, "/bin/true") }))
}

func (r *rawEngine) files(b *testing.B) {
	for _, f := range []struct {
		name                   string
		size, rounds           int
		writeCat, readCat, cpy float64
	}{{"1 KB", 1 << 10, 20, 0.03, 0.03, 0.5}, {"1 MB", 1 << 20, 20, 0.5, 0.5, 1}, {"16 MB", 16 << 20, 5, 0.9, 0.9, 2}} {
		data := bytes.Repeat([]byte("0123456789abcde\n"), f.size/16)
		write, read := func() { put(b, r.box, "f", data) }, func() { get(b, r.box, "f") }
		turns(b, "write "+f.name+" / exec cat", f.writeCat, f.rounds, write, func() { r.exec(b, r.id, data, "/bin/sh", "-c", "cat >/work/f") })
		turns(b, "write "+f.name+" / cp", f.cpy, f.rounds, write, func() { r.copyTo(b, r.id, map[string][]byte{"f": data}) })
		turns(b, "read "+f.name+" / exec cat", f.readCat, f.rounds, read, func() { r.exec(b, r.id, nil, "/bin/cat", "/work/f") })
		turns(b, "read "+f.name+" / cp", f.cpy, f.rounds, read, func() { r.copyFrom(b, r.id, "f") })
	}
	seeds := map[string][]byte{}
	for i := range 500 {
		seeds[fmt.Sprintf("seed-%d", i)] = bytes.Repeat([]byte("s"), 4<<10)
	}
	turns(b, "500 files of 4 KB at once / one cp", 0.3, 10, func() {
		var wg sync.WaitGroup
		turn := make(chan struct{}, 16)
		for name, data := range seeds {
			turn <- struct{}{}
			wg.Go(func() {
				defer func() { <-turn }()
				put(b, r.box, name, data)
			})
		}
		wg.Wait()
	}, func() { r.copyTo(b, r.id, seeds) })
	turns(b, "500 files of 4 KB one by one / one cp", 1, 10, func() {
		for name, data := range seeds {
			put(b, r.box, name, data)
		}
	}, func() { r.copyTo(b, r.id, seeds) })
}

func (r *rawEngine) life(b *testing.B) {
	gone := func(id string) {
		for exists(b, r.c, id) {
			time.Sleep(10 * time.Millisecond)
		}
	}
	var last sandbox.Session
	cold := func() {
		var err error
		if last, err = r.p.Open(b.Context(), sandbox.Spec{Lifetime: time.Hour}); err != nil {
			b.Fatal(err)
		}
	}
	turns(b, "box, one call, until gone / create, start, exec, remove", 1.15, 20, func() {
		cold()
		work(b, last, "/bin/true")
		_ = last.Close(b.Context())
		gone(last.ID())
	}, func() {
		id := r.start(b)
		r.exec(b, id, nil, "/bin/true")
		removeContainer(b, id)
	})
	var left []string
	var boxes []sandbox.Session
	turns(b, "open / create, start, one exec", 0.9, 20, func() {
		cold()
		boxes = append(boxes, last)
	}, func() {
		id := r.start(b)
		r.exec(b, id, nil, "/bin/true")
		left = append(left, id)
	})
	for i, id := range left {
		removeContainer(b, id)
		_ = boxes[i].Close(b.Context())
	}
	trial := 0
	warmTurn := func() sandbox.Spec {
		trial++
		spec := warmSpec(fmt.Sprintf("bench-%d", trial))
		warm(b, r.p, r.o, b.Context(), spec)
		time.Sleep(100 * time.Millisecond) // it is greeted
		return spec
	}
	b.Run("warm open and call / cold", func(b *testing.B) {
		var a, z []time.Duration
		for range 20 {
			spec := warmTurn()
			a = append(a, took(func() {
				s, err := r.p.Open(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				work(b, s, "/bin/true")
				last = s
			}))
			_ = last.Close(b.Context())
			gone(last.ID())
			z = append(z, took(func() { cold(); work(b, last, "/bin/true") }))
			_ = last.Close(b.Context())
			gone(last.ID())
		}
		x, y := percentile(a, 50), percentile(z, 50)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(x)/float64(y), "ratio")
		b.ReportMetric(0.05, "bound")
		b.ReportMetric(ms(x), "ms")
		b.ReportMetric(ms(y), "ms-other")
	})
	before := len(owned(b, r.o))
	lives := func(parallel int) func() {
		return func() {
			var wg sync.WaitGroup
			for range parallel {
				wg.Go(func() {
					for range 16 / parallel {
						s, err := r.p.Open(b.Context(), sandbox.Spec{Lifetime: time.Hour})
						if err != nil {
							b.Error(err)
							return
						}
						_ = s.Close(b.Context())
					}
				})
			}
			wg.Wait()
			for len(owned(b, r.o)) > before { // asked seldom: the engine works for the answer
				time.Sleep(50 * time.Millisecond)
			}
		}
	}
	turns(b, "16 boxes, 4 at once / one by one", 1/1.8, 4, lives(4), lives(1))
	turns(b, "16 boxes at once / bare containers at once", 1.15, 4, lives(16), func() {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				id := r.start(b)
				removeContainer(b, id)
			})
		}
		wg.Wait()
	})
}

const benchCases = 16

// wholeRun is 16 cases of 5 seed files and 20 calls.
func (r *rawEngine) wholeRun(b *testing.B) {
	file := bytes.Repeat([]byte("f"), 1<<10)
	run := 0
	ours := func(think time.Duration) func() {
		return func() {
			run++
			spec := func(i int) sandbox.Spec { return warmSpec(fmt.Sprintf("run-%d-%d", run, i)) }
			for i := range benchCases {
				for j := i + 1; j <= min(i+4, benchCases-1) && (i == 0 || j == i+4); j++ {
					r.p.Warm(b.Context(), spec(j))
				}
				s, err := r.p.Open(b.Context(), spec(i))
				if err != nil {
					b.Fatal(err)
				}
				for n := range 5 {
					put(b, s, fmt.Sprintf("seed-%d", n), file)
				}
				for n := range 20 {
					time.Sleep(think)
					switch n % 4 {
					case 0, 1:
						work(b, s, "/bin/true")
					case 2:
						put(b, s, "w", file)
					default:
						get(b, s, "w")
					}
				}
				_ = s.Close(b.Context())
			}
		}
	}
	turns(b, "16 cases / naive exec and cp, one by one", 1.0/6, 2, ours(0), func() {
		for range benchCases {
			id := r.start(b)
			for n := range 5 {
				r.copyTo(b, id, map[string][]byte{fmt.Sprintf("seed-%d", n): file})
			}
			for n := range 20 {
				switch n % 4 {
				case 0, 1:
					r.exec(b, id, nil, "/bin/true")
				case 2:
					r.copyTo(b, id, map[string][]byte{"w": file})
				default:
					r.copyFrom(b, id, "w")
				}
			}
			removeContainer(b, id)
		}
	})
	turns(b, "16 cases with 50 ms before each call / those 50 ms", 1.08, 2, ours(50*time.Millisecond), func() {
		for range benchCases * 20 {
			time.Sleep(50 * time.Millisecond)
		}
	})
}

func (r *rawEngine) ends(b *testing.B) {
	overrun := func(limit time.Duration, c sandbox.Command, s sandbox.Session) time.Duration {
		c.Timeout = limit
		return took(func() {
			if res, err := s.Exec(b.Context(), c); err != nil || !res.TimedOut {
				b.Fatalf("%+v, %v", res, err)
			}
		}) - limit
	}
	var tree, bombs, gone []time.Duration
	for range 30 {
		tree = append(tree, overrun(100*time.Millisecond, sh("sleep 100 & setsid sleep 100 & (sleep 100 &) ; sleep 100"), r.box))
	}
	report(b, "overrun of a deadline, a tree of processes, p90", "ms", 20, ms(percentile(tree, 90)))
	s := box(b, r.p, sandbox.Spec{Limits: sandbox.Limits{PIDs: 128}})
	for range 5 {
		bombs = append(bombs, overrun(500*time.Millisecond, guestProgram("bomb", "setsid"), s))
	}
	report(b, "overrun of a deadline, a fork bomb, most", "ms", 2000, ms(percentile(bombs, 100)))
	guest, err := agent()
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "guest")
	if err := os.WriteFile(file, guest, 0o600); err != nil {
		b.Fatal(err)
	}
	for range 10 {
		cmd := ownerProcess(file, "idle", r.o.Owner)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		id, ok := strings.CutPrefix(strings.TrimSpace(line), "box ")
		if !ok {
			b.Fatalf("the owner says %q", line)
		}
		_ = cmd.Process.Signal(syscall.SIGKILL)
		gone = append(gone, took(func() {
			for exists(b, r.c, id) {
				time.Sleep(time.Millisecond)
			}
		}))
		_ = cmd.Wait() // it was killed
	}
	report(b, "kill -9 of the owner until the container is gone, p90", "ms", 1000, ms(percentile(gone, 90)))
}

const bulk = 256 << 20

// reader is a program that reads what the box's proxy says until it ends.
const reader = `
import socket
c, n, buf = socket.create_connection(("127.0.0.1", 3128)), 0, bytearray(1 << 20)
while True:
    got = c.recv_into(buf)
    if not got: break
    n += got
print(n)
`

func (r *rawEngine) network(b *testing.B) {
	block := make([]byte, 1<<20)
	s := box(b, r.p, sandbox.Spec{Network: func(ctx context.Context, conn net.Conn) {
		for sent := 0; sent < bulk && ctx.Err() == nil; sent += len(block) {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	}})
	read := func(ctx context.Context) (sandbox.Result, error) {
		return s.Exec(ctx, sandbox.Command{Argv: []string{"python3", "-c", reader}, Timeout: time.Minute})
	}
	var speeds []float64
	for range 5 {
		d := took(func() {
			if res, err := read(b.Context()); err != nil || strings.TrimSpace(res.Stdout.Text) != strconv.Itoa(bulk) {
				b.Fatalf("%+v, %v", res, err)
			}
		})
		speeds = append(speeds, bulk/1e6/d.Seconds())
	}
	slices.Sort(speeds)
	b.Run("through the tunnel, the program's start included", func(b *testing.B) {
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(speeds[len(speeds)/2], "MB/s")
		b.ReportMetric(100, "bound-at-least")
	})
	calls := func() (all []time.Duration) {
		for range 50 {
			all = append(all, took(func() { work(b, s, "/bin/true") }))
		}
		return all
	}
	idle := percentile(calls(), 50)
	ctx, stop := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			_, _ = read(ctx) // it ends with the measurement
		}
	})
	time.Sleep(200 * time.Millisecond)
	busy := percentile(calls(), 50)
	stop()
	wg.Wait()
	report(b, "a call beside a bulk transfer / alone", "ratio", 5, float64(busy)/float64(idle))
}

func (r *rawEngine) memory(b *testing.B) {
	c, err := r.c.ContainerInspect(b.Context(), box(b, r.p, sandbox.Spec{}).ID())
	if err != nil {
		b.Fatal(err)
	}
	guest, shim := status(c.State.Pid, "VmRSS"), status(int(status(c.State.Pid, "PPid")), "VmRSS")
	if guest > 0 && shim > 0 { // the engine is on this machine, and we may look
		report(b, "an idle box, its shim included", "MB", 25, float64((guest+shim)<<10)/1e6)
	}
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var most uint64
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapInuse+now.StackInuse)
			}
		}
	})
	res, err := r.box.Exec(b.Context(), sandbox.Command{Argv: []string{"/usr/bin/yes"}, Timeout: 20 * time.Second})
	close(done)
	wg.Wait()
	if err != nil || !res.OutputLimit {
		b.Fatalf("%+v, %v", res.ExitCode, err)
	}
	grown := int64(most) - int64(before.HeapInuse+before.StackInuse)
	report(b, "this process during endless output, kept 1 MB", "MB", 1+16, float64(max(grown, 0))/1e6)
}

// status is a number of /proc/PID/status, 0 when it cannot be read.
func status(pid int, key string) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == key+":" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n
		}
	}
	return 0
}
