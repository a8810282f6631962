package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agentclash/agentclash/store"
)

// resources are what a command has opened, to be closed when it ends.
type resources struct {
	Db   *store.DB
	once sync.Once
	over chan struct{}
}

func (a *App) finished() <-chan struct{} {
	a.Opened.once.Do(func() { a.Opened.over = make(chan struct{}) })
	return a.Opened.over
}

func (a *App) finish() {
	a.finished()
	close(a.Opened.over)
}

// Close closes what was opened; it is called once, at the end.
func (a *App) Close() error {
	if a.Opened.Db == nil {
		return nil
	}
	return a.Opened.Db.Close()
}

// StorePath is where the store is, whether it exists or not.
func (a *App) StorePath() (string, error) {
	home, err := a.Home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "agentclash.db"), nil
}

// Store opens the store for writing, making it when it is not there.
func (a *App) Store(ctx context.Context) (*store.DB, error) {
	if a.Opened.Db != nil && !a.Opened.Db.ReadOnly() {
		return a.Opened.Db, nil
	}
	if err := a.Close(); err != nil {
		return nil, err
	}
	a.Opened.Db = nil
	return a.open(ctx, store.Options{Now: a.Process.Now, NewID: a.Process.NewID})
}

// Reading opens the store as it is: it repairs nothing and makes nothing. ok
// is false when there is none yet.
func (a *App) Reading(ctx context.Context) (db *store.DB, ok bool, err error) {
	if a.Opened.Db != nil {
		return a.Opened.Db, true, nil
	}
	path, err := a.StorePath()
	if err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	db, err = a.open(ctx, store.Options{Now: a.Process.Now, NewID: a.Process.NewID, ReadOnly: true})
	return db, err == nil, err
}

// StoreIn is [App.Store], with the workspace to write in.
func (a *App) StoreIn(ctx context.Context) (*store.DB, string, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return nil, "", err
	}
	db, err := a.Store(ctx)
	return db, workspace, err
}

// ReadingIn is [App.Reading], with the workspace to read. The store is nil when there
// is none yet.
func (a *App) ReadingIn(ctx context.Context) (*store.DB, string, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return nil, "", err
	}
	db, _, err := a.Reading(ctx)
	return db, workspace, err
}

func (a *App) open(ctx context.Context, o store.Options) (*store.DB, error) {
	path, err := a.StorePath()
	if err != nil {
		return nil, err
	}
	o.Path = path
	db, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	a.Opened.Db = db
	return db, nil
}

// Stored is reading for commands that make no sense without a store.
func (a *App) Stored(ctx context.Context) (*store.DB, error) {
	db, ok, err := a.Reading(ctx)
	if err == nil && !ok {
		err = (&Failure{Status: StatusNotFound, Code: "not_found", Err: errors.New("there are no runs yet")}).
			Hint("agentclash eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good --follow")
	}
	if err == nil {
		err = a.CheckWorkspace(ctx)
	}
	return db, err
}

// CheckWorkspace refuses a workspace that -w names and the store does not have, for
// commands that show what is in one: a typing error would read as an empty workspace.
func (a *App) CheckWorkspace(ctx context.Context) error {
	if a.Workspace == "" {
		return nil
	}
	_, ok, err := a.Reading(ctx)
	if err == nil && ok {
		_, err = a.KnownWorkspace(ctx, a.Workspace)
	}
	return err
}

// Self is this process as the owner of a run.
func Self() store.Owner {
	return store.Owner{ID: Owner(), PID: os.Getpid(), Host: HostID()}
}

// silence is how long the owner of a run on another machine, or in another
// container, may give no sign of life: its processes cannot be seen from here.
const silence = 60 * time.Second

// OwnerLives says whether the owner of a run is still there.
func (a *App) OwnerLives(o store.Owner, lastSeen time.Time) bool {
	if o.Host == HostID() {
		return Alive(o.ID)
	}
	return a.Process.Now().Sub(lastSeen) < silence
}
