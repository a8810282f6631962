package guest

import (
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reaper starts processes and waits for all there are: those it started and
// the orphans that fall to the first process. Nothing else may wait, or fork:
// os/exec would race with it.
type reaper struct {
	// mu is held across fork and entry in procs, and across wait and removal
	// from it: a pid in procs is a process that nobody has reaped.
	mu    sync.Mutex
	procs map[int]*process
	chld  chan os.Signal
}

// process is a program the reaper started. Its status may be read once exited
// is closed.
type process struct {
	pid    int
	status syscall.WaitStatus
	exited chan struct{}
}

func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

func newReaper() *reaper {
	r := &reaper{procs: map[int]*process{}, chld: make(chan os.Signal, 1)}
	signal.Notify(r.chld, syscall.SIGCHLD)
	go r.loop()
	return r
}

// start runs a program. before is called with no process of this call alive
// and none being started.
func (r *reaper) start(argv0 string, argv []string, attr *syscall.ProcAttr, before func()) (*process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before()
	pid, err := syscall.ForkExec(argv0, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, exited: make(chan struct{})}
	r.procs[pid] = p
	preferForOOM(pid)
	return p, nil
}

// preferForOOM makes the kernel take any program before the guest when the
// box's memory is used up.
func preferForOOM(pid int) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, []byte("1000"))
	_ = unix.Close(fd)
}

// killGroup kills the process and its group, unless it has been reaped and its
// number may be another's.
func (r *reaper) killGroup(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.procs[p.pid] == p {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
}

func (r *reaper) loop() {
	for range r.chld {
		for r.reapOne() {
		}
	}
}

// reapOne takes one dead child. It looks before it reaps, so that the number
// stays taken until the entry is gone.
func (r *reaper) reapOne() bool {
	pid := deadChild()
	if pid == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, syscall.WNOHANG, nil)
		if err != syscall.EINTR {
			break
		}
	}
	if p := r.procs[pid]; p != nil {
		delete(r.procs, pid)
		p.status = ws
		close(p.exited)
	}
	return true
}

// deadChild returns the pid of a child that has ended and was not reaped; 0
// for none.
func deadChild() int {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0
		}
		// si_pid: the first word of the union behind signo, errno, code and padding.
		return int((*[32]int32)(unsafe.Pointer(&info))[4])
	}
}
