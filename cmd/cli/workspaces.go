package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/engine/filelock"
	"github.com/agentclash/agentclash/store"
)

// A workspace exists once something is kept in it, or once it was created by its
// name. The names of created ones are in a file beside the store.

// createdWorkspace is a workspace that was made before anything was kept in it.
type createdWorkspace struct {
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

// Workspace is what is known of one.
type Workspace struct {
	store.Workspace
	Secrets   int
	CreatedAt time.Time // zero when it came to be by being used
}

func (a *App) createdWorkspaces() (path string, list []createdWorkspace, err error) {
	home, err := a.Home()
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(home, "workspaces.json")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		return path, nil, fmt.Errorf("read the workspaces: %s: %w", path, err)
	}
	return path, list, nil
}

// CreateWorkspace keeps a name. Its caller has looked that it is a new one.
func (a *App) CreateWorkspace(ctx context.Context, name string) error {
	err := a.changeCreated(ctx, func(list []createdWorkspace) []createdWorkspace {
		if slices.ContainsFunc(list, func(w createdWorkspace) bool { return w.Name == name }) {
			return list
		}
		return append(list, createdWorkspace{name, a.Process.Now().UTC()})
	})
	if err != nil {
		return fmt.Errorf("create workspace %s: %w", name, err)
	}
	return nil
}

// DeleteWorkspace removes what is kept in a workspace: from the store in one
// transaction, then its secrets, then its name. A process that dies in between leaves a
// workspace with less in it, which can be deleted again. Without force, one that holds
// anything is refused; one in which a run goes on is, in any case.
func (a *App) DeleteWorkspace(ctx context.Context, name string, force bool) error {
	secrets, err := a.OpenSecrets()
	if err != nil {
		return err
	}
	entries, err := secrets.List(name)
	if err != nil {
		return err
	}
	if len(entries) > 0 && !force {
		return fmt.Errorf("delete workspace %q: %w: it holds secrets: %d", name, store.ErrConflict, len(entries))
	}
	if _, stored, err := a.Reading(ctx); err != nil {
		return err
	} else if stored {
		db, err := a.Store(ctx)
		if err == nil {
			err = db.RemoveWorkspace(ctx, name, force)
		}
		if err == nil {
			err = a.RemovePages(ctx, db)
		}
		if err != nil {
			return err
		}
	}
	for _, e := range entries {
		if _, err := secrets.Delete(ctx, name, e.Key); err != nil {
			return err
		}
	}
	err = a.changeCreated(ctx, func(list []createdWorkspace) []createdWorkspace {
		return slices.DeleteFunc(list, func(w createdWorkspace) bool { return w.Name == name })
	})
	if err != nil {
		return fmt.Errorf("delete workspace %s: %w", name, err)
	}
	return nil
}

// changeCreated changes the list of created workspaces, which no other process changes
// meanwhile; the file is the old or the new one at any time.
func (a *App) changeCreated(ctx context.Context, change func([]createdWorkspace) []createdWorkspace) error {
	home, err := a.Home()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	release, err := filelock.Hold(ctx, filepath.Join(home, "workspaces.json"))
	if err != nil {
		return err
	}
	defer release()
	path, list, err := a.createdWorkspaces()
	if err != nil {
		return err
	}
	before := len(list)
	if list = change(list); len(list) == before {
		return nil
	}
	b, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return Replace(path, 0o600, writing(b))
}

// Workspaces are all that exist, by name. The default one always does.
func (a *App) Workspaces(ctx context.Context) ([]Workspace, error) {
	found := map[string]Workspace{store.DefaultWorkspace: {Workspace: store.Workspace{Name: store.DefaultWorkspace}}}
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		kept, err := db.Workspaces(ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range kept {
			found[w.Name] = Workspace{Workspace: w}
		}
	}
	secrets, err := a.OpenSecrets()
	if err != nil {
		return nil, err
	}
	entries, err := secrets.read()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		w := found[e.Workspace]
		w.Name = e.Workspace
		w.Secrets++
		found[e.Workspace] = w
	}
	_, created, err := a.createdWorkspaces()
	if err != nil {
		return nil, err
	}
	for _, c := range created {
		w := found[c.Name]
		w.Name, w.CreatedAt = c.Name, c.CreatedAt
		found[c.Name] = w
	}
	list := make([]Workspace, 0, len(found))
	for _, w := range found {
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b Workspace) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// KnownWorkspace refuses a workspace that does not exist, for commands that read
// what is in it. Those that write make theirs.
func (a *App) KnownWorkspace(ctx context.Context, name string) (Workspace, error) {
	list, err := a.Workspaces(ctx)
	if err != nil {
		return Workspace{}, err
	}
	var names []string
	for _, w := range list {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	f := &Failure{Status: StatusNotFound, Code: "missing_workspace", Err: fmt.Errorf("there is no workspace %q: there are %s", name, strings.Join(names, ", "))}
	if near := config.Nearest(name, names); near != "" {
		return Workspace{}, f.Hint("did you mean %s? agentclash workspace create %s makes a new one", near, name)
	}
	return Workspace{}, f.Hint("agentclash workspace create %s", name)
}
