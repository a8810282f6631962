package guest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// enclosedFlag is the second stage: the first process of the new namespaces,
// still root.
const enclosedFlag = "--enclosed"

// enclose is the first stage. It waits for the box, which does not outlive it.
func enclose(in, out, errs *os.File) int {
	runtime.LockOSThread() // the box dies with its parent's thread
	cmd := exec.Command("/proc/self/exe", Subcommand, enclosedFlag)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, errs
	cmd.Env = []string{"PATH=" + cmp.Or(os.Getenv("PATH"), defaultPath), "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8")}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
	}
	before := machineKills()
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(errs, "sandbox-agent: make namespaces: %v (it must be started as root)\n", err)
		return ExitEnclose
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			if ws.Signal() == unix.SIGKILL && machineKills() > before {
				fmt.Fprintln(errs, "sandbox-agent:", NoMemory)
			}
			return 128 + int(ws.Signal())
		}
		return exit.ExitCode()
	}
	fmt.Fprintf(errs, "sandbox-agent: wait for the box: %v\n", err)
	return ExitEnclose
}

// enclosed is the second stage: it makes the box, gives up what it needed for
// that, and becomes the guest.
func enclosed(in io.Reader, errs io.Writer) int {
	runtime.LockOSThread() // credentials are a thread's, and exec keeps this one's
	x, err := readEnclosing(in)
	if err == nil {
		err = x.become()
	}
	fmt.Fprintf(errs, "sandbox-agent: make the box: %v\n", err)
	return ExitEnclose
}

func (x enclosing) become() error {
	if os.Getpid() != 1 || os.Getuid() != 0 || x.ID <= 0 || !filepath.IsAbs(x.Workspace) {
		return errors.New("it takes the first process of new namespaces, root, and a user who is not")
	}
	if err := x.mounts(); err != nil {
		return err
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bring up lo: %w", err)
	}
	if err := unix.Sethostname([]byte("sandbox")); err != nil {
		return fmt.Errorf("set the host's name: %w", err)
	}
	limits := map[int]uint64{unix.RLIMIT_NPROC: x.PIDs, unix.RLIMIT_NOFILE: x.OpenFiles, unix.RLIMIT_CORE: 0}
	if x.FileBytes > 0 {
		limits[unix.RLIMIT_FSIZE] = x.FileBytes
	}
	for what, limit := range limits {
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("set limit %d to %d: %w", what, limit, err)
		}
	}
	if err := x.drop(); err != nil {
		return err
	}
	env := environ(os.Environ(), x.Env, "")
	life := time.Duration(x.LifetimeMS) * time.Millisecond
	err := syscall.Exec("/proc/self/exe", []string{os.Args[0], Subcommand, "--deadline", life.String()}, env)
	return fmt.Errorf("become the guest: %w", err)
}

// drop gives up being root. The raw calls are for this thread alone, which is
// the one that goes on.
func (x enclosing) drop() error {
	id := uintptr(x.ID)
	for _, c := range []struct {
		what       string
		call, a, b uintptr
		c          uintptr
	}{
		{"leave all groups", unix.SYS_SETGROUPS, 0, 0, 0},
		{"set the group", unix.SYS_SETRESGID, id, id, id},
		{"set the user", unix.SYS_SETRESUID, id, id, id},
		{"give up new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0},
		{"end with its parent", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0},
	} {
		if _, _, errno := unix.RawSyscall(c.call, c.a, c.b, c.c); errno != 0 {
			return fmt.Errorf("%s: %w", c.what, errno)
		}
	}
	if err := os.Chdir(x.Workspace); err != nil {
		return err
	}
	return filter()
}

const (
	mib = 1 << 20
	// bytesPerFile sets how many files a file system of a size may hold.
	bytesPerFile = 4 << 10
)

// mounts makes everything read-only, and then what can be written.
func (x enclosing) mounts() error {
	mem, err := memTotal()
	if err != nil {
		return err
	}
	part := func(percent, most int64) int64 { return min(mem/100*percent, most) }
	dirs := []struct {
		dir, mode string
		size      int64
	}{
		{x.Workspace, fmt.Sprintf("mode=0755,uid=%d,gid=%d", x.ID, x.ID), cmp.Or(x.WorkspaceBytes, part(40, 512*mib))},
		{"/tmp", "mode=1777", part(20, 256*mib)},
		{"/var/tmp", "mode=1777", part(5, 64*mib)},
		{"/run", "mode=0755", part(1, 16*mib)},
		{"/dev/shm", "mode=1777", part(5, 64*mib)},
	}
	sum, reserve := int64(0), min(128*mib, mem/4)
	for _, d := range dirs {
		sum += d.size
	}
	if sum > mem-reserve {
		return fmt.Errorf("a workspace of %d MiB beside %d MiB of other file systems and %d MiB for programs does not fit into the machine's %d MiB of memory",
			dirs[0].size/mib, (sum-dirs[0].size)/mib, reserve/mib, mem/mib)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts its own: %w", err)
	}
	for _, d := range dirs {
		if err := os.MkdirAll(d.dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make the root read-only: %w", err)
	}
	for _, d := range dirs {
		options := fmt.Sprintf("size=%d,nr_inodes=%d,%s", d.size, max(d.size/bytesPerFile, 256), d.mode)
		if err := unix.Mount("tmpfs", d.dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
			return fmt.Errorf("mount %s: %w", d.dir, err)
		}
	}
	for dir, flags := range map[string]uintptr{"proc": 0, "sysfs": unix.MS_RDONLY} {
		target := "/" + strings.TrimSuffix(dir, "fs")
		if err := unix.Mount(dir, target, dir, flags|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			return fmt.Errorf("mount %s: %w", target, err)
		}
	}
	return nil
}

func memTotal() (int64, error) {
	var si unix.Sysinfo_t
	if err := unix.Sysinfo(&si); err != nil {
		return 0, fmt.Errorf("ask for the machine's memory: %w", err)
	}
	return int64(si.Totalram) * int64(si.Unit), nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
