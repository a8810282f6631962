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
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// Source is where a resource that is to be created is written, apart from flags.
type Source[T any] struct {
	What  string // it is, as people call it
	File  string // of --from-file, "" for none
	Parse func(string, []byte) (T, pack.Problems)
}

// Written is a resource that is to be created: what a file says, which then says all
// of it, else what the flags say.
func Written[T any](a *cli.App, c *cobra.Command, from Source[T], flags T) (T, error) {
	if from.File == "" {
		checked, ok := any(flags).(interface{ Check() error })
		if !ok {
			return flags, nil // it is checked with what is known of providers
		}
		if err := checked.Check(); err != nil {
			_, command, _ := strings.Cut(c.CommandPath(), " ")
			return flags, cli.Faults(command, err).Hint("%s --help", c.CommandPath())
		}
		return flags, nil
	}
	others := false
	c.LocalFlags().VisitAll(func(given *pflag.Flag) { others = others || given.Changed && given.Name != "from-file" })
	if others {
		return flags, cli.Usage("--from-file holds the whole %s: leave out the other flags", from.What)
	}
	return ReadResource(a, from.What, from.File, from.Parse)
}

// KeepResource stores a checked resource under its name.
func KeepResource(ctx context.Context, a *cli.App, kind store.Kind, name string, v any) (store.Resource, error) {
	document, err := json.Marshal(v)
	if err != nil {
		return store.Resource{}, fmt.Errorf("save %s: %w", name, err)
	}
	db, workspace, err := a.StoreIn(ctx)
	if err != nil {
		return store.Resource{}, err
	}
	return db.SaveResource(ctx, store.Resource{Workspace: workspace, Kind: kind, Name: strings.TrimSpace(name), Document: document})
}

// Resources are the workspace's of a kind, none without a store.
func Resources(ctx context.Context, a *cli.App, kind store.Kind) ([]store.Resource, error) {
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil || db == nil {
		return nil, err
	}
	return db.Resources(ctx, workspace, kind)
}

// Listed are the workspace's resources of a kind as they are shown, but for those
// that are no longer to be chosen.
func Listed[T any](ctx context.Context, a *cli.App, kind store.Kind, show func(store.Resource) (T, error)) ([]T, error) {
	rows, err := Resources(ctx, a, kind)
	var list []T
	for _, r := range rows {
		if !r.ArchivedAt.IsZero() {
			continue
		}
		v, err := show(r)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, err
}

// Resource finds one of a kind; family is the command that lists them.
func Resource(ctx context.Context, a *cli.App, kind store.Kind, family, selector string) (store.Resource, error) {
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil {
		return store.Resource{}, err
	}
	if db != nil {
		var found store.Resource
		if found, err = db.Resource(ctx, workspace, kind, strings.TrimSpace(selector)); !errors.Is(err, store.ErrNotFound) {
			return found, err
		}
	}
	return store.Resource{}, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no %s %q", strings.ReplaceAll(string(kind), "_", " "), selector)}).
		Hint("agentclash %s list", family)
}

// inDeployment says of which deployment an error is.
func inDeployment(d plan.Deployment, err error) error {
	failed := cli.Classify(err)
	failed.Err = fmt.Errorf("deployment %q: %w", d.Name, failed.Err)
	return failed
}

// Document is what a resource holds.
func Document[T any](r store.Resource) (T, error) {
	var v T
	if err := json.Unmarshal(r.Document, &v); err != nil {
		return v, fmt.Errorf("read %s: %w: %w", r.Name, store.ErrCorrupt, err)
	}
	return v, nil
}
