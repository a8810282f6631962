package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Owner names this process for as long as it lives, so that another can tell
// whether what it left behind is still looked after: boot id, pid and the
// process's start time, so that a reused pid is not taken for it.
func Owner() string {
	pid := os.Getpid()
	started, _ := startTime(pid) // "" where that cannot be known
	return strings.Join([]string{bootID(), strconv.Itoa(pid), started}, "/")
}

// Alive says whether the process that owner named is still running.
func Alive(name string) bool {
	part := strings.Split(name, "/")
	if len(part) != 3 || part[0] != bootID() {
		return false
	}
	pid, err := strconv.Atoi(part[1])
	if err != nil {
		return false
	}
	if part[2] != "" {
		started, err := startTime(pid)
		return started == part[2] || errors.Is(err, os.ErrPermission) // what others may not look at is there
	}
	// no start time on this system: existing is the best there is
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

// HostID names this machine's view of processes: a container on the same
// machine has other pids, so its namespace counts.
func HostID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	machine, _ := os.ReadFile("/etc/machine-id") // absent elsewhere than on Linux
	ns, _ := os.Readlink("/proc/self/ns/pid")
	sum := sha256.Sum256([]byte(host + "\n" + string(machine) + "\n" + ns))
	return hex.EncodeToString(sum[:8])
}

// bootID is "" where the system has none.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
