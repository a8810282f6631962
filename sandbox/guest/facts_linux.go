package guest

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// facts looks at the box from inside. What cannot be read is reported as not
// known; the host decides what it insists on.
func facts() Facts {
	f := Facts{Version: Version, PID: os.Getpid(), UID: os.Getuid(), GID: os.Getgid(), Interfaces: upInterfaces()}
	if st, err := os.Stat("/proc/self/exe"); err == nil {
		f.GuestBytes = st.Size()
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "CapEff":
			f.CapEff, _ = strconv.ParseUint(value, 16, 64)
		case "NoNewPrivs":
			f.NoNewPrivs = value == "1"
		case "Seccomp":
			f.Seccomp, _ = strconv.Atoi(value)
		}
	}
	f.PIDsMax = limitIn("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max")
	f.MemoryMax = limitIn("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
	f.OpenFiles, f.FileBytes = processLimit(unix.RLIMIT_NOFILE), processLimit(unix.RLIMIT_FSIZE)
	var at unix.Statfs_t
	if unix.Statfs(".", &at) == nil {
		f.WorkspaceBytes = int64(at.Blocks) * at.Bsize
	}
	return f
}

func processLimit(which int) int64 {
	var l unix.Rlimit
	if err := unix.Getrlimit(which, &l); err != nil {
		return 0
	}
	if l.Max > 1<<60 {
		return -1
	}
	return int64(l.Max)
}

// full is the first of the places where programs write whose file system has no
// room left, "" for none.
func (s *server) full() string {
	for _, dir := range []string{s.dir, "/tmp", "/var/tmp", "/dev/shm", "/run"} {
		var at unix.Statfs_t
		if unix.Statfs(dir, &at) == nil && at.Type == unix.TMPFS_MAGIC && (at.Bavail == 0 || at.Files > 0 && at.Ffree == 0) {
			return dir
		}
	}
	return ""
}

// upInterfaces lists the interfaces that are up. Some kernels put tunnel
// devices into every network namespace; they are down, and nothing without
// CAP_NET_ADMIN can change that.
func upInterfaces() []string {
	const flagUp = 1
	b, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return []string{"unknown"}
	}
	var up []string
	for line := range strings.Lines(string(b)) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		flags, err := os.ReadFile("/sys/class/net/" + name + "/flags")
		n, err2 := strconv.ParseUint(strings.TrimSpace(string(flags)), 0, 32)
		if err != nil || err2 != nil || n&flagUp != 0 {
			up = append(up, name)
		}
	}
	return up
}

// limitIn reads a cgroup limit: v2's file, else v1's. Inside a box both stand
// at the root of what is mounted.
func limitIn(v2, v1 string) int64 {
	b, err := os.ReadFile(v2)
	if err != nil {
		if b, err = os.ReadFile(v1); err != nil {
			return 0
		}
	}
	s := string(bytes.TrimSpace(b))
	if s == "max" {
		return -1
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	// v1 writes no limit as the largest number of whole pages.
	if n > 1<<60 {
		return -1
	}
	return n
}

// oomKills counts what the kernel has killed in this box for want of memory;
// 0 when it does not say.
func oomKills() int64 {
	return countIn("oom_kill", "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
}

// machineKills counts what the kernel of this machine has killed for want of
// memory; 0 when it does not say.
func machineKills() int64 { return countIn("oom_kill", "/proc/vmstat", "/proc/vmstat") }

// forkRefusals counts how often the kernel has refused this box a process.
func forkRefusals() int64 {
	return countIn("max", "/sys/fs/cgroup/pids.events", "/sys/fs/cgroup/pids/pids.events")
}

// countIn reads a cgroup's counter: of v2's file, else of v1's.
func countIn(name, v2, v1 string) int64 {
	b, err := os.ReadFile(v2)
	if err != nil {
		if b, err = os.ReadFile(v1); err != nil {
			return 0
		}
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, name+" "); ok {
			count, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			return count
		}
	}
	return 0
}
