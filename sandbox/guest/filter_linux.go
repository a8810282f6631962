package guest

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are the system calls that nothing in a box gets, whatever their
// arguments: ways into the kernel that a user has and a task does not need, and
// the one whose calls no filter sees.
func refused() []uint32 {
	return []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	}
}

// filter makes the system calls of this thread, and of what it becomes, go
// through a filter: beside those refused altogether there is no new user
// namespace, in which anybody is root, and no socket to the host of a virtual
// machine, which no network namespace keeps in.
func filter() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no filter of system calls is known for %s", runtime.GOARCH)
	}
	program := filterProgram(arch)
	f := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&f)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// Where the kernel puts what a filter looks at.
const (
	callNumber = 0
	callArch   = 4
	callArg0   = 16 // its lower half
)

// x32 is the bit of a second way to make the calls of amd64.
const x32 = 0x40000000

func filterProgram(arch uint32) []unix.SockFilter {
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	ret := func(what uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what} }
	// unless skips the next n when the value is not (or, for set, has no bit of) k.
	unless := func(test uint16, k uint32, n uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jf: n}
	}
	deny := func(errno unix.Errno) unix.SockFilter { return ret(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
	p := []unix.SockFilter{
		load(callArch),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1},
		ret(unix.SECCOMP_RET_KILL_PROCESS),
		load(callNumber),
		unless(unix.BPF_JSET, x32, 1), deny(unix.ENOSYS),
		unless(unix.BPF_JEQ, unix.SYS_CLONE3, 1), deny(unix.ENOSYS), // its arguments are out of sight; libraries then use clone
	}
	for _, n := range refused() {
		p = append(p, unless(unix.BPF_JEQ, n, 1), deny(unix.EPERM))
	}
	for _, n := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		p = append(p, unless(unix.BPF_JEQ, n, 4), load(callArg0), unless(unix.BPF_JSET, unix.CLONE_NEWUSER, 1), deny(unix.EPERM), ret(unix.SECCOMP_RET_ALLOW))
	}
	p = append(p, unless(unix.BPF_JEQ, unix.SYS_SOCKET, 4), load(callArg0), unless(unix.BPF_JEQ, unix.AF_VSOCK, 1), deny(unix.EPERM), ret(unix.SECCOMP_RET_ALLOW))
	return append(p, ret(unix.SECCOMP_RET_ALLOW))
}
