package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/store"
)

// originStore is the origin of what is in the store.
const originStore = "store"

// definition is a deployment as it was written, and where.
type definition struct {
	store.Deployment        // without an id when it is in a file
	origin           string // originStore, or the file as people type it
}

// repoDeployments reads the repository's deployments, once. Everything that is
// wrong with the file is said, whichever deployment was asked for.
func repoDeployments(a *cli.App) (*cli.DeploymentsFile, error) {
	if a.Repo != nil {
		return a.Repo, nil
	}
	f := &cli.DeploymentsFile{Path: filepath.Join(filepath.Dir(a.RepoDir()), filepath.FromSlash(spec.DeploymentsFile)), Said: map[string]bool{}}
	src, err := cli.ResourceFile(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		a.Repo = f
		return f, nil
	}
	if err != nil {
		return nil, cli.Usage("read the repository's deployments: %w", err)
	}
	list, problems := spec.ParseDeployments(a.Shown(f.Path), src)
	if problems.Err() != nil {
		return nil, selector.Refusal("deployments_invalid", "the repository's deployments are not valid", problems.Errors()).
			Hint("correct %s: its fields are those of agentclash deployment create --from-file", a.Shown(f.Path))
	}
	f.List = list
	a.Repo = f
	return f, nil
}

// fromFile makes a deployment of one in the repository's file. Its paths begin at
// the repository's root.
func fromFile(ctx context.Context, a *cli.App, f *cli.DeploymentsFile, d spec.Deployment) (definition, error) {
	root := filepath.Dir(filepath.Dir(f.Path))
	s := DeploymentSpec{Deployment: d, scriptDir: root}
	var err error
	for _, path := range []*string{&s.Files, &s.SystemFile} {
		if *path != "" && err == nil {
			err = cli.Inside(root, *path)
		}
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(root, *path)
		}
	}
	if err == nil {
		err = ScriptInside(root, s.Model)
	}
	if err == nil {
		err = ReadAlias(ctx, a, &s)
	}
	made := definition{origin: a.Shown(f.Path)}
	if err == nil {
		made.Deployment.Deployment, err = ResolveSpec(a, s)
	}
	if err == nil {
		err = checkRepoAccount(ctx, a, made.Deployment.Deployment)
	}
	if err != nil {
		failed := cli.Classify(err)
		failed.Err = fmt.Errorf("%s: deployment %q: %w", a.Shown(f.Path), d.Name, failed.Err)
		return definition{}, failed
	}
	return made, nil
}

// definition finds a deployment: in the repository's file, else in the store by
// name, id or the end of an id.
func defined(ctx context.Context, a *cli.App, selector string) (definition, error) {
	selector = strings.TrimSpace(selector)
	f, err := repoDeployments(a)
	if err != nil {
		return definition{}, err
	}
	stored, serr := storedDeployment(ctx, a, selector)
	if d, ok := f.Find(selector); ok {
		if key := strings.ToLower(selector); serr == nil && !f.Said[key] {
			f.Said[key] = true
			a.Say("! deployment %s is in the store, too: the one of %s is used", d.Name, a.Shown(f.Path))
		}
		return fromFile(ctx, a, f, d)
	}
	return definition{stored, originStore}, serr
}

// storedDeployment finds a deployment of the store.
func storedDeployment(ctx context.Context, a *cli.App, selector string) (store.Deployment, error) {
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil {
		return store.Deployment{}, err
	}
	if db == nil {
		return store.Deployment{}, noDeployment(selector)
	}
	d, err := db.Deployment(ctx, workspace, selector)
	if errors.Is(err, store.ErrNotFound) {
		return d, noDeployment(selector)
	}
	return d, err
}
