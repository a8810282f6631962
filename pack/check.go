package pack

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/agentclash/agentclash/pack/template"
)

// check is one rule, or a few about one thing. The table of checks is the list
// of what makes a pack valid; a new rule is a new row.
type check struct {
	about string
	run   func(*checker)
}

func checks() []check {
	return []check{
		{"the pack says what it is", checkHeader},
		{"the execution mode is one this version runs", checkMode},
		{"a prompt_eval pack asks for nothing it cannot have", checkPromptEval},
		{"there are challenges", checkChallenges},
		{"there are input sets with cases", checkInputSets},
		{"prompts can be filled", checkPrompts},
		{"files for the workspace have a shape and a place", checkWorkspaceFiles},
		{"tools exist", checkTools},
		{"the tool policy names kinds", checkToolPolicy},
		{"the sandbox can be had", checkSandbox},
		{"the file system stays in the workspace", checkFilesystem},
		{"the evaluation spec holds together", checkSpec},
		{"test commands can be filled", checkTestCommands},
		{"version assets are named", checkVersionAssets},
		{"asset files can be read", checkAssetFiles},
	}
}

// checker is what a check sees and where it speaks.
type checker struct {
	*Pack
	rep        *report
	files      fs.FS // nil: assets cannot be read
	primitives []template.Primitive
}

func runChecks(p *Pack, rep *report, files fs.FS) {
	c := &checker{Pack: p, rep: rep, files: files, primitives: template.Primitives()}
	for _, row := range checks() {
		row.run(c)
	}
}

// fail adds an error at a field.
func (c *checker) fail(field, format string, args ...any) {
	c.rep.check(Problem{Field: field, Message: fmt.Sprintf(format, args...)})
}

// warn adds a warning at a field.
func (c *checker) warn(field, format string, args ...any) {
	c.rep.check(Problem{Field: field, Message: fmt.Sprintf(format, args...), Warning: true})
}

// require says whether a value is there, and adds an error when it is not.
func (c *checker) require(field, value string) bool {
	if value == "" {
		c.fail(field, "is required")
	}
	return value != ""
}

// hint ends a message with what was probably meant, if anything was. Once
// nothing more is listed, no time is spent on it.
func (c *checker) hint(got string, values []string) string {
	if c.rep.full {
		return ""
	}
	return didYouMean(got, values)
}

// oneOf says which values there are and which was probably meant.
func (c *checker) oneOf(got string, values []string) string {
	return "must be one of " + strings.Join(values, ", ") + c.hint(got, values)
}

// keys sees that the keys of one list are there and each used once.
type keys struct {
	c    *checker
	seen map[string]bool
}

func (c *checker) keys() keys { return keys{c, map[string]bool{}} }

func (k keys) check(field, key string) bool {
	if !k.c.require(field, key) {
		return false
	}
	if k.seen[key] {
		k.c.fail(field, "must be unique; %s is used above", quote(key))
	}
	k.seen[key] = true
	return true
}
