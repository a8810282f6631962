package guest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	helloWithin = 10 * time.Second
	// threads is how many operating system threads the guest has from its first
	// moment on. When the box's limit on processes is used up no more can be
	// had, and a Go program that needs one then aborts.
	threads = 12
)

// Main is the guest (what follows Subcommand): it serves one host over in and out until it has a reason
// to end, says it on errs, and returns the exit status. Args are
// "--deadline D" (its lifetime, 0 for none) and "--hello D" (how long to wait
// for the first frame, 10 s).
//
// As the first process of a PID namespace its end is everybody's. Elsewhere it
// ends what it started, and touches nothing else.
//
// Args may be EncloseFlag instead: the guest then makes the box first, as an
// [Enclosure] tells it, and is its first process.
func Main(in, out, errs *os.File, args []string) int {
	if len(args) == 1 {
		switch args[0] {
		case EncloseFlag:
			return enclose(in, out, errs)
		case enclosedFlag:
			return enclosed(in, errs)
		}
	}
	fs := flag.NewFlagSet("sandbox-agent", flag.ContinueOnError)
	fs.SetOutput(errs)
	deadline := fs.Duration("deadline", 0, "end after this time, whatever happens")
	hello := fs.Duration("hello", helloWithin, "end unless greeted within this time")
	if fs.Parse(args) != nil || fs.NArg() > 0 {
		return ExitUsage
	}
	if err := harden(); err != nil {
		fmt.Fprintf(errs, "sandbox-agent: prepare: %v\n", err)
		return ExitUsage
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		fmt.Fprintf(errs, "sandbox-agent: prepare: %v\n", err)
		return ExitUsage
	}
	startThreads(threads)

	s := newServer(out, null)
	end := &ending{family: s.family, errs: errs, code: make(chan int, 1)}
	if *deadline > 0 {
		time.AfterFunc(*deadline, func() { end.now(ExitDeadline, "its lifetime of "+deadline.String()+" is over") })
	}
	idle := &idleTimer{end: end}
	idle.t = time.AfterFunc(*hello, func() { end.now(ExitNoHello, "nobody greeted it within "+hello.String()) })
	go func() {
		err := s.serve(pollable(in), idle)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrClosed) {
			end.now(ExitEOF, "")
			return
		}
		end.now(ExitProtocol, err.Error())
	}()
	return <-end.code
}

// ending is the one way out: the first reason counts.
type ending struct {
	family family
	errs   io.Writer
	once   sync.Once
	code   chan int
}

func (e *ending) now(code int, reason string) {
	e.once.Do(func() {
		if reason != "" {
			fmt.Fprintln(e.errs, "sandbox-agent:", reason)
		}
		if !e.family.init {
			e.family.killAll(time.Second)
		}
		e.code <- code
	})
}

// idleTimer ends a guest whose host is silent. Only serve touches it.
type idleTimer struct {
	end     *ending
	t       *time.Timer
	timeout time.Duration
}

// greeted replaces the wait for HELLO by the wait for any frame.
func (i *idleTimer) greeted(timeout time.Duration) {
	i.t.Stop()
	i.timeout = timeout
	i.t = time.AfterFunc(timeout, func() { i.end.now(ExitIdle, "the host was silent for "+timeout.String()) })
}

func (i *idleTimer) touch() {
	if i.timeout > 0 {
		i.t.Reset(i.timeout)
	}
}

// harden makes the guest safe from what will run beside it under the same
// user: not dumpable, so that no program can open its memory, environment or
// descriptors; and with a handler for every signal that can have one, since an ignored
// one would stay ignored in every child.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("set not dumpable: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	signal.Notify(make(chan os.Signal, 1))
	for sig := uintptr(firstOfLibc); sig <= lastOfLibc; sig++ {
		if err := ignoreUnhandled(sig); err != nil {
			return fmt.Errorf("ignore signal %d: %w", sig, err)
		}
	}
	for fd := range 3 {
		syscall.CloseOnExec(fd)
	}
	unix.Umask(0o022)
	debug.SetMemoryLimit(48 << 20)
	runtime.GOMAXPROCS(2)
	return nil
}

// The signals that C libraries keep for themselves, for which Go installs no handler.
// The kernel drops a signal without one that is sent to a first process, unless the
// thread that it looks at blocks it, as one does that forks: then it ends the process.
// Libraries install theirs whether or not a signal was ignored before, so that programs
// may inherit this.
const firstOfLibc, lastOfLibc = 32, 34

// sigaction is the kernel's struct of amd64 and arm64.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// ignoreUnhandled ignores a signal that has no handler.
func ignoreUnhandled(sig uintptr) error {
	const byDefault, ignored = 0, 1
	var is sigaction
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&is)), unsafe.Sizeof(is.mask), 0, 0); errno != 0 {
		return errno
	}
	if is.handler != byDefault {
		return nil
	}
	is = sigaction{handler: ignored}
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&is)), 0, unsafe.Sizeof(is.mask), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// startThreads has n goroutines hold one thread each until all have one. The
// runtime keeps idle threads.
func startThreads(n int) {
	var have, gone sync.WaitGroup
	have.Add(n)
	gone.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			have.Done()
			have.Wait()
			runtime.UnlockOSThread()
			gone.Done()
		}()
	}
	gone.Wait()
}

// pollable lets the runtime wait for f without holding a thread.
func pollable(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f
	}
	if unix.SetNonblock(fd, true) != nil {
		_ = unix.Close(fd)
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
