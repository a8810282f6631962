package guest

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// proc is one process of the box, as /proc tells it.
type proc struct {
	pid, ppid, group, session int
	state                     byte
	threads                   int
	start                     uint64 // in ticks since boot; with pid it names a process for good
}

// dead tells whether nothing of the process runs any more. One whose first
// thread has ended looks like a zombie while the others go on.
func (p proc) dead() bool { return (p.state == 'Z' || p.state == 'X') && p.threads <= 1 }

// family is every process the guest answers for: as the first process of a box
// all of them, elsewhere (in tests, as a child of the test) its descendants.
type family struct {
	self int
	init bool // the guest is PID 1
}

func newFamily() family {
	self := os.Getpid()
	return family{self: self, init: self == 1}
}

// pids lists the processes in the namespace but the guest. Elsewhere than in a
// box that is more than the family.
func (f family) pids() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	pids := make([]int, 0, 16)
	for _, n := range names {
		if n[0] < '1' || n[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(n); err == nil && pid != f.self {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// living lists the processes of the family that still run.
func (f family) living() ([]proc, error) {
	pids, err := f.pids()
	if err != nil {
		return nil, err
	}
	all := make([]proc, 0, 16)
	for _, pid := range pids {
		if p, ok := readProc(pid); ok {
			all = append(all, p)
		}
	}
	if !f.init {
		all = f.descendants(all)
	}
	alive := all[:0]
	for _, p := range all {
		if !p.dead() {
			alive = append(alive, p)
		}
	}
	return alive, nil
}

func (f family) descendants(all []proc) []proc {
	parent := make(map[int]int, len(all))
	for _, p := range all {
		parent[p.pid] = p.ppid
	}
	ours := all[:0]
	for _, p := range all {
		at, steps := p.ppid, 0
		for at > 1 && at != f.self && steps < len(all) {
			at = parent[at]
			steps++
		}
		if at == f.self {
			ours = append(ours, p)
		}
	}
	return ours
}

// killAll ends every process of the family, and reports how many were still
// running when patience ended. In a box one kill(-1) reaches all of them at
// once, which no fork can outrun.
func (f family) killAll(patience time.Duration) int {
	deadline := time.Now().Add(patience)
	for wait := 200 * time.Microsecond; ; wait = min(2*wait, 10*time.Millisecond) {
		if f.init {
			_ = unix.Kill(-1, unix.SIGKILL)
		}
		left, err := f.living()
		if err == nil && len(left) == 0 {
			return 0
		}
		if time.Now().After(deadline) {
			return max(len(left), 1)
		}
		if !f.init {
			for _, p := range left {
				_ = unix.Kill(p.pid, unix.SIGKILL)
			}
		}
		time.Sleep(wait)
	}
}

// readProc reads /proc/<pid>/stat. The program's name, in parentheses, may hold
// anything; what follows its last parenthesis is the kernel's.
func readProc(pid int) (proc, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, false
	}
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return proc{}, false
	}
	f := bytes.Fields(b[end+1:])
	if len(f) < 20 {
		return proc{}, false
	}
	p := proc{pid: pid, state: f[0][0]}
	p.ppid, _ = strconv.Atoi(string(f[1]))
	p.group, _ = strconv.Atoi(string(f[2]))
	p.session, _ = strconv.Atoi(string(f[3]))
	p.threads, _ = strconv.Atoi(string(f[17]))
	p.start, _ = strconv.ParseUint(string(f[19]), 10, 64)
	return p, true
}

// marked tells whether the process carries the entry in the environment it was
// started with.
func marked(pid int, entry []byte) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for e := range bytes.SplitSeq(b, []byte{0}) {
		if bytes.Equal(e, entry) {
			return true
		}
	}
	return false
}

// ticks is now in the unit of proc.start. The unit is 1/100 s on every
// architecture Linux shows to programs.
func ticks() uint64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return uint64(ts.Sec)*100 + uint64(ts.Nsec)/1e7
}
