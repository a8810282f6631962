package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/agentclash/agentclash/store"
)

// PagePath is where the page of a run is written when no file was named: beside the store.
func (a *App) PagePath(runID string) (string, error) {
	home, err := a.Home()
	return filepath.Join(home, "reports", Short(runID)+".html"), err
}

// unwritten is how old a page has to be that was never written to its end.
const unwritten = time.Hour

// RemovePages removes the pages beside the store that are of no run in it: they hold what
// was removed with the run. What a process that was killed has left of one goes, too.
func (a *App) RemovePages(ctx context.Context, db *store.DB) error {
	some, err := a.PagePath("")
	if err != nil {
		return err
	}
	dir := filepath.Dir(some)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	removed := 0
	for _, e := range entries {
		goes, lerr := a.leftPage(ctx, db, e)
		if lerr == nil && goes {
			if lerr = os.Remove(filepath.Join(dir, e.Name())); lerr == nil {
				removed++
			}
		}
		err = errors.Join(err, lerr)
	}
	if removed > 0 {
		a.Say("note: removed %d page(s) of runs that are gone from %s", removed, dir)
	}
	if err != nil {
		return fmt.Errorf("remove the pages of runs that are gone: %w", err)
	}
	return nil
}

// ofPage are the names of pages, and of those that are being written.
var ofPage = regexp.MustCompile(`^(?:([0-9a-f]{8})\.html|\.[0-9a-f]{8}\.html-[0-9]+)$`)

// leftPage says whether a file beside the store is a page that nothing needs. What else
// people keep there is theirs.
func (a *App) leftPage(ctx context.Context, db *store.DB, e fs.DirEntry) (bool, error) {
	name := ofPage.FindStringSubmatch(e.Name())
	if name == nil || !e.Type().IsRegular() {
		return false, nil
	}
	if name[1] != "" {
		kept, err := db.AnyRun(ctx, name[1])
		return !kept, err
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) { // it has become a page meanwhile
		return false, nil
	}
	return err == nil && a.Process.Now().Sub(info.ModTime()) > unwritten, err
}
