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
	rule  string // for machines
	about string
	run   func(*checker)
}

func checks() []check {
	return []check{
		{"header", "the pack says what it is", checkHeader},
		{"voice", "voice has both of its blocks", checkVoice},
		{"execution-mode", "the execution mode is one of four", checkMode},
		{"mode-guards", "a pack asks for nothing its mode cannot have", checkGuards},
		{"challenges", "there are challenges", checkChallenges},
		{"security", "the security block holds together", checkSecurity},
		{"input-sets", "there are input sets with cases", checkInputSets},
		{"prompts", "prompts can be filled", checkPrompts},
		{"hidden-files", "no staged file hides another", checkHiddenFiles},
		{"tools", "tools hold together", checkTools},
		{"tool-policy", "the tool policy names kinds", checkToolPolicy},
		{"sandbox", "the sandbox can be described", checkSandbox},
		{"deployment-defaults", "deployment defaults have a default", checkDeploymentDefaults},
		{"evaluation-spec", "the evaluation spec holds together", checkSpec},
		{"references", "what is compared is in the cases", checkReferences},
		{"test-commands", "test commands can be filled", checkTestCommands},
		{"user-simulators", "conversations have a user", checkSimulators},
		{"assets", "version assets are named", checkVersionAssets},
		{"asset-files", "asset files can be read", checkAssetFiles},
		{"not-yet", "this version can run the pack", checkBlockers},
	}
}

// The rules of problems that no check finds.
const (
	ruleDecode     = "decode"
	ruleUnknownKey = "unknown-key"
)

// Rule is a kind of problem.
type Rule struct{ ID, About string }

// Rules lists every kind of problem that a pack can have.
func Rules() []Rule {
	rules := []Rule{{ruleDecode, "the file can be read, and every value has its type"}, {ruleUnknownKey, "every key is one of the format"}}
	for _, c := range checks() {
		rules = append(rules, Rule{c.rule, c.about})
	}
	return rules
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
		rep.rule = row.rule
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

// checkBlockers warns of what keeps this version from running the pack. What
// is wrong with the format has been said already.
func checkBlockers(c *checker) {
	for _, b := range c.Blockers() {
		c.rep.check(Problem{Field: b.Field, Message: b.Message, Warning: true, Blocks: true})
	}
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
