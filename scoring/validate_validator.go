package scoring

import (
	"fmt"
	"strings"
)

// checkValidators checks the validators and makes them ready.
func (c *checker) checkValidators() {
	rows := registry()
	for i, decl := range c.spec.Validators {
		at := fmt.Sprintf("validators[%d]", i)
		c.own(at+".key", decl.Key, "validator")
		row, wrong := findType(rows, decl.Type)
		if row == nil {
			c.add(at+".type", "%s", wrong)
		}
		v := validator{Validator: decl, row: row}
		v.target = c.target(at+".target", decl.Target, row)
		v.expected = c.expected(at+".expected_from", decl.ExpectedFrom, row)
		if row != nil {
			c.configure(&v, at)
		}
		c.validators = append(c.validators, v)
	}
}

// target checks where a validator looks.
func (c *checker) target(at, text string, row *validatorType) reference {
	switch {
	case row == nil && text == toolCalls:
		return reference{} // the type is refused already
	case row != nil && row.OnlyTarget != "" && text != "":
		if text != row.OnlyTarget {
			c.add(at, "%s looks at %s and nothing else: write that, not %s", row.Name, row.OnlyTarget, quoted(text))
		}
		return reference{kind: refToolCalls, text: text}
	}
	r, err := parseReference(text)
	if err != nil {
		c.add(at, "%v", err)
		return r
	}
	if row != nil && row.FileTarget && r.kind != refFile {
		c.add(at, "%s reads a capture: write file:<key of a post_execution_checks entry>, not %s", row.Name, quoted(text))
		return r
	}
	c.captured(at, r, row)
	return r
}

// expected checks what a validator compares with. The reference is empty where
// the type needs none.
func (c *checker) expected(at, text string, row *validatorType) reference {
	switch {
	case row != nil && !row.NeedsExpected:
		switch {
		case text == "":
		case row.NoExpected:
			c.add(at, "must be left out: %s compares with nothing outside its config", row.Name)
		default:
			c.warn(at, "is not read: %s compares with nothing outside its config", row.Name)
		}
		return reference{}
	}
	return c.evidence(at, text)
}

// evidence checks a reference to a text. That a capture is not declared is no
// error here: the format never looked.
func (c *checker) evidence(at, text string) reference {
	r, err := parseReference(text)
	if err != nil {
		c.add(at, "%v", err)
	}
	if _, ok := c.capture(r.key); r.kind == refFile && !ok {
		c.warn(at, "can never be read: %s", c.noCapture(r.key))
	}
	return r
}

// captured checks that a target which is a capture is declared. Without any
// check only the types that insist do, as the format always had it.
func (c *checker) captured(at string, r reference, row *validatorType) {
	if r.kind != refFile {
		return
	}
	insists := row != nil && row.insists
	check, ok := c.capture(r.key)
	switch {
	case ok && (row == nil || row.capture == "" || row.capture == check.Type):
	case ok && insists:
		c.add(at, "%s needs a %s: the post_execution_checks entry %s is a %s", row.Name, row.capture, quoted(r.key), quoted(check.Type))
	case ok:
		c.warn(at, "%s needs a %s: the post_execution_checks entry %s is a %s", row.Name, row.capture, quoted(r.key), quoted(check.Type))
	case insists || len(c.spec.PostExecutionChecks) > 0:
		c.add(at, "%s", c.noCapture(r.key))
	default:
		c.warn(at, "can never be read: %s", c.noCapture(r.key))
	}
}

func (c *checker) capture(key string) (PostExecutionCheck, bool) {
	i, ok := c.checkAt[key]
	if !ok {
		return PostExecutionCheck{}, false
	}
	return c.spec.PostExecutionChecks[i], true
}

func (c *checker) noCapture(key string) string {
	keys := make([]string, len(c.spec.PostExecutionChecks))
	for i, check := range c.spec.PostExecutionChecks {
		keys[i] = check.Key
	}
	help := c.hint(key, keys)
	if len(keys) == 0 {
		help = ": there are none"
	}
	if strings.Contains(key, "/") {
		return fmt.Sprintf("%s is a path: name a post_execution_checks entry by its key%s", quoted(key), help)
	}
	return fmt.Sprintf("no post_execution_checks entry is called %s%s", quoted(key), help)
}

// configure reads a validator's config; without problems in it the validator
// gets its functions, where its type has any.
func (c *checker) configure(v *validator, at string) {
	r := configReader{row: v.row, field: at + ".config", problems: &c.problems}
	s, ok := r.read(v.Config)
	v.settings = s
	switch {
	case !ok:
	case v.row.look != nil:
		v.look = v.row.look(s)
	case v.row.text != nil:
		v.text = v.row.text(s)
		c.literal(v, at+".expected_from")
	}
}

// literal warns of an expected text that stands in the spec and makes no sense
// to the validator: nothing that an agent does could pass.
func (c *checker) literal(v *validator, at string) {
	if v.expected.kind != refLiteral {
		return
	}
	if _, err := v.text(v.expected.key); err != nil {
		c.warn(at, "%s", clipTo(err.Error(), maxReason))
	}
}

// graders are the commands of the validators that have one.
func (c *checker) graders() []Grader {
	var out []Grader
	for i := range c.validators {
		v := &c.validators[i]
		config := codeSettings(v.settings)
		if v.Type != CodeExecution || config.TestCommand == "" {
			continue
		}
		check, _ := c.capture(v.target.key)
		out = append(out, Grader{Key: v.Key, Target: v.target.text, Check: check, Config: config})
	}
	return out
}
