package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// misbehave runs one of the programs that a sandbox must survive.
func misbehave(what string, args []string) int {
	switch what {
	case "ignore": // every signal that can be ignored, for ever
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "headless": // its first thread ends, and it looks like a zombie
		runtime.LockOSThread()
		if syscall.Gettid() != os.Getpid() {
			return 1
		}
		go time.Sleep(time.Hour)
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	case "daemon": // a child in a session of its own, with or without its environment
		return daemon(args)
	case "bomb": // forks for ever; with "setsid" into sessions of their own
		bomb(len(args) > 0)
	case "spew": // writes until it is stopped, or so many bytes
		return spew(args)
	case "hog": // takes memory until it is stopped
		return hog(args)
	case "signals": // sends every signal to the first process, once or so many times
		rounds := 1
		if len(args) > 0 {
			rounds, _ = strconv.Atoi(args[0])
		}
		for range rounds {
			for sig := syscall.Signal(1); sig <= 64; sig++ {
				_ = syscall.Kill(1, sig)
			}
		}
		fmt.Println("sent")
	case "pry": // tries to get at the guest's own descriptors and memory
		return pry(args)
	case "args":
		for _, a := range args {
			fmt.Printf("%q\n", a)
		}
	case "resolve":
		addrs, err := net.LookupHost(args[0])
		fmt.Println(addrs, err)
	case "fill": // as many processes that wait as the sandbox allows
		return fill(args)
	case "shm": // takes memory that stays taken when it ends
		return shm(args)
	case "files": // makes empty files until it cannot
		return files(args)
	case "exit":
		n, _ := strconv.Atoi(args[0])
		return n
	default:
		fmt.Fprintf(os.Stderr, "agent: unknown program %q\n", what)
		return 64
	}
	return 0
}

func fork(attr *syscall.ProcAttr, args ...string) (int, error) {
	return syscall.ForkExec("/proc/self/exe", append([]string{"agent"}, args...), attr)
}

func daemon(args []string) int {
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	program := "ignore"
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, a := range args {
		switch a {
		case "bare":
			attr.Env = nil
		case "detached":
			attr.Files = []uintptr{null.Fd(), null.Fd(), null.Fd()}
		case "headless":
			program = "headless"
		case "stay":
			defer time.Sleep(time.Hour)
		}
	}
	pid, err := fork(attr, program)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("pid", pid)
	return 0
}

func bomb(setsid bool) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: setsid}}
	args := []string{"bomb"}
	if setsid {
		args = append(args, "setsid")
	}
	for {
		_, _ = fork(attr, args...)
	}
}

func spew(args []string) int {
	limit := -1
	if len(args) > 0 {
		limit, _ = strconv.Atoi(args[0])
	}
	line := strings.Repeat("x", 4095) + "\n"
	for n := 0; limit < 0 || n < limit; n += len(line) {
		if _, err := os.Stdout.WriteString(line); err != nil {
			return 1
		}
	}
	return 0
}

func hog(args []string) int {
	mib := 1 << 20
	if len(args) > 0 {
		mib, _ = strconv.Atoi(args[0])
	}
	var held [][]byte
	for range mib {
		b := make([]byte, 1<<20)
		for i := range b {
			b[i] = 1
		}
		held = append(held, b)
	}
	fmt.Println("held", len(held))
	return 0
}

func pry(paths []string) int {
	opened := 0
	for _, p := range paths {
		for _, flag := range []int{os.O_RDONLY, os.O_WRONLY} {
			f, err := os.OpenFile(p, flag, 0)
			if err == nil {
				opened++
				fmt.Println("opened", p)
				_ = f.Close()
				continue
			}
			fmt.Println("refused", p)
		}
	}
	return opened
}

// fill takes every process the sandbox allows and never lets one go. Its
// children are bare clones that wait in the kernel: a Go program that cannot get
// a thread ends, and would give its place back.
func fill(args []string) int {
	n, _ := strconv.Atoi(args[0])
	for started := 0; started < n; {
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		switch {
		case errno != 0: // full; a place that comes free is taken at once
			pause := syscall.Timespec{Nsec: 1e6}
			_, _, _ = syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, uintptr(unsafe.Pointer(&pause)), 0, 0, 0)
		case pid == 0:
			for {
				_, _, _ = syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
			}
		default:
			started++
		}
	}
	time.Sleep(time.Hour)
	return 0
}

// shm fills shared memory segments, which belong to no process.
func shm(args []string) int {
	mib, _ := strconv.Atoi(args[0])
	const size, create = 8 << 20, 0o1000 | 0o600
	for n := 0; n < mib; n += size >> 20 {
		id, _, errno := syscall.Syscall(syscall.SYS_SHMGET, 0, size, create)
		if errno != 0 {
			fmt.Println("shmget:", errno)
			return 1
		}
		at, _, errno := syscall.Syscall(syscall.SYS_SHMAT, id, 0, 0)
		if errno != 0 {
			fmt.Println("shmat:", errno)
			return 1
		}
		fillPages(at, size)
	}
	return 0
}

// fillPages has the kernel write into a segment: read(2) from /dev/zero needs
// an address, not a Go pointer.
func fillPages(at, size uintptr) {
	zero, err := os.Open("/dev/zero")
	if err != nil {
		return
	}
	defer zero.Close()
	_, _, _ = syscall.Syscall(syscall.SYS_READ, zero.Fd(), at, size)
}

func files(args []string) int {
	for n := 0; ; n++ {
		f, err := os.Create(fmt.Sprintf("%s/%d", args[0], n))
		if err != nil {
			fmt.Println(n, "files:", err)
			return 0
		}
		_ = f.Close()
	}
}
