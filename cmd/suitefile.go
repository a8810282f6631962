package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/engine/filelock"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/pack/regression"
	"github.com/agentclash/agentclash/scoring/review"
)

// suiteFile is a suite, the file it is in and what was read there.
type suiteFile struct {
	*regression.Suite
	path string
	src  []byte // nil: there is no file yet
}

// suitePath is the file that a name or a path means; it need not be there. What
// does not look like a path is a name, whatever else is called so.
func (a *app) suitePath(selector string) (string, error) {
	if looksLikePath(selector) {
		return a.path(selector), nil
	}
	if err := regression.CheckName(selector); err != nil {
		return "", usage("%w", err)
	}
	for _, ext := range []string{".yaml", ".yml"} {
		if file := filepath.Join(a.suiteDir(), selector+ext); exists(file) {
			return file, nil
		}
	}
	return filepath.Join(a.suiteDir(), selector+".yaml"), nil
}

// suite reads a suite by its name or its path.
func (a *app) suite(selector string) (suiteFile, error) {
	path, err := a.suitePath(selector)
	if err != nil {
		return suiteFile{}, err
	}
	s, src, problems, err := regression.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return suiteFile{}, (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no suite %q: no file %s", selector, a.shown(path))}).
			hint("agentclash regression-suite list")
	}
	if err != nil {
		return suiteFile{}, err
	}
	if s == nil {
		return suiteFile{}, a.suiteRefused(path, problems)
	}
	if problem := a.misnamed(path, s.Name); problem != "" {
		return suiteFile{}, usage("%s: %s", a.shown(path), problem)
	}
	return suiteFile{s, path, src}, nil
}

// takes refuses a suite that no case of a pack can be put into.
func (s suiteFile) takes(slug string) error {
	switch {
	case !strings.EqualFold(s.Pack, slug):
		return &failure{status: statusUsage, code: "regression_suite_pack_mismatch",
			err: fmt.Errorf("suite %s is of pack %q, the case of %q", s.Name, s.Pack, slug), next: "name another suite"}
	case s.Status == regression.Archived:
		return (&failure{status: statusUsage, code: "regression_suite_archived", err: fmt.Errorf("suite %s is archived", s.Name)}).
			hint("agentclash regression-suite activate %s", s.Name)
	}
	return nil
}

// suiteNameOf is the name that a suite has by its file.
func suiteNameOf(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".yaml"), ".yml")
}

// suiteRefused lists what is wrong with a suite.
func (a *app) suiteRefused(path string, problems pack.Problems) error {
	for i := range problems {
		problems[i].File = a.shown(path)
	}
	return refusal("suite_invalid", "the suite is not valid", problems.Errors())
}

// misnamed says that a file among the repository's suites has the name of
// another one: a suite is found by its file.
func (a *app) misnamed(path, name string) string {
	if file := filepath.Base(path); filepath.Dir(path) == a.suiteDir() && file != name+".yaml" && file != name+".yml" {
		return fmt.Sprintf("the suite in it is called %q: the file must be called %s.yaml", name, name)
	}
	return ""
}

// editSuite changes a suite's file: change makes the new source of what is there.
func (a *app) editSuite(ctx context.Context, selector string, change func(suiteFile) ([]byte, error)) error {
	s, err := a.suite(selector)
	if err != nil {
		return err // before anything is made for it
	}
	release, err := holdSuite(ctx, s.path)
	if err != nil {
		return err
	}
	defer release()
	return a.changeSuite(selector, change)
}

// changeSuite changes the file of a suite that is held.
func (a *app) changeSuite(selector string, change func(suiteFile) ([]byte, error)) error {
	s, err := a.suite(selector)
	if err != nil {
		return err
	}
	src, err := change(s)
	if err != nil || bytes.Equal(s.src, src) {
		return err
	}
	return a.writeSuite(s.path, s.src, src)
}

// holdSuite keeps other processes from changing a suite, so that none of their
// changes is lost.
func holdSuite(ctx context.Context, path string) (release func(), err error) {
	release, err = hold(ctx, path)
	if errors.Is(err, filelock.ErrHeld) {
		return nil, (&failure{status: statusTryAgain, code: "conflict", err: fmt.Errorf("another process is changing %s: %w", path, err)}).
			hint("run the command again")
	}
	if err != nil {
		return nil, fmt.Errorf("write suite: %w", err)
	}
	return release, nil
}

// writeSuite writes the file of a suite that is held.
func (a *app) writeSuite(path string, was, src []byte) error {
	if len(src) > pack.MaxBytes {
		return usage("suite %s would be longer than %d MiB", a.shown(path), pack.MaxBytes>>20).hint("put the case into another suite: --suite NAME")
	}
	err := rewrite(path, was, src)
	if errors.Is(err, errChanged) {
		return (&failure{status: statusTryAgain, code: "conflict", err: err}).hint("run the command again")
	}
	if err != nil {
		return fmt.Errorf("write suite: %w", err)
	}
	return nil
}

// allSuites reads every suite of the repository. Those that are not valid come as
// problems.
func (a *app) allSuites() (list []suiteFile, broken pack.Problems, err error) {
	files, err := regression.Files(a.suiteDir())
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		s, src, problems, err := regression.Read(file)
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			broken = append(broken, pack.Problem{File: a.shown(file), Field: "suite", Message: err.Error()})
		case s == nil:
			for _, p := range problems.Errors() {
				p.File = a.shown(file)
				broken = append(broken, p)
			}
		default:
			list = append(list, suiteFile{s, file, src})
		}
	}
	return list, broken, nil
}

// only is the suite with some of its cases.
func (s suiteFile) only(ids []string) (*regression.Suite, error) {
	some := *s.Suite
	some.Cases = nil
	for _, id := range ids {
		i := s.Find(id)
		if i < 0 {
			return nil, (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("suite %s has no case %q", s.Name, id)}).
				hint("agentclash regression-suite case list %s", s.Name)
		}
		some.Cases = append(some.Cases, s.Cases[i])
	}
	return &some, nil
}

// newSuite is a suite that is not there yet, named by its file.
func (a *app) newSuite(path, selector, slug string) (*regression.Suite, error) {
	name := selector
	if looksLikePath(selector) {
		name = suiteNameOf(path)
		if err := regression.CheckName(name); err != nil {
			return nil, usage("%s: %w", a.shown(path), err)
		}
	}
	return regression.New(name, slug, review.Warning, "", a.p.Now()), nil
}
