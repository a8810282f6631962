package selector

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

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/charmbracelet/huh"
	"github.com/google/uuid"
)

// LoadPack finds a pack by what was typed: builtin:NAME, a file, or the slug
// of a stored one.
// A pack of a file comes with its warnings.
func LoadPack(ctx context.Context, a *cli.App, selector string) (*pack.Pack, pack.Problems, error) {
	if name, ok := strings.CutPrefix(selector, BuiltinPrefix); ok {
		p, err := builtin(name)
		return p, nil, err
	}
	if selector == "-" || cli.LooksLikePath(selector) || cli.Exists(a.Path(selector)) {
		p, problems, err := PackFile(a, selector)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, (&cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("read pack %s: no such file", selector)}).
				Hint("agentclash challenge-pack init %s writes a starter", selector)
		}
		for i := range problems {
			problems[i].File = selector // as it was typed
		}
		if err != nil {
			return nil, nil, err
		}
		if err := problems.Err(); err != nil {
			return nil, nil, &cli.Failure{Status: cli.StatusUsage, Code: "pack_invalid", Err: fmt.Errorf("the pack is not valid:\n%w", err), Details: ViewProblems(problems.Errors())}
		}
		return p, problems, nil
	}
	p, err := storedPack(ctx, a, selector)
	return p, nil, err
}

// PackFile reads the pack in a file or on stdin.
func PackFile(a *cli.App, name string) (*pack.Pack, pack.Problems, error) {
	if name == "-" {
		return stdinPack(a)
	}
	return loadFile(a.Path(name))
}

// builtin is a pack that comes with the program: a demo or one of the catalogue.
func builtin(name string) (*pack.Pack, error) {
	if slices.Contains(pack.Demos(), name) {
		return pack.Demo(name)
	}
	p, err := pack.CatalogPack(name)
	if errors.Is(err, pack.ErrNotFound) {
		err = fmt.Errorf("%w; and the demos %s", err, strings.Join(pack.Demos(), ", "))
		return nil, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: err}).Hint("agentclash challenge-pack catalog list")
	}
	return p, err
}

// saidSecrets are how many uses of secrets are said one by one.
const saidSecrets = 20

// SaySecrets says where a pack's own tools send secrets of the user's: a pack is often
// somebody else's, and names any of them.
func SaySecrets(a *cli.App, p *pack.Pack) {
	uses := p.SecretUses()
	for _, u := range uses[:min(len(uses), saidSecrets)] {
		a.Say("note: %s", view.SanitizeLine(u.String()))
	}
	if more := len(uses) - saidSecrets; more > 0 {
		a.Say("note: and it sends secrets in %d more ways: agentclash challenge-pack show PACK --manifest has all", more)
	}
}

// RunnablePack is loadPack for a pack that is to be run: what keeps this version
// from running it is an error, other warnings are said.
func RunnablePack(ctx context.Context, a *cli.App, selector string) (*pack.Pack, error) {
	p, warnings, err := LoadPack(ctx, a, selector)
	if err != nil {
		return nil, err
	}
	blocks := warnings.Blocks()
	if len(blocks) == 0 { // a stored pack comes without warnings
		blocks = AsProblems(selector, p.Blockers())
	}
	if len(blocks) > 0 {
		return nil, Refusal("pack_not_supported", "this version cannot run the pack", blocks)
	}
	for _, w := range warnings {
		a.Say("%s", w)
	}
	return WithArtifacts(ctx, a, p)
}

// Refusal is a failure that lists what is wrong with a pack.
func Refusal(code, what string, problems pack.Problems) *cli.Failure {
	lines := make([]string, len(problems))
	for i, p := range problems {
		p.Warning = false
		lines[i] = p.String()
	}
	return &cli.Failure{Status: cli.StatusUsage, Code: code, Err: fmt.Errorf("%s:\n%s", what, strings.Join(lines, "\n")), Details: ViewProblems(problems)}
}

