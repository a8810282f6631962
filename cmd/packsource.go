package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/charmbracelet/huh"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
)

// loadPack finds a pack by what was typed: builtin:NAME, a file, or the slug
// of a stored one.
func (a *app) loadPack(ctx context.Context, selector string) (*pack.Pack, error) {
	if name, ok := strings.CutPrefix(selector, builtinPrefix); ok {
		return pack.Demo(name)
	}
	if looksLikePath(selector) || exists(a.path(selector)) {
		p, problems, err := loadFile(a.path(selector))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, (&failure{status: statusNotFound, code: "file_not_found", err: fmt.Errorf("read pack %s: no such file", selector)}).
				hint("agentclash challenge-pack init %s writes a starter", selector)
		}
		for i := range problems {
			problems[i].File = selector // as it was typed
		}
		return a.usable(p, problems, err)
	}
	return a.storedPack(ctx, selector)
}

// largePack is how long a file may be before memory is spared while it is
// read: a YAML tree is fifty times its file, and gone when the pack is there.
const largePack = 512 << 10

// loadFile reads a pack file with bounded memory.
func loadFile(path string) (*pack.Pack, pack.Problems, error) {
	if info, err := os.Stat(path); err != nil || info.Size() < largePack {
		return pack.Load(path)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(30))
	p, problems, err := pack.Load(path)
	debug.FreeOSMemory()
	return p, problems, err
}

// usable is a pack without errors; its warnings are said.
func (a *app) usable(p *pack.Pack, problems pack.Problems, err error) (*pack.Pack, error) {
	if err != nil {
		return nil, err
	}
	if err := problems.Err(); err != nil {
		return nil, &failure{status: statusUsage, code: "pack_invalid", err: fmt.Errorf("the pack is not valid:\n%w", err), details: viewProblems(problems.Errors())}
	}
	for _, w := range problems.Warnings() {
		a.say("%s", w)
	}
	return p, nil
}

func (a *app) storedPack(ctx context.Context, selector string) (*pack.Pack, error) {
	db, ok, err := a.reading(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no stored pack %q, and no file of that name", selector)}
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return nil, err
	}
	found, err := db.Pack(ctx, workspace, selector)
	if err != nil {
		return nil, err
	}
	return packOf(ctx, db, found.ID)
}

// packOf reads a stored pack version back.
func packOf(ctx context.Context, db *store.DB, id string) (*pack.Pack, error) {
	s, err := db.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return pack.FromManifest(s.Manifest, s.Assets)
}

func looksLikePath(s string) bool {
	return strings.HasPrefix(s, ".") || strings.ContainsAny(s, `/\`) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(s))
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func viewProblems(ps pack.Problems) []view.Problem {
	list := make([]view.Problem, 0, len(ps))
	for _, p := range ps {
		list = append(list, view.Problem{Field: p.Field, Message: p.Message, Line: p.Line, Column: p.Column})
	}
	return list
}

// choosePack asks for one of the stored packs.
func (a *app) choosePack(ctx context.Context) (string, error) {
	db, ok, err := a.reading(ctx)
	if err != nil {
		return "", err
	}
	var options []huh.Option[string]
	if ok {
		workspace, err := a.workspaceName()
		if err != nil {
			return "", err
		}
		packs, err := db.Packs(ctx, workspace)
		if err != nil {
			return "", err
		}
		for _, p := range packs {
			options = append(options, huh.NewOption(view.SanitizeLine(p.Name+" ("+p.Ref()+")"), p.ID))
		}
	}
	if len(options) == 0 {
		return "", usage("no pack was named and none is stored").hint("name a file: --pack my-pack.yaml, or try --pack builtin:quickstart")
	}
	if len(options) == 1 {
		return options[0].Value, nil
	}
	var chosen string
	err = huh.NewSelect[string]().Title("Challenge pack").Options(options...).Value(&chosen).Run()
	return chosen, asked(err)
}

// chooseDeployments asks for one or more of the stored deployments.
func (a *app) chooseDeployments(ctx context.Context) ([]string, error) {
	list, err := a.storedDeployments(ctx)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, usage("no agent was named and no deployment is stored").
			hint("name a model: --model openai/gpt-4.1-mini, or agentclash deployment create")
	}
	var options []huh.Option[string]
	for _, d := range list {
		options = append(options, huh.NewOption(view.SanitizeLine(d.Name+" ("+d.Provider+"/"+d.Model+")"), d.Name))
	}
	if len(options) == 1 {
		return []string{list[0].Name}, nil
	}
	var chosen []string
	err = huh.NewMultiSelect[string]().Title("Agents").Options(options...).Value(&chosen).Run()
	return chosen, asked(err)
}

// asked turns a question that was not answered into an interruption.
func asked(err error) error {
	if errors.Is(err, huh.ErrUserAborted) {
		return exit(statusInterrupted)
	}
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}

// deployments finds what was named: stored deployments and bare models.
func (a *app) deployments(ctx context.Context, names, models []string) ([]engine.Deployment, error) {
	var found []engine.Deployment
	if len(names) > 0 {
		db, ok, err := a.reading(ctx)
		if err != nil {
			return nil, err
		}
		workspace, err := a.workspaceName()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !ok {
				return nil, noDeployment(name)
			}
			d, err := db.Deployment(ctx, workspace, strings.TrimSpace(name))
			if errors.Is(err, store.ErrNotFound) {
				return nil, noDeployment(name)
			}
			if err != nil {
				return nil, err
			}
			found = append(found, d.Deployment)
		}
	}
	bare, err := unnamed(models, found)
	return append(found, bare...), err
}

func noDeployment(name string) error {
	return (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no deployment %q", name)}).
		hint("agentclash deployment list")
}
