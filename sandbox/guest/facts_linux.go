package guest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
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
	return f
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
	b, err := os.ReadFile("/sys/fs/cgroup/memory.events")
	if err != nil {
		if b, err = os.ReadFile("/sys/fs/cgroup/memory/memory.oom_control"); err != nil {
			return 0
		}
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok {
			count, _ := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			return count
		}
	}
	return 0
}
