package cmd

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
	db   *store.DB
	once sync.Once
	over chan struct{}
}

func (a *app) finished() <-chan struct{} {
	a.opened.once.Do(func() { a.opened.over = make(chan struct{}) })
	return a.opened.over
}

func (a *app) finish() {
	a.finished()
	close(a.opened.over)
}

func (a *app) close() error {
	if a.opened.db == nil {
		return nil
	}
	return a.opened.db.Close()
}

func (a *app) storePath() (string, error) {
	home, err := a.home()
	if err != nil {
		return "", err
	}
	return filepath.Join(home, "agentclash.db"), nil
}

// store opens the store for writing, making it when it is not there.
func (a *app) store(ctx context.Context) (*store.DB, error) {
	if a.opened.db != nil && !a.opened.db.ReadOnly() {
		return a.opened.db, nil
	}
	if err := a.close(); err != nil {
		return nil, err
	}
	a.opened.db = nil
	return a.open(ctx, store.Options{Now: a.p.Now, NewID: a.p.NewID})
}

// reading opens the store as it is: it repairs nothing and makes nothing. ok
// is false when there is none yet.
func (a *app) reading(ctx context.Context) (db *store.DB, ok bool, err error) {
	if a.opened.db != nil {
		return a.opened.db, true, nil
	}
	path, err := a.storePath()
	if err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	db, err = a.open(ctx, store.Options{Now: a.p.Now, NewID: a.p.NewID, ReadOnly: true})
	return db, err == nil, err
}

func (a *app) open(ctx context.Context, o store.Options) (*store.DB, error) {
	path, err := a.storePath()
	if err != nil {
		return nil, err
	}
	o.Path = path
	db, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	a.opened.db = db
	return db, nil
}

// stored is reading for commands that make no sense without a store.
func (a *app) stored(ctx context.Context) (*store.DB, error) {
	db, ok, err := a.reading(ctx)
	if err == nil && !ok {
		err = (&failure{status: statusNotFound, code: "not_found", err: errors.New("there are no runs yet")}).
			hint("agentclash eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good --follow")
	}
	if err == nil && a.workspace != "" { // a typing error would read as an empty workspace
		_, err = a.knownWorkspace(ctx, a.workspace)
	}
	return db, err
}

// self is this process as the owner of a run.
func self() store.Owner {
	return store.Owner{ID: owner(), PID: os.Getpid(), Host: hostID()}
}

// silence is how long the owner of a run on another machine, or in another
// container, may give no sign of life: its processes cannot be seen from here.
const silence = 60 * time.Second

// ownerLives says whether the owner of a run is still there.
func (a *app) ownerLives(o store.Owner, lastSeen time.Time) bool {
	if o.Host == hostID() {
		return alive(o.ID)
	}
	return a.p.Now().Sub(lastSeen) < silence
}
