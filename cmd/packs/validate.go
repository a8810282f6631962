package packs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/spf13/cobra"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
)

type packValidateOptions struct {
	format string
	strict bool
}

func newPackValidate(a *cli.App) *cobra.Command {
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
				return cli.Usage("challenge-pack validate needs FILE, DIR or -").Hint("%s --help", c.CommandPath())
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

func runPackValidate(a *cli.App, o packValidateOptions, args []string) error {
	if formats := []string{"text", "json", "github", "sarif"}; !slices.Contains(formats, o.format) {
		return cli.Usage("--format must be %s, not %q", strings.Join(formats, ", "), o.format)
	}
	doc := view.ValidateDocument{Valid: true, Files: view.List[view.ValidatedFile]{}}
	status, missing := cli.StatusOK, ""
	for _, arg := range args {
		for _, file := range validated(a, arg, o.strict) {
			doc.Files = append(doc.Files, file.ValidatedFile)
			if !file.Valid {
				doc.Valid, status = false, max(status, file.status)
			}
			if file.status == cli.StatusNotFound && missing == "" {
				missing = arg
			}
		}
	}
	if err := PrintValidated(a, doc, o.format); err != nil {
		return err
	}
	if missing != "" {
		a.Say("hint: agentclash challenge-pack init %s writes a starter", missing)
	}
	return cli.Verdict(status)
}

// PrintValidated writes what was found in pack files: as text, json, github or sarif.
func PrintValidated(a *cli.App, doc view.ValidateDocument, format string) error {
	switch format {
	case "json":
		return view.JSON(a.Process.Out, doc)
	case "github":
		return view.GitHubAnnotations(a.Process.Out, doc)
	case "sarif":
		return reports.Validation(a.Process.Out, doc, validateRules(), cli.ReadBuildInfo().Version)
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error {
		for _, f := range doc.Files {
			if f.Valid {
				a.Say("✓ %s is valid", f.File)
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
func validated(a *cli.App, arg string, strict bool) []validatedFile {
	below, err := packFiles(a, arg)
	if err != nil {
		return []validatedFile{unreadableFile(arg, err)}
	}
	sayOthers(a, below.others)
	found := below.unreadable
	for _, file := range below.files {
		problems, err := validateFile(a, file)
		if err != nil {
			found = append(found, unreadableFile(file, err))
			continue
		}
		found = append(found, Judged(file, problems, strict))
	}
	return found
}

// Judged is the verdict on one file; strict makes errors of warnings.
func Judged(file string, problems pack.Problems, strict bool) validatedFile {
	if strict {
		problems = slices.Clone(problems)
		for i := range problems {
			problems[i].Warning = false
		}
	}
	return validatedFile{view.ValidatedFile{
		File: file, Valid: problems.Err() == nil,
		Errors: selector.ViewProblems(problems.Errors()), Warnings: selector.ViewProblems(problems.Warnings()),
	}, cli.StatusUsage}
}

func unreadableFile(file string, err error) validatedFile {
	status, message := cli.StatusUsage, "cannot be read: "+err.Error()
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		status, message = cli.StatusNotFound, "no such file"
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
func packFiles(a *cli.App, arg string) (walked, error) {
	if arg == "-" {
		return walked{files: []string{arg}}, nil
	}
	info, err := os.Stat(a.Path(arg))
	if err != nil || !info.IsDir() {
		return walked{files: []string{arg}}, err
	}
	root, err := filepath.EvalSymlinks(a.Path(arg))
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
func sayOthers(a *cli.App, others []string) {
	const shown = 5
	if len(others) == 0 {
		return
	}
	more := ""
	if n := len(others) - shown; n > 0 {
		others, more = others[:shown], fmt.Sprintf(" and %d more", n)
	}
	a.Say("! no packs, and passed over: %s%s", strings.Join(others, ", "), more)
}

func validateFile(a *cli.App, file string) (pack.Problems, error) {
	p, problems, err := selector.PackFile(a, file)
	if err == nil && problems.Err() == nil {
		selector.SaySecrets(a, p)
	}
	return problems, err
}
