package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minLandlock is the oldest of the kernel's Landlock that knows of everything
// roots must forbid: before it a file that may not be written could be cut off.
const minLandlock = 3

// What a program may do with files: all that Landlock knew by then.
const (
	accessRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	accessWrite = accessRead | accessFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

// boundThreads is how many bound calls touch files at once. Each has a thread
// for good: one that has been restricted is restricted for ever.
const boundThreads = 3

// bounds are the threads that the kernel keeps to some directories. What is
// opened on them is opened under the restriction, and a program that is started
// on them inherits it, as do all that it starts.
type bounds struct{ work chan func() }

// bind makes the directories, and prepares for bound calls when it is to narrow
// anything.
func (s *server) bind(req bindRequest) done {
	for _, dir := range req.Dirs {
		if !filepath.IsAbs(string(dir)) {
			return done{Err: toWire(errors.New("the path is not absolute"))}
		}
		if err := os.MkdirAll(string(dir), 0o755); err != nil {
			return done{Err: writeError(err)}
		}
	}
	if !req.Narrow {
		return done{}
	}
	if s.bounds.Load() != nil {
		return done{Err: toWire(errors.New("the box is bound already"))}
	}
	ruleset, err := newRuleset(string(req.Top), req.Read, req.Write)
	if err != nil {
		return done{Err: &wireError{Kind: wireUnbound, Text: clip(err.Error(), maxErrorText)}}
	}
	defer unix.Close(ruleset)
	b := &bounds{work: make(chan func())}
	failed := make(chan error, boundThreads)
	for range boundThreads {
		go b.serve(ruleset, failed)
	}
	for range boundThreads {
		err = errors.Join(err, <-failed)
	}
	if err != nil {
		return done{Err: &wireError{Kind: wireUnbound, Text: clip(err.Error(), maxErrorText)}}
	}
	startThreads(threads) // the others must not be fewer for it
	s.bounds.Store(b)
	return done{}
}

// serve works on a thread of its own under the restriction. The thread ends
// with it, since it is never unlocked; the runtime makes no other threads from
// one that is locked.
func (b *bounds) serve(ruleset int, failed chan<- error) {
	runtime.LockOSThread()
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		failed <- fmt.Errorf("restrict a thread: %w", errno)
		return
	}
	failed <- nil
	for f := range b.work {
		f()
	}
}

// errNotBound is a host that asks for what it has not prepared.
var errNotBound = errors.New("the box is not bound")

// on runs f where a call's files may be touched: anywhere, or under the
// restriction.
func (s *server) on(bound bool, f func()) error {
	if !bound {
		f()
		return nil
	}
	b := s.bounds.Load()
	if b == nil {
		return errNotBound
	}
	over := make(chan struct{})
	b.work <- func() {
		defer close(over)
		f()
	}
	<-over
	return nil
}

// bounded tells an error of a bound call that the restriction made from one that
// the modes of files did: these the kernel judges apart, when it is only asked.
func (w *wireError) bounded(bound bool, path string, access uint32) *wireError {
	if !bound || w.Kind != wireDenied {
		return w
	}
	err := unix.Access(path, access)
	for access&unix.W_OK != 0 && errors.Is(err, unix.ENOENT) && path != "/" { // the parents that a file needs
		path = filepath.Dir(path)
		err = unix.Access(path, access)
	}
	if err == nil {
		w.Kind = wireBounds
	}
	return w
}

// newRuleset says that below top only the roots can be reached, and everything
// elsewhere: the kernel's rules only ever permit, so each of the root
// directory's entries but top's has one. Links among them lead to others.
func newRuleset(top string, read, write [][]byte) (fd int, err error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return -1, fmt.Errorf("the kernel or the engine does not permit Landlock, which keeps programs to directories: %w", errno)
	case abi < minLandlock:
		return -1, fmt.Errorf("the kernel's Landlock is of version %d, and to keep programs to directories needs %d (Linux 6.2)", abi, minLandlock)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: accessWrite}
	// The first field is all that every kernel knows.
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr.Handled_access_fs), 0)
	if errno != 0 {
		return -1, fmt.Errorf("make rules for directories: %w", errno)
	}
	fd = int(r)
	defer func() {
		if err != nil {
			_ = unix.Close(fd)
		}
	}()
	entries, err := os.ReadDir("/")
	if err != nil {
		return -1, err
	}
	for _, e := range entries {
		path := "/" + e.Name()
		if path == top || e.Type()&os.ModeSymlink != 0 {
			continue
		}
		access := uint64(accessWrite)
		if !e.IsDir() {
			access = accessFile
		}
		if err := permit(fd, path, access); err != nil {
			return -1, err
		}
	}
	for _, dir := range read {
		if err := permit(fd, string(dir), accessRead); err != nil {
			return -1, err
		}
	}
	for _, dir := range write {
		if err := permit(fd, string(dir), accessWrite); err != nil {
			return -1, err
		}
	}
	return fd, nil
}

// permit adds a rule for what is at a path and below. The path's last name must
// not be a link: who binds a box has made it.
func permit(ruleset int, path string, access uint64) error {
	at, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(at)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(at)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("a rule for %s: %w", path, errno)
	}
	return nil
}
