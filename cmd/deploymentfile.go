package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

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
func (a *app) repoDeployments() (*deploymentsFile, error) {
	if a.repo != nil {
		return a.repo, nil
	}
	f := &deploymentsFile{path: filepath.Join(filepath.Dir(a.repoDir()), filepath.FromSlash(spec.DeploymentsFile)), said: map[string]bool{}}
	src, err := resourceFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		a.repo = f
		return f, nil
	}
	if err != nil {
		return nil, usage("read the repository's deployments: %w", err)
	}
	list, problems := spec.ParseDeployments(a.shown(f.path), src)
	if problems.Err() != nil {
		return nil, refusal("deployments_invalid", "the repository's deployments are not valid", problems.Errors()).
			hint("correct %s: its fields are those of agentclash deployment create --from-file", a.shown(f.path))
	}
	f.list = list
	a.repo = f
	return f, nil
}

// fromFile makes a deployment of one in the repository's file. Its paths begin at
// the repository's root.
func (a *app) fromFile(ctx context.Context, f *deploymentsFile, d spec.Deployment) (definition, error) {
	s := deploymentSpec{Deployment: d}
	root := filepath.Dir(filepath.Dir(f.path))
	for _, path := range []*string{&s.Files, &s.SystemFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(root, *path)
		}
	}
	s.Model = scriptBelow(root, s.Model)
	err := a.readAlias(ctx, &s)
	made := definition{origin: a.shown(f.path)}
	if err == nil {
		made.Deployment.Deployment, err = a.resolveSpec(s)
	}
	if err != nil {
		failed := classify(err)
		failed.err = fmt.Errorf("%s: deployment %q: %w", a.shown(f.path), d.Name, failed.err)
		return definition{}, failed
	}
	return made, nil
}

// scriptBelow is a model whose script, if it is one by a relative path, is looked
// for below a directory.
func scriptBelow(dir, model string) string {
	const scripted = "scripted/"
	if len(model) <= len(scripted) || !strings.EqualFold(model[:len(scripted)], scripted) {
		return model
	}
	path := model[len(scripted):]
	if strings.HasPrefix(path, builtinPrefix) || filepath.IsAbs(path) {
		return model
	}
	return scripted + filepath.Join(dir, path)
}

// definition finds a deployment: in the repository's file, else in the store by
// name, id or the end of an id.
func (a *app) defined(ctx context.Context, selector string) (definition, error) {
	selector = strings.TrimSpace(selector)
	f, err := a.repoDeployments()
	if err != nil {
		return definition{}, err
	}
	stored, serr := a.storedDeployment(ctx, selector)
	if d, ok := f.find(selector); ok {
		if key := strings.ToLower(selector); serr == nil && !f.said[key] {
			f.said[key] = true
			a.say("! deployment %s is in the store, too: the one of %s is used", d.Name, a.shown(f.path))
		}
		return a.fromFile(ctx, f, d)
	}
	return definition{stored, originStore}, serr
}

// storedDeployment finds a deployment of the store.
func (a *app) storedDeployment(ctx context.Context, selector string) (store.Deployment, error) {
	db, ok, err := a.reading(ctx)
	if err != nil {
		return store.Deployment{}, err
	}
	if !ok {
		return store.Deployment{}, noDeployment(selector)
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return store.Deployment{}, err
	}
	d, err := db.Deployment(ctx, workspace, selector)
	if errors.Is(err, store.ErrNotFound) {
		return d, noDeployment(selector)
	}
	return d, err
}
