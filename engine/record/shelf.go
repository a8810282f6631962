package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// The directories of a shelf.
const (
	repliesDir = "replies"
	callsDir   = "calls" // which entry a call last came to
)

// MaxShelf is how large a cache may become before what was used longest ago
// is removed.
const MaxShelf = 256 << 20

// Shelf holds the files of a cache.
type Shelf struct {
	dir *os.Root
	max int64
	now func() time.Time

	mu   sync.Mutex
	size int64 // as far as this process knows
}

// OpenShelf opens or makes a shelf of at most so many bytes.
func OpenShelf(dir string, most int64, now func() time.Time) (*Shelf, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	s := &Shelf{dir: root, max: most, now: now}
	for _, sub := range []string{repliesDir, callsDir} {
		if err := root.MkdirAll(sub, 0o700); err != nil {
			return nil, fmt.Errorf("open the cache: %w", errors.Join(err, root.Close()))
		}
	}
	for _, f := range s.files(repliesDir) {
		s.size += f.Size()
	}
	return s, nil
}

// Close releases the directory.
func (s *Shelf) Close() error { return s.dir.Close() }

// errChanged is an entry that is not what was kept.
var errChanged = errors.New("it was changed on disk after it was kept")

// Get reads an entry by its key. Its file begins with the digest of the rest.
func (s *Shelf) Get(key string) (Entry, error) {
	raw, err := readFile(s.dir, repliesDir+"/"+key, maxEntry)
	if err != nil {
		return Entry{}, err
	}
	sum, raw, _ := bytes.Cut(raw, []byte("\n"))
	if string(sum) != digestOf(raw) {
		return Entry{}, errChanged
	}
	var e Entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return Entry{}, err
	}
	if e.Version != version || e.Key != key {
		return Entry{}, fmt.Errorf("it is no entry of version %d", version)
	}
	return e, nil
}

// Kept is an entry with its file.
type Kept struct {
	Entry
	Size int64
	Used time.Time
}

// List reads all entries, those that were used last first.
func (s *Shelf) List() []Kept {
	var list []Kept
	for _, f := range s.files(repliesDir) {
		if e, err := s.Get(f.Name()); err == nil {
			list = append(list, Kept{e, f.Size(), f.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b Kept) int { return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Key, b.Key)) })
	return list
}

// Clear removes everything, and says how many entries that were.
func (s *Shelf) Clear() (int, error) {
	gone := 0
	for _, sub := range []string{repliesDir, callsDir} {
		for _, f := range s.files(sub) {
			if err := s.dir.Remove(sub + "/" + f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return gone, fmt.Errorf("clear the cache: %w", err)
			}
			if sub == repliesDir {
				gone++
			}
		}
	}
	return gone, nil
}

// at is the key of the entry that a call last came to.
func (s *Shelf) at(place string) (string, error) {
	raw, err := readFile(s.dir, callsDir+"/"+place, 1<<10)
	return string(bytes.TrimSpace(raw)), err
}

// touch says that an entry was used.
func (s *Shelf) touch(key string) {
	now := s.now()
	_ = s.dir.Chtimes(repliesDir+"/"+key, now, now) // else it is evicted a little early
}

// put writes an entry with its digest, and makes room when there are too many.
func (s *Shelf) put(key, place string, raw []byte) error {
	raw = append([]byte(digestOf(raw)+"\n"), raw...)
	if err := s.write(repliesDir+"/"+key, raw); err != nil {
		return err
	}
	if err := s.write(callsDir+"/"+place, []byte(key+"\n")); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += int64(len(raw)); s.size > s.max {
		s.size = s.evict()
	}
	return nil
}

// write replaces a file as a whole; several processes may write the same one.
func (s *Shelf) write(path string, raw []byte) error {
	part := fmt.Sprintf("%s.%d%s", path, os.Getpid(), partSuffix)
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.dir.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err = cmp.Or(err, f.Close()); err == nil {
		err = s.dir.Rename(part, path)
	}
	if err != nil {
		_ = s.dir.Remove(part)
	}
	return err
}

// evict removes what was used longest ago, a fifth of what there may be, and
// returns the size of the rest.
func (s *Shelf) evict() int64 {
	list := s.files(repliesDir)
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var size int64
	for _, f := range list {
		if size+f.Size() > s.max/5*4 {
			_ = s.dir.Remove(repliesDir + "/" + f.Name()) // another process may have
			continue
		}
		size += f.Size()
	}
	calls := s.files(callsDir)
	slices.SortFunc(calls, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, f := range calls[min(len(calls), 2*len(list)):] {
		_ = s.dir.Remove(callsDir + "/" + f.Name())
	}
	return size
}

// files are those of a directory; what a killed process was writing is removed
// in passing once it is old.
func (s *Shelf) files(dir string) []fs.FileInfo {
	entries, err := fs.ReadDir(s.dir.FS(), dir)
	if err != nil {
		return nil
	}
	var list []fs.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case strings.HasSuffix(e.Name(), partSuffix):
			if s.now().Sub(info.ModTime()) > time.Hour {
				_ = s.dir.Remove(dir + "/" + e.Name())
			}
		default:
			list = append(list, info)
		}
	}
	return list
}
