package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
)

// readResource reads a file that --from-file names, with everything that is wrong
// with it at once.
func readResource[T any](a *app, what, file string, parse func(string, []byte) (T, pack.Problems)) (T, error) {
	var none T
	src, err := resourceFile(a.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return none, &failure{status: statusNotFound, code: "file_not_found", err: fmt.Errorf("read the %s %s: no such file", what, file)}
	}
	if err != nil {
		return none, usage("read the %s: %w", what, err)
	}
	v, problems := parse(file, src)
	if problems.Err() != nil {
		return none, refusal("invalid_argument", "the "+what+" is not valid", problems.Errors())
	}
	return v, nil
}

// keepResource stores a checked resource under its name.
func (a *app) keepResource(ctx context.Context, kind store.Kind, name string, v any) (store.Resource, error) {
	workspace, err := a.workspaceName()
	if err != nil {
		return store.Resource{}, err
	}
	document, err := json.Marshal(v)
	if err != nil {
		return store.Resource{}, fmt.Errorf("save %s: %w", name, err)
	}
	db, err := a.store(ctx)
	if err != nil {
		return store.Resource{}, err
	}
	return db.SaveResource(ctx, store.Resource{Workspace: workspace, Kind: kind, Name: strings.TrimSpace(name), Document: document})
}

// resources are the workspace's of a kind, none without a store.
func (a *app) resources(ctx context.Context, kind store.Kind) ([]store.Resource, error) {
	db, ok, err := a.reading(ctx)
	if err != nil || !ok {
		return nil, err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return nil, err
	}
	return db.Resources(ctx, workspace, kind)
}

// resource finds one of a kind; family is the command that lists them.
func (a *app) resource(ctx context.Context, kind store.Kind, family, selector string) (store.Resource, error) {
	db, ok, err := a.reading(ctx)
	if err != nil {
		return store.Resource{}, err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return store.Resource{}, err
	}
	var found store.Resource
	if ok {
		if found, err = db.Resource(ctx, workspace, kind, strings.TrimSpace(selector)); !errors.Is(err, store.ErrNotFound) {
			return found, err
		}
	}
	return store.Resource{}, (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no %s %q", strings.ReplaceAll(string(kind), "_", " "), selector)}).
		hint("agentclash %s list", family)
}

// document is what a resource holds.
func document[T any](r store.Resource) (T, error) {
	var v T
	if err := json.Unmarshal(r.Document, &v); err != nil {
		return v, fmt.Errorf("read %s: %w: %w", r.Name, store.ErrCorrupt, err)
	}
	return v, nil
}
