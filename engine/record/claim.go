package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"

	"github.com/agentclash/agentclash/engine/filelock"
)

// lockFile is locked by the process that records into a directory, and says which
// that is.
const lockFile = "recording.lock"

// Claim is a directory that one process alone records into, for as long as it
// lives and has not released it.
type Claim struct {
	dir  string
	root *os.Root
	lock *os.File
	made bool // there was no such directory
}

// Take claims a directory for a new recording, and makes it when there is none.
// holder is what others are told of who has it. What Check refuses is refused
// here, too, and nothing that stands there is changed.
func Take(dir, holder string, overwrite bool) (*Claim, error) {
	made := false
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("record into %s: no directory can be made there: %w", dir, err)
		}
		made = true
	}
	c, err := claim(dir, holder)
	if err != nil {
		return nil, err
	}
	c.made = made
	if err := Check(dir, overwrite); err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

// Retake claims the directory of a recording that is to be gone on with.
func Retake(dir, holder string) (*Claim, error) { return claim(dir, holder) }

func claim(dir, holder string) (*Claim, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("record into %s: %w", dir, err)
	}
	c := &Claim{dir: dir, root: root}
	for {
		err := c.tryLock()
		if err == nil {
			break
		}
		if !errors.Is(err, errMoved) {
			return nil, fmt.Errorf("record into %s: %w", dir, cmp.Or(root.Close(), err))
		}
	}
	_, err = c.lock.WriteString(holder + "\n")
	if err = cmp.Or(c.lock.Truncate(int64(len(holder)+1)), err); err != nil {
		c.Release()
		return nil, fmt.Errorf("record into %s: %w", dir, err)
	}
	return c, nil
}

// errMoved is a lock on a file that another process has removed meanwhile.
var errMoved = errors.New("the lock file is another one now")

func (c *Claim) tryLock() error {
	f, err := c.root.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err = filelock.Try(f, true); errors.Is(err, filelock.ErrHeld) {
		err = fmt.Errorf("%s records into it now: wait for it, or name another directory", holderOf(f))
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	there, gone := c.root.Lstat(lockFile)
	if err == nil && (gone != nil || !os.SameFile(mine, there)) {
		err = errMoved
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	c.lock = f
	return nil
}

// Release lets go of the directory. One that was made for nothing is removed.
func (c *Claim) Release() {
	// while it is locked, so that what is removed is nobody else's
	_ = c.root.Remove(lockFile) // one that stays is taken over by the next
	_ = c.lock.Close()
	_ = c.root.Close()
	if c.made {
		_ = os.Remove(c.dir) // only when it is empty
	}
}

// holderOf reads who has a lock, as one line that can be shown.
func holderOf(f *os.File) string {
	raw, err := io.ReadAll(io.LimitReader(f, 200))
	text := strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(raw), "?")))
	if err != nil || text == "" {
		return "another process"
	}
	return text
}

// holder says which process records into a directory now, "" for none.
func holder(dir *os.Root) string {
	f, err := dir.Open(lockFile)
	if err != nil {
		return ""
	}
	defer f.Close()
	if !errors.Is(filelock.Try(f, false), filelock.ErrHeld) {
		return ""
	}
	return holderOf(f)
}
