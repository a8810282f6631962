package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
)

// ReadResource reads a file that --from-file names, with everything that is wrong
// with it at once.
func ReadResource[T any](a *cli.App, what, file string, parse func(string, []byte) (T, pack.Problems)) (T, error) {
	var none T
	src, err := cli.ResourceFile(a.Path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return none, &cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("read the %s %s: no such file", what, file)}
	}
	if err != nil {
		return none, cli.Usage("read the %s: %w", what, err)
	}
	v, problems := parse(file, src)
	if problems.Err() != nil {
		return none, selector.Refusal("invalid_argument", "the "+what+" is not valid", problems.Errors())
	}
	return v, nil
}

// KeepResource stores a checked resource under its name.
func KeepResource(ctx context.Context, a *cli.App, kind store.Kind, name string, v any) (store.Resource, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return store.Resource{}, err
	}
	document, err := json.Marshal(v)
	if err != nil {
		return store.Resource{}, fmt.Errorf("save %s: %w", name, err)
	}
	db, err := a.Store(ctx)
	if err != nil {
		return store.Resource{}, err
	}
	return db.SaveResource(ctx, store.Resource{Workspace: workspace, Kind: kind, Name: strings.TrimSpace(name), Document: document})
}

// Resources are the workspace's of a kind, none without a store.
func Resources(ctx context.Context, a *cli.App, kind store.Kind) ([]store.Resource, error) {
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return nil, err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return nil, err
	}
	return db.Resources(ctx, workspace, kind)
}

// Resource finds one of a kind; family is the command that lists them.
func Resource(ctx context.Context, a *cli.App, kind store.Kind, family, selector string) (store.Resource, error) {
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return store.Resource{}, err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return store.Resource{}, err
	}
	var found store.Resource
	if ok {
		if found, err = db.Resource(ctx, workspace, kind, strings.TrimSpace(selector)); !errors.Is(err, store.ErrNotFound) {
			return found, err
		}
	}
	return store.Resource{}, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no %s %q", strings.ReplaceAll(string(kind), "_", " "), selector)}).
		Hint("agentclash %s list", family)
}

// Document is what a resource holds.
func Document[T any](r store.Resource) (T, error) {
	var v T
	if err := json.Unmarshal(r.Document, &v); err != nil {
		return v, fmt.Errorf("read %s: %w: %w", r.Name, store.ErrCorrupt, err)
	}
	return v, nil
}