// AsProblems are blockers of a pack that no file is known for.
func AsProblems(name string, blockers []pack.Blocker) pack.Problems {
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
		defer SpareMemory()()
	}
	return pack.Load(path)
}

// stdinPack reads a pack from stdin; its assets are below the working
// directory.
func stdinPack(a *cli.App) (*pack.Pack, pack.Problems, error) {
	src, err := io.ReadAll(io.LimitReader(a.Process.In, pack.MaxBytes+1))
	if err != nil {
		return nil, nil, fmt.Errorf("read stdin: %w", err)
	}
	here, err := os.OpenRoot(a.Path("."))
	if err != nil {
		return nil, nil, fmt.Errorf("open the working directory: %w", err)
	}
	defer func() { _ = here.Close() }()
	if len(src) >= largePack {
		defer SpareMemory()()
	}
	p, problems := pack.Parse("-", src, here.FS())
	return p, problems, nil
}

// SpareMemory has garbage collected early until the result is called.
func SpareMemory() (enough func()) {
	before := debug.SetGCPercent(30)
	return func() {
		debug.SetGCPercent(before)
		debug.FreeOSMemory()
	}
}

func storedPack(ctx context.Context, a *cli.App, selector string) (*pack.Pack, error) {
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, noPack(selector)
	}
	workspace, err := a.WorkspaceName()
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
	p, err := PackOf(ctx, db, found.ID)
	if err != nil {
		return nil, err
	}
	return p.Own(), nil // the cases of suites were a run's, not the pack's
}

func noPack(selector string) error {
	return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no stored pack %q, and no file of that name", selector)}).
		Hint("agentclash challenge-pack list")
}

// InputSetKey is what a selector of an input set means in a pack: the id of a
// stored one stands for its key, anything else for itself.
func InputSetKey(ctx context.Context, a *cli.App, selector string) (string, error) {
	if uuid.Validate(selector) != nil {
		return selector, nil
	}
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return selector, err
	}
	key, err := db.InputSetKey(ctx, selector)
	if errors.Is(err, store.ErrNotFound) {
		return selector, nil // it may be the name of one all the same
	}
	return key, err
}

// PackOf reads a stored pack version back.
func PackOf(ctx context.Context, db *store.DB, id string) (*pack.Pack, error) {
	s, err := db.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return pack.FromManifest(s.Manifest, s.Assets, s.Reference)
}

// ViewProblems are problems of a pack as they are printed; none is an empty list.
func ViewProblems(ps pack.Problems) []view.Problem {
	list := make([]view.Problem, 0, len(ps))
	for _, p := range ps {
		list = append(list, view.Problem{Field: p.Field, Message: p.Message, Line: p.Line, Column: p.Column, Rule: p.Rule})
	}
	return list
}

// ChoosePack asks for one of the stored packs.
func ChoosePack(ctx context.Context, a *cli.App) (string, error) {
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return "", err
	}
	var options []huh.Option[string]
	if ok {
		workspace, err := a.WorkspaceName()
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
		return "", cli.Usage("no pack was named and none is stored").Hint("name a file: --pack my-pack.yaml, or try --pack builtin:quickstart")
	}
	if len(options) == 1 {
		return options[0].Value, nil
	}
	var chosen string
	err = huh.NewSelect[string]().Title("Challenge pack").Options(options...).Value(&chosen).Run()
	return chosen, Asked(err)
}

// Asked turns a question that was not answered into an interruption.
func Asked(err error) error {
	if errors.Is(err, huh.ErrUserAborted) {
		return cli.Exit(cli.StatusInterrupted)
	}
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	return nil
}

// BuiltinPrefix names what the program brings along: packs and their scripts.
const BuiltinPrefix = "builtin:"

// PlanFailure is the usage error of a plan that cannot be made; what was named and is
// not there is not found.
func PlanFailure(err error) error {
	f := cli.Usage("plan the run: %w", err)
	if errors.Is(err, pack.ErrNotFound) {
		f.Status, f.Code = cli.StatusNotFound, "not_found"
	}
	return f
}
