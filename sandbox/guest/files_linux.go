package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

var errNotRegular = errors.New("not a regular file")

// read sends at most the asked bytes of a regular file. It never waits: opening
// a FIFO or a device does not block, and neither is read.
func (s *server) read(c *call, req readRequest) done {
	s.bulk <- struct{}{}
	defer func() { <-s.bulk }()
	var fd int
	var st unix.Stat_t
	var err error
	if e := s.on(req.Bound, func() { fd, st, err = openRegular(string(req.Path)) }); e != nil {
		err = e
	}
	if err != nil {
		return done{Err: toWire(err).bounded(req.Bound, string(req.Path), unix.R_OK)}
	}
	defer unix.Close(fd)
	buf := make([]byte, min(max(req.Limit, 0), maxChunk))
	sent := int64(0)
	for sent < req.Limit && !c.cancelled() {
		n, err := unix.Read(fd, buf[:min(req.Limit-sent, maxChunk)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done{Err: toWire(err)}
		}
		if n == 0 {
			break
		}
		if err := s.out.send(kindBulk, c.id, buf[:n]); err != nil {
			break
		}
		sent += int64(n)
	}
	return done{Size: max(st.Size, sent), Mode: st.Mode & 0o7777}
}

func (c *call) cancelled() bool {
	select {
	case <-c.killed:
		return true
	default:
		return false
	}
}

// openRegular opens a regular file for reading. The files of /proc are none,
// whatever stat says: they have no size, and "self" would be the guest.
func openRegular(path string) (int, unix.Stat_t, error) {
	var st unix.Stat_t
	if !filepath.IsAbs(path) {
		return -1, st, errors.New("the path is not absolute")
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, st, err
	}
	var on unix.Statfs_t
	err = unix.Fstat(fd, &st)
	if err == nil {
		err = unix.Fstatfs(fd, &on)
	}
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || on.Type == unix.PROC_SUPER_MAGIC) {
		err = errNotRegular
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// writeOp is a WRITE whose content is still coming. The content goes to a file
// beside the target and takes its name at the end, so that a reader sees the
// old content or the new. A link of that name is replaced, not followed.
type writeOp struct {
	path, temp string
	f          *os.File
	owed       int64
	mode       fs.FileMode
	bound      bool
}

func (s *server) beginWrite(f frame) error {
	var req writeRequest
	if err := decode(f.payload, &req); err != nil {
		return fmt.Errorf("read a request of kind %d: %w", f.kind, err)
	}
	s.mu.Lock()
	taken, full := s.calls[f.id] != nil || s.writes[f.id] != nil, len(s.calls)+len(s.writes) >= maxCalls
	s.mu.Unlock()
	if taken || full || req.Size < 0 {
		return fmt.Errorf("write %d is begun twice, one too many, or of no size", f.id)
	}
	var w *writeOp
	var err error
	if e := s.on(req.Bound, func() { w, err = openWrite(req) }); e != nil {
		err = e
	}
	if err != nil {
		dir := filepath.Dir(string(req.Path))
		return s.sendJSON(kindDone, f.id, done{Err: writeError(err).bounded(req.Bound, dir, unix.W_OK|unix.X_OK)})
	}
	s.writes[f.id] = w
	return s.settleWrite(f.id, w, nil)
}

func openWrite(req writeRequest) (*writeOp, error) {
	w := &writeOp{path: string(req.Path), owed: req.Size, mode: fs.FileMode(req.Mode).Perm(), bound: req.Bound}
	if !filepath.IsAbs(w.path) {
		return nil, errors.New("the path is not absolute")
	}
	if err := os.MkdirAll(filepath.Dir(w.path), 0o755); err != nil {
		return nil, err
	}
	if st, err := os.Lstat(w.path); err == nil {
		if st.IsDir() {
			return nil, syscall.EISDIR
		}
		if st.Mode().IsRegular() {
			w.mode = st.Mode().Perm()
		}
	}
	var err error
	for i := range 100 {
		w.temp = filepath.Join(filepath.Dir(w.path), ".agentclash-"+strconv.Itoa(i)+".tmp")
		w.f, err = os.OpenFile(w.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// continueWrite takes a piece of content. It is written before the next frame
// is read: the writable file systems of a box are memory.
func (s *server) continueWrite(id uint32, w *writeOp, p []byte) error {
	if len(p) == 0 || int64(len(p)) > w.owed {
		return errors.New("the content of a file does not come as announced")
	}
	_, err := w.f.Write(p)
	w.owed -= int64(len(p))
	return s.settleWrite(id, w, err)
}

// settleWrite ends a write that has all its content, or an error.
func (s *server) settleWrite(id uint32, w *writeOp, err error) error {
	if err == nil && w.owed > 0 {
		return nil
	}
	delete(s.writes, id)
	if e := s.on(w.bound, func() {
		if err == nil {
			err = w.commit()
		}
		if err != nil {
			w.abort()
		}
	}); e != nil {
		err = e
	}
	if err != nil {
		return s.sendJSON(kindDone, id, done{Err: writeError(err).bounded(w.bound, filepath.Dir(w.path), unix.W_OK|unix.X_OK)})
	}
	return s.sendJSON(kindDone, id, done{})
}

func (w *writeOp) commit() error {
	if err := w.f.Chmod(w.mode); err != nil {
		return err
	}
	if err := w.f.Close(); err != nil {
		return err
	}
	return unix.Rename(w.temp, w.path)
}

func (w *writeOp) abort() {
	_ = w.f.Close()
	_ = os.Remove(w.temp)
}

// writeError is toWire for a path that need not exist yet.
func writeError(err error) *wireError {
	w := toWire(err)
	if w.Kind == wireNotFound || errors.Is(err, syscall.EEXIST) {
		w.Kind = wireNoParent
	}
	return w
}

// toWire names an error of the file system. A path through something that is
// no directory leads nowhere; a loop of links leads to nothing regular.
func toWire(err error) *wireError {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	w := &wireError{Kind: wireOther, Text: clip(err.Error(), maxErrorText)}
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		w.Kind = wireNotFound
	case errors.Is(err, errNotRegular), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		w.Kind = wireNotRegular
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		w.Kind = wireNoSpace
	case errors.Is(err, syscall.EACCES):
		w.Kind = wireDenied
	case errors.Is(err, syscall.EFBIG):
		w.Kind = wireFileSize
	}
	return w
}
