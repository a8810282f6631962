package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/charmbracelet/huh"
	"github.com/google/uuid"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
)

// loadPack finds a pack by what was typed: builtin:NAME, a file, or the slug
// of a stored one.
// A pack of a file comes with its warnings.
func (a *app) loadPack(ctx context.Context, selector string) (*pack.Pack, pack.Problems, error) {
	if name, ok := strings.CutPrefix(selector, builtinPrefix); ok {
		p, err := builtin(name)
		return p, nil, err
	}
	if selector == "-" || looksLikePath(selector) || exists(a.path(selector)) {
		p, problems, err := a.packFile(selector)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, (&failure{status: statusNotFound, code: "file_not_found", err: fmt.Errorf("read pack %s: no such file", selector)}).
				hint("agentclash challenge-pack init %s writes a starter", selector)
		}
		for i := range problems {
			problems[i].File = selector // as it was typed
		}
		if err != nil {
			return nil, nil, err
		}
		if err := problems.Err(); err != nil {
			return nil, nil, &failure{status: statusUsage, code: "pack_invalid", err: fmt.Errorf("the pack is not valid:\n%w", err), details: viewProblems(problems.Errors())}
		}
		return p, problems, nil
	}
	p, err := a.storedPack(ctx, selector)
	return p, nil, err
}

// packFile reads the pack in a file or on stdin.
func (a *app) packFile(name string) (*pack.Pack, pack.Problems, error) {
	if name == "-" {
		return a.stdinPack()
	}
	return loadFile(a.path(name))
}

// builtin is a pack that comes with the program: a demo or one of the catalogue.
func builtin(name string) (*pack.Pack, error) {
	if slices.Contains(pack.Demos(), name) {
		return pack.Demo(name)
	}
	p, err := pack.CatalogPack(name)
	if errors.Is(err, pack.ErrNotFound) {
		err = fmt.Errorf("%w; and the demos %s", err, strings.Join(pack.Demos(), ", "))
		return nil, (&failure{status: statusNotFound, code: "not_found", err: err}).hint("agentclash challenge-pack catalog list")
	}
	return p, err
}

// runnablePack is loadPack for a pack that is to be run: what keeps this version
// from running it is an error, other warnings are said.
func (a *app) runnablePack(ctx context.Context, selector string) (*pack.Pack, error) {
	p, warnings, err := a.loadPack(ctx, selector)
	if err != nil {
		return nil, err
	}
	blocks := warnings.Blocks()
	if len(blocks) == 0 { // a stored pack comes without warnings
		blocks = asProblems(selector, p.Blockers())
	}
	if len(blocks) > 0 {
		return nil, refusal("pack_not_supported", "this version cannot run the pack", blocks)
	}
	for _, w := range warnings {
		a.say("%s", w)
	}
	return a.withArtifacts(ctx, p)
}

// refusal is a failure that lists what is wrong with a pack.
func refusal(code, what string, problems pack.Problems) *failure {
	lines := make([]string, len(problems))
	for i, p := range problems {
		p.Warning = false
		lines[i] = p.String()
	}
	return &failure{status: statusUsage, code: code, err: fmt.Errorf("%s:\n%s", what, strings.Join(lines, "\n")), details: viewProblems(problems)}
}

// asProblems are blockers of a pack that no file is known for.
func asProblems(name string, blockers []pack.Blocker) pack.Problems {
	var list pack.Problems
	for _, b := range blockers {
		list = append(list, pack.Problem{File: name, Field: b.Field, Message: b.Message})
	}
	return list
}

// largePack is how long a file may be before memory is spared while it is
// read: a YAML tree is fifty times its file, and gone when the pack is there.
const largePack = 512 << 10

// loadFile reads a pack file with bounded memory.
func loadFile(path string) (*pack.Pack, pack.Problems, error) {
	if info, err := os.Stat(path); err == nil && info.Size() >= largePack {
		defer spareMemory()()
	}
	return pack.Load(path)
}

// stdinPack reads a pack from stdin; its assets are below the working
// directory.
func (a *app) stdinPack() (*pack.Pack, pack.Problems, error) {
	src, err := io.ReadAll(io.LimitReader(a.p.In, pack.MaxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read stdin: %w", err)
	}
	here, err := os.OpenRoot(a.path("."))
	if err != nil {
		return nil, nil, fmt.Errorf("open the working directory: %w", err)
	}
	defer func() { _ = here.Close() }()
	if len(src) >= largePack {
		defer spareMemory()()
	}
	p, problems := pack.Parse("-", src, here.FS())
	return p, problems, nil
}

// spareMemory has garbage collected early until the result is called.
func spareMemory() (enough func()) {
	before := debug.SetGCPercent(30)
	return func() {
		debug.SetGCPercent(before)
		debug.FreeOSMemory()
	}
}

func (a *app) storedPack(ctx context.Context, selector string) (*pack.Pack, error) {
	db, ok, err := a.reading(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, noPack(selector)
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return nil, err
	}
	found, err := db.Pack(ctx, workspace, selector)
	if errors.Is(err, store.ErrNotFound) {
		return nil, noPack(selector)
	}
	if err != nil {
		return nil, err
	}
	p, err := packOf(ctx, db, found.ID)
	if err != nil {
		return nil, err
	}
	return p.Own(), nil // the cases of suites were a run's, not the pack's
}

func noPack(selector string) error {
	return (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no stored pack %q, and no file of that name", selector)}).
		hint("agentclash challenge-pack list")
}

// inputSetKey is what a selector of an input set means in a pack: the id of a
// stored one stands for its key, anything else for itself.
func (a *app) inputSetKey(ctx context.Context, selector string) (string, error) {
	if uuid.Validate(selector) != nil {
		return selector, nil
	}
	db, ok, err := a.reading(ctx)
	if err != nil || !ok {
		return selector, err
	}
	key, err := db.InputSetKey(ctx, selector)
	if errors.Is(err, store.ErrNotFound) {
		return selector, nil // it may be the name of one all the same
	}
	return key, err
}

// packOf reads a stored pack version back.
func packOf(ctx context.Context, db *store.DB, id string) (*pack.Pack, error) {
	s, err := db.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return pack.FromManifest(s.Manifest, s.Assets, s.Reference)
}

func viewProblems(ps pack.Problems) []view.Problem {
	list := make([]view.Problem, 0, len(ps))
	for _, p := range ps {
		list = append(list, view.Problem{Field: p.Field, Message: p.Message, Line: p.Line, Column: p.Column, Rule: p.Rule})
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

const builtinPrefix = "builtin:"

func planFailure(err error) error {
	f := usage("plan the run: %w", err)
	if errors.Is(err, pack.ErrNotFound) {
		f.status, f.code = statusNotFound, "not_found"
	}
	return f
}
