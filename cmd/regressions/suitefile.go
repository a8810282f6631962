package regressions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/engine/filelock"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring/review"
)

// SuiteFile is a suite, the file it is in and what was read there.
type SuiteFile struct {
	*regression.Suite
	Path string
	Src  []byte // nil: there is no file yet
}

// SuitePath is the file that a name or a path means; it need not be there. What
// does not look like a path is a name, whatever else is called so.
func SuitePath(a *cli.App, selector string) (string, error) {
	if cli.LooksLikePath(selector) {
		return a.Path(selector), nil
	}
	if err := regression.CheckName(selector); err != nil {
		return "", cli.Usage("%w", err)
	}
	for _, ext := range []string{".yaml", ".yml"} {
		if file := filepath.Join(a.SuiteDir(), selector+ext); cli.Exists(file) {
			return file, nil
		}
	}
	return filepath.Join(a.SuiteDir(), selector+".yaml"), nil
}

// Suite reads a suite by its name or its path.
func Suite(a *cli.App, selector string) (SuiteFile, error) {
	path, err := SuitePath(a, selector)
	if err != nil {
		return SuiteFile{}, err
	}
	s, src, problems, err := regression.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return SuiteFile{}, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no suite %q: no file %s", selector, a.Shown(path))}).
			Hint("agentclash regression-suite list")
	}
	if err != nil {
		return SuiteFile{}, err
	}
	if s == nil {
		return SuiteFile{}, suiteRefused(a, path, problems)
	}
	if problem := misnamed(a, path, s.Name); problem != "" {
		return SuiteFile{}, cli.Usage("%s: %s", a.Shown(path), problem)
	}
	return SuiteFile{s, path, src}, nil
}

// Takes refuses a suite that no case of a pack can be put into.
func (s SuiteFile) Takes(slug string) error {
	switch {
	case !strings.EqualFold(s.Pack, slug):
		return &cli.Failure{Status: cli.StatusUsage, Code: "regression_suite_pack_mismatch",
			Err: fmt.Errorf("suite %s is of pack %q, the case of %q", s.Name, s.Pack, slug), Next: "name another suite"}
	case s.Status == regression.Archived:
		return (&cli.Failure{Status: cli.StatusUsage, Code: "regression_suite_archived", Err: fmt.Errorf("suite %s is archived", s.Name)}).
			Hint("agentclash regression-suite activate %s", s.Name)
	}
	return nil
}

// suiteNameOf is the name that a suite has by its file.
func suiteNameOf(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".yaml"), ".yml")
}

// suiteRefused lists what is wrong with a suite.
func suiteRefused(a *cli.App, path string, problems pack.Problems) error {
	for i := range problems {
		problems[i].File = a.Shown(path)
	}
	return selector.Refusal("suite_invalid", "the suite is not valid", problems.Errors())
}

// misnamed says that a file among the repository's suites has the name of
// another one: a suite is found by its file.
func misnamed(a *cli.App, path, name string) string {
	if file := filepath.Base(path); filepath.Dir(path) == a.SuiteDir() && file != name+".yaml" && file != name+".yml" {
		return fmt.Sprintf("the suite in it is called %q: the file must be called %s.yaml", name, name)
	}
	return ""
}

// editSuite changes a suite's file: change makes the new source of what is there.
func editSuite(ctx context.Context, a *cli.App, selector string, change func(SuiteFile) ([]byte, error)) error {
	s, err := Suite(a, selector)
	if err != nil {
		return err // before anything is made for it
	}
	release, err := HoldSuite(ctx, s.Path)
	if err != nil {
		return err
	}
	defer release()
	return changeSuite(a, selector, change)
}

// changeSuite changes the file of a suite that is held.
func changeSuite(a *cli.App, selector string, change func(SuiteFile) ([]byte, error)) error {
	s, err := Suite(a, selector)
	if err != nil {
		return err
	}
	src, err := change(s)
	if err != nil || bytes.Equal(s.Src, src) {
		return err
	}
	return WriteSuite(a, s.Path, s.Src, src)
}

// HoldSuite keeps other processes from changing a suite, so that none of their
// changes is lost.
func HoldSuite(ctx context.Context, path string) (release func(), err error) {
	release, err = cli.Hold(ctx, path)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, (&cli.Failure{Status: cli.StatusTryAgain, Code: "conflict", Err: fmt.Errorf("another process is changing %s: %w", path, err)}).
			Hint("run the command again")
	}
	if err != nil {
		return nil, fmt.Errorf("write suite: %w", err)
	}
	return release, nil
}

// WriteSuite writes the file of a suite that is held.
func WriteSuite(a *cli.App, path string, was, src []byte) error {
	if len(src) > pack.MaxBytes {
		return cli.Usage("suite %s would be longer than %d MiB", a.Shown(path), pack.MaxBytes>>20).Hint("put the case into another suite: --suite NAME")
	}
	err := cli.Rewrite(path, was, src)
	if errors.Is(err, cli.ErrChanged) {
		return (&cli.Failure{Status: cli.StatusTryAgain, Code: "conflict", Err: err}).Hint("run the command again")
	}
	if err != nil {
		return fmt.Errorf("write suite: %w", err)
	}
	return nil
}

// allSuites reads every suite of the repository. Those that are not valid come as
// problems.
func allSuites(a *cli.App) (list []SuiteFile, broken pack.Problems, err error) {
	files, err := regression.Files(a.SuiteDir())
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		s, src, problems, err := regression.Read(file)
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			broken = append(broken, pack.Problem{File: a.Shown(file), Field: "suite", Message: err.Error()})
		case s == nil:
			for _, p := range problems.Errors() {
				p.File = a.Shown(file)
				broken = append(broken, p)
			}
		default:
			list = append(list, SuiteFile{s, file, src})
		}
	}
	return list, broken, nil
}

// Only is the suite with some of its cases.
func (s SuiteFile) Only(ids []string) (*regression.Suite, error) {
	some := *s.Suite
	some.Cases = nil
	for _, id := range ids {
		i := s.Find(id)
		if i < 0 {
			return nil, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("suite %s has no case %q", s.Name, id)}).
				Hint("agentclash regression-suite case list %s", s.Name)
		}
		some.Cases = append(some.Cases, s.Cases[i])
	}
	return &some, nil
}

// NewSuite is a suite that is not there yet, named by its file.
func NewSuite(a *cli.App, path, selector, slug string) (*regression.Suite, error) {
	name := selector
	if cli.LooksLikePath(selector) {
		name = suiteNameOf(path)
		if err := regression.CheckName(name); err != nil {
			return nil, cli.Usage("%s: %w", a.Shown(path), err)
		}
	}
	return regression.New(name, slug, review.Warning, "", a.Process.Now()), nil
}
