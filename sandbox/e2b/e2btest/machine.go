package e2btest

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Can says why no machine can be made here, nil when one can.
func Can() error {
	if os.Getuid() != 0 {
		return errors.New("a machine of the loopback E2B takes root, for its namespaces")
	}
	for _, p := range []string{"unshare", "nsenter", "chroot", "mount"} {
		if _, err := exec.LookPath(p); err != nil {
			return fmt.Errorf("a machine of the loopback E2B takes the program %s", p)
		}
	}
	if out, err := exec.Command("unshare", "--mount", "--pid", "--fork", "true").CombinedOutput(); err != nil {
		return fmt.Errorf("no namespaces can be made here: %w: %s", err, out)
	}
	return nil
}

// Need skips a test where no machine can be made.
func Need(t testing.TB) {
	t.Helper()
	if err := Can(); err != nil {
		t.Skip(err)
	}
}

// boot makes a machine's root on the directory $1 and stays its first process.
const boot = `set -e
mount --make-rprivate /
mount --bind "$1" "$1"
for d in bin sbin lib lib32 lib64 libx32 usr etc opt root home; do
	if [ -L "/$d" ]; then cp -P "/$d" "$1/$d"
	elif [ -d "/$d" ]; then mkdir -p "$1/$d"; mount --rbind "/$d" "$1/$d"; mount -o remount,bind,ro "$1/$d"
	fi
done
mkdir -p "$1/dev" "$1/proc" "$1/sys" "$1/tmp" "$1/var"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
echo ready
exec sleep infinity`

type machine struct {
	root, token string
	metadata    map[string]string
	first       *exec.Cmd // unshare, whose child is the first process
	timeout     *time.Timer

	mu        sync.Mutex
	processes map[uint32]*process
	streams   []*events
	over      bool
}

func newMachine(id string, metadata map[string]string) (*machine, error) {
	root, err := os.MkdirTemp("", "agentclash-e2btest-"+id)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(root, 0o755); err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	m := &machine{root: root, token: "ea_" + rand.Text(), metadata: metadata, processes: map[uint32]*process{}}
	m.first = exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--", "/bin/sh", "-c", boot, "boot", root)
	out, err := m.first.StdoutPipe()
	if err == nil {
		m.first.Stderr = os.Stderr
		endWithParent(m.first)
		err = m.first.Start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		m.end()
		return nil, errors.New("the machine did not come up")
	}
	return m, nil
}

// end kills all that runs in the machine and removes its files.
func (m *machine) end() {
	m.mu.Lock()
	if m.over {
		m.mu.Unlock()
		return
	}
	m.over = true
	all := slices.Collect(maps.Values(m.processes))
	m.mu.Unlock()
	if m.timeout != nil {
		m.timeout.Stop()
	}
	m.cut()
	_ = m.first.Process.Kill()
	_ = m.first.Wait()
	for _, p := range all {
		_ = p.in.Close()
	}
	_ = os.RemoveAll(m.root)
}

func (m *machine) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.streams {
		e.close()
	}
}

func (m *machine) say(b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.streams {
		e.raw(b)
	}
}

func (m *machine) watch(e *events) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.streams = append(m.streams, e)
}

// process is one that runs in the machine.
type process struct {
	pid      uint32
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err io.Reader
}

func (m *machine) process(pid uint32) *process {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.processes[pid]
}

// run starts a process in the machine's namespaces and root.
func (m *machine) run(b startBody) (*process, error) {
	init, err := m.initPID()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(m.root + b.Process.Cmd); err != nil && b.Process.Cmd != "/bin/sh" {
		return nil, fmt.Errorf("fork/exec %s: no such file or directory", b.Process.Cmd)
	}
	args := []string{"--target", init, "--mount", "--pid", "--", "chroot", m.root, "/bin/sh", "-c", `cd "$0" && exec "$@"`, b.Process.Cwd, b.Process.Cmd}
	cmd := exec.Command("nsenter", append(args, b.Process.Args...)...)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "HOME=/root", "USER=root", "E2B_SANDBOX=true"}
	for k, v := range b.Process.Envs {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	p := &process{cmd: cmd}
	var err1, err2, err3 error
	p.in, err1 = cmd.StdinPipe()
	p.out, err2 = cmd.StdoutPipe()
	p.err, err3 = cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	endWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if !b.Stdin {
		_ = p.in.Close()
	}
	p.pid = uint32(cmd.Process.Pid)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.processes[p.pid] = p
	return p, nil
}

// initPID is the machine's first process, by the host's numbers.
func (m *machine) initPID() (string, error) {
	pid := m.first.Process.Pid
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return "", err
	}
	var init int
	if _, err := fmt.Sscan(string(b), &init); err != nil {
		return "", errors.New("the machine has no first process")
	}
	return strconv.Itoa(init), nil
}

func (p *process) wait() (code int, status string) {
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode(), p.cmd.ProcessState.String()
}

// events writes the envelopes of one stream.
type events struct {
	mu    sync.Mutex
	w     io.Writer
	flush func() error
	once  sync.Once
	cut   chan struct{} // closed: nothing more may be written
}

func (e *events) event(kind string, v any) {
	e.envelope(0, map[string]any{"event": map[string]any{kind: v}})
}

func (e *events) envelope(flags byte, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	e.raw(append(binary.BigEndian.AppendUint32([]byte{flags}, uint32(len(b))), b...))
}

func (e *events) raw(b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.cut:
		return
	default:
	}
	if _, err := e.w.Write(b); err == nil {
		_ = e.flush()
	}
}

// close ends the stream where it is, when nothing is being written.
func (e *events) close() {
	e.once.Do(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		close(e.cut)
	})
}
