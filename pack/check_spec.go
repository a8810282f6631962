package pack

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/scoring"
)

const specField = "version.evaluation_spec"

// checkSpec has scoring judge its own part of the file.
func checkSpec(c *checker) {
	for _, p := range c.Version.EvaluationSpec.Validate() {
		if list := declaring(p.Field); list != "" && c.rep.incomplete(specField+"."+list) {
			continue // what is not found may be there
		}
		field := specField
		if p.Field != "" {
			field += "." + p.Field
		}
		c.rep.check(Problem{Field: field, Message: p.Message, Warning: p.Warning})
	}
	if !c.Asks() {
		return
	}
	for i, v := range c.Version.EvaluationSpec.Validators {
		if strings.HasPrefix(strings.TrimSpace(v.Target), "file:") {
			c.warn(indexed(specField+".validators", i)+".target",
				"can never be read: %s packs have no sandbox to capture a file from", c.Mode())
		}
	}
}

// declaring is the list of the spec in which a field's value is declared, ""
// for a field that names nothing.
func declaring(field string) string {
	switch inDimension := strings.HasPrefix(field, "scorecard.dimensions["); {
	case inDimension && strings.HasSuffix(field, ".metric"):
		return "metrics"
	case inDimension && strings.HasSuffix(field, ".judge_key"):
		return "llm_judges"
	case inDimension && strings.Contains(field, ".validators["):
		return "validators"
	case strings.HasPrefix(field, "validators[") && strings.HasSuffix(field, ".target"):
		return "post_execution_checks"
	}
	return ""
}

const (
	// maxPromptNames bounds the placeholders of one prompt, maxCommandNames
	// those of all test commands together: each is looked up in every case.
	maxPromptNames  = 100
	maxCommandNames = 1000
)

// checkTestCommands sees that every case can fill the commands of
// code_execution validators whose configs could be read.
func checkTestCommands(c *checker) {
	type command struct {
		field string
		names []string
	}
	var commands []command
	total := 0
	for i, v := range c.Version.EvaluationSpec.Validators {
		var config scoring.CodeExecutionConfig
		at := indexed(specField+".validators", i) + ".config"
		if v.Type != "code_execution" || c.rep.said(at) || json.Unmarshal(v.Config, &config) != nil {
			continue
		}
		names := template.Placeholders(config.TestCommand)
		if total += len(names); total > maxCommandNames {
			c.fail(specField+".validators", "have more than %d placeholders in their test commands", maxCommandNames)
			return
		}
		if len(names) > 0 {
			commands = append(commands, command{at + ".test_command", names})
		}
	}
	if len(commands) == 0 {
		return
	}
	c.eachCase(func(at string, kase Case) {
		vars := kase.vars()
		for _, cmd := range commands {
			for _, u := range template.Missing(cmd.names, vars) {
				c.fail(fmt.Sprintf("%s (%s)", cmd.field, at), "%s", unfilled(u))
			}
		}
	})
}

func unfilled(u template.Unresolved) string {
	if u.Malformed {
		return fmt.Sprintf("{{%s}} is not a path", clip(u.Name))
	}
	return fmt.Sprintf("{{%s}} is neither in the payload nor an input with a value", clip(u.Name))
}

// eachCase calls f for every case with its field.
func (c *checker) eachCase(f func(field string, kase Case)) {
	for i, set := range c.InputSets {
		for j, kase := range set.Cases {
			f(fmt.Sprintf("input_sets[%d].cases[%d]", i, j), kase)
		}
	}
}

// checkPrompts warns of placeholders that would reach the model as they are.
func checkPrompts(c *checker) {
	if !c.Asks() {
		return
	}
	names := map[int][]string{}
	said := map[string]bool{}
	c.eachCase(func(at string, kase Case) {
		i, ok := c.index.challenges[kase.ChallengeKey]
		if !ok {
			return
		}
		field := indexed("challenges", i) + ".instructions"
		if _, read := names[i]; !read {
			names[i] = c.promptNames(field, c.Challenges[i].Prompt())
		}
		for _, u := range template.Missing(names[i], kase.vars()) {
			if said[field+u.Name] {
				continue
			}
			said[field+u.Name] = true
			c.warn(field, "in %s %s, so that it stays in the prompt as it is", at, unfilled(u))
		}
	})
}

// promptNames returns the placeholders of a prompt, so far as they are checked.
func (c *checker) promptNames(field, prompt string) []string {
	names := template.Placeholders(prompt)
	if len(names) > maxPromptNames {
		c.warn(field, "has more than %d placeholders; the rest are not checked", maxPromptNames)
		return names[:maxPromptNames]
	}
	return names
}

// checkHiddenFiles warns when one staged file hides another.
func checkHiddenFiles(c *checker) {
	if c.Asks() {
		return // nothing is staged
	}
	c.eachCase(func(field string, kase Case) {
		seen := map[string]bool{}
		for _, f := range c.staged(kase) {
			if seen[f.Path] {
				c.warn(field, "two files are staged at %s; the later one wins", quote(f.Path))
			}
			seen[f.Path] = true
		}
	})
}

// checkAssetFiles reads the bytes of every asset into the pack. Those that
// cannot be read keep the pack from being run or published.
func checkAssetFiles(c *checker) {
	c.assets = map[string][]byte{}
	left := int64(MaxAssetsBytes)
	failed := map[string]string{}
	for _, a := range c.everyAsset() {
		clean, bad := assetPath(a.Path)
		if bad != "" || a.ArtifactID != "" {
			continue
		}
		if _, ok := c.assets[clean]; ok {
			continue
		}
		if _, ok := failed[clean]; !ok {
			data, message := readAsset(c.files, clean, min(left, MaxAssetBytes))
			if message == "" {
				c.assets[clean] = data
				left -= int64(len(data))
				continue
			}
			failed[clean] = message
		}
		if failed[clean] == leadsOut {
			c.fail(a.field+".path", "%s", leadsOut)
			continue
		}
		c.missing = append(c.missing, Blocker{a.field + ".path", failed[clean]})
	}
}

// vars is what placeholders of a case are filled from: the payload, overlaid
// by the inputs that have a value.
func (c Case) vars() map[string]any {
	vars := make(map[string]any, len(c.Payload)+len(c.Inputs))
	maps.Copy(vars, c.Payload)
	for _, in := range c.Inputs {
		if in.Value != nil {
			vars[in.Key] = in.Value
		}
	}
	return vars
}
