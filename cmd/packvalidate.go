package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
)

type packValidateOptions struct {
	format string
	strict bool
}

func newPackValidate(a *app) *cobra.Command {
	var o packValidateOptions
	c := &cobra.Command{
		Use: "validate FILE|DIR|-...", Short: "Check pack files, offline: no store, no network, no Docker",
		Long: `Check pack files and say everything that is wrong with them, with file, line,
column and field. A directory stands for every pack below it, "-" for stdin.
Nothing is opened but the packs, their assets and the scripts of their reference
agents: this is what a pre-commit hook calls.

A warning is about something that is valid and most likely not meant, or that
this version does not run yet.

Exit status: 0 all are valid, 64 one is not, 66 a file does not exist.`,
		Example: `  agentclash challenge-pack validate my-pack.yaml
  agentclash challenge-pack validate packs/ --strict
  agentclash challenge-pack validate packs/ --format sarif > packs.sarif`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 || slices.Contains(args, "") {
				return usage("challenge-pack validate needs FILE, DIR or -").hint("%s --help", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runPackValidate(a, o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "text", "text, json, github (annotations of a workflow) or sarif")
	f.BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	return c
}

func runPackValidate(a *app, o packValidateOptions, args []string) error {
	if formats := []string{"text", "json", "github", "sarif"}; !slices.Contains(formats, o.format) {
		return usage("--format must be %s, not %q", strings.Join(formats, ", "), o.format)
	}
	doc := view.ValidateDocument{Valid: true, Files: view.List[view.ValidatedFile]{}}
	status := statusOK
	for _, arg := range args {
		for _, file := range a.validated(arg, o.strict) {
			doc.Files = append(doc.Files, file.ValidatedFile)
			if !file.Valid {
				doc.Valid, status = false, max(status, file.status)
			}
		}
	}
	if err := a.printValidated(doc, o.format); err != nil {
		return err
	}
	return verdict(status)
}

func (a *app) printValidated(doc view.ValidateDocument, format string) error {
	switch format {
	case "json":
		return view.JSON(a.p.Out, doc)
	case "github":
		return view.GitHubAnnotations(a.p.Out, doc)
	case "sarif":
		return reports.Validation(a.p.Out, doc, validateRules(), readBuildInfo().Version)
	}
	return a.print(doc, func(w io.Writer, o view.Options) error {
		for _, f := range doc.Files {
			if f.Valid {
				a.say("✓ %s is valid", f.File)
			}
		}
		return view.Problems(w, doc, o)
	})
}

// ruleRead is the rule of a file that nothing can be said about.
const ruleRead = "read"

func validateRules() []reports.Rule {
	rules := []reports.Rule{{ID: ruleRead, About: "the file can be opened"}}
	for _, r := range pack.Rules() {
		rules = append(rules, reports.Rule(r))
	}
	return rules
}

// validatedFile is what was found in one file and the status it ends with.
type validatedFile struct {
	view.ValidatedFile
	status int
}

// validated checks what an argument stands for. A file that cannot be read is a
// finding like any other: the rest is checked all the same.
func (a *app) validated(arg string, strict bool) []validatedFile {
	below, err := a.packFiles(arg)
	if err != nil {
		return []validatedFile{unreadableFile(arg, err)}
	}
	a.sayOthers(below.others)
	found := below.unreadable
	for _, file := range below.files {
		problems, err := a.validateFile(file)
		if err != nil {
			found = append(found, unreadableFile(file, err))
			continue
		}
		found = append(found, judged(file, problems, strict))
	}
	return found
}

func judged(file string, problems pack.Problems, strict bool) validatedFile {
	if strict {
		problems = slices.Clone(problems)
		for i := range problems {
			problems[i].Warning = false
		}
	}
	return validatedFile{view.ValidatedFile{
		File: file, Valid: problems.Err() == nil,
		Errors: viewProblems(problems.Errors()), Warnings: viewProblems(problems.Warnings()),
	}, statusUsage}
}

func unreadableFile(file string, err error) validatedFile {
	status, message := statusUsage, "cannot be read: "+err.Error()
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		status, message = statusNotFound, "no such file"
	case errors.As(err, &pathErr):
		message = "cannot be read: " + pathErr.Err.Error() // the path is named already
	}
	return validatedFile{view.ValidatedFile{File: file, Warnings: view.List[view.Problem]{},
		Errors: view.List[view.Problem]{{Field: "bundle", Message: message, Rule: ruleRead}}}, status}
}

// walked is what was found below a directory.
type walked struct {
	files      []string
	unreadable []validatedFile
	others     []string // YAML files that are no packs
}

// packFiles is what an argument stands for: itself, or every pack below a
// directory, links to it followed.
func (a *app) packFiles(arg string) (walked, error) {
	if arg == "-" {
		return walked{files: []string{arg}}, nil
	}
	info, err := os.Stat(a.path(arg))
	if err != nil || !info.IsDir() {
		return walked{files: []string{arg}}, err
	}
	root, err := filepath.EvalSymlinks(a.path(arg))
	if err != nil {
		return walked{}, err
	}
	var found walked
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(root, path)
		if relErr != nil {
			return relErr
		}
		return found.visit(path, filepath.Join(arg, rel), e, err)
	})
	if err == nil && len(found.files)+len(found.unreadable) == 0 {
		err = errors.New("it holds no pack")
	}
	return found, err
}

// visit takes in one entry of a directory: a directory that cannot be read does
// not hide the others.
func (w *walked) visit(path, shown string, e fs.DirEntry, err error) error {
	ext := strings.ToLower(filepath.Ext(path))
	switch {
	case err != nil:
		w.unreadable = append(w.unreadable, unreadableFile(shown, err))
		if e != nil && e.IsDir() {
			return fs.SkipDir
		}
	case e.IsDir() && shown != "." && strings.HasPrefix(e.Name(), ".") && e.Name() != "." && e.Name() != "..":
		return fs.SkipDir
	case e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, ext):
	case pack.Looks(path):
		w.files = append(w.files, shown)
	case ext != ".json" && !strings.HasSuffix(strings.TrimSuffix(path, filepath.Ext(path)), ".reference"):
		w.others = append(w.others, shown)
	}
	return nil
}

// sayOthers names the files that were passed over, for somebody whose pack is
// among them.
func (a *app) sayOthers(others []string) {
	const shown = 5
	if len(others) == 0 {
		return
	}
	more := ""
	if n := len(others) - shown; n > 0 {
		others, more = others[:shown], fmt.Sprintf(" and %d more", n)
	}
	a.say("! no packs, and passed over: %s%s", strings.Join(others, ", "), more)
}

func (a *app) validateFile(file string) (pack.Problems, error) {
	_, problems, err := a.packFile(file)
	return problems, err
}
