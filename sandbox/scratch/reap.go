package scratch

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A box's directory is named dirPrefix, the owner, a dot and a random word.
// The name is the owner's mark, so that there is no moment at which a directory
// exists without one: a crash between two steps would leave it to nobody.
const dirPrefix = "agentclash-scratch."

// MaxOwnerBytes is the longest owner that fits into a directory's name.
const MaxOwnerBytes = 128

func newDirName(owner string) string {
	return dirPrefix + base64.RawURLEncoding.EncodeToString([]byte(owner)) + "." + rand.Text()
}

// ownerOf reads the owner off a directory's name; it is false for names that
// newDirName does not give.
func ownerOf(name string) (string, bool) {
	marked, ok := strings.CutPrefix(name, dirPrefix)
	if !ok {
		return "", false
	}
	code, word, ok := strings.Cut(marked, ".")
	if !ok || len(word) != len(rand.Text()) {
		return "", false
	}
	owner, err := base64.RawURLEncoding.Strict().DecodeString(code)
	if err != nil || len(owner) == 0 {
		return "", false
	}
	return string(owner), true
}

// Reap removes the boxes of owners that are no longer alive, and nothing else:
// no box of this provider's owner, no file, no link, no directory of another
// name. It returns the paths it removed. What cannot be removed is an error at
// the end and stops nothing.
func (p *Provider) Reap(ctx context.Context) ([]string, error) {
	left, err := p.Left()
	if err != nil {
		return nil, err
	}
	var removed []string
	var errs []error
	for _, dir := range left {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, dir)
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("reap scratch boxes: %w", err)
	}
	return removed, nil
}

// Left lists what Reap would remove.
func (p *Provider) Left() ([]string, error) {
	if p.opts.Alive == nil {
		return nil, nil
	}
	entries, err := os.ReadDir(p.opts.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for left scratch boxes: %w", err)
	}
	var left []string
	for _, e := range entries {
		owner, marked := ownerOf(e.Name())
		if marked && e.IsDir() && owner != p.opts.Owner && !p.opts.Alive(owner) {
			left = append(left, filepath.Join(p.opts.Dir, e.Name()))
		}
	}
	return left, nil
}
