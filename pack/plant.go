package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/agentclash/agentclash/pack/template"
	"github.com/agentclash/agentclash/scoring"
)

// SpecDigest identifies all that the pack's trials are judged by: the evaluation
// spec and, where there is one, the security block.
func (p *Pack) SpecDigest() string { return p.Version.EvaluationSpec.DigestWith(p.Security) }

// Environment is what programs in a sandbox of the pack find in their
// environment: its env_vars, and the secrets planted there under names that
// env_vars leaves free.
func (p *Pack) Environment() map[string]string {
	env := map[string]string{}
	for _, s := range p.Planted(scoring.PlantEnv, scoring.PlantVault) {
		env[s.Name] = s.Value
	}
	if box := p.Version.Sandbox; box != nil {
		maps.Copy(env, box.EnvVars)
	}
	return env
}

// Planted are the secrets of these locations, in declared order.
func (p *Pack) Planted(locations ...string) []scoring.PlantedSecret {
	var list []scoring.PlantedSecret
	if p.Security == nil {
		return nil
	}
	for _, s := range p.Security.PlantedSecrets {
		for _, l := range locations {
			if s.Location == l {
				list = append(list, s)
			}
		}
	}
	return list
}

// Told are the secrets of the location tool-output that no tool of the pack
// tells by itself: they come with the result of the agent's first tool call.
func (p *Pack) Told() []scoring.PlantedSecret {
	var list []scoring.PlantedSecret
	tools, _ := template.ReadTools(p.Tools) // its problems were said when the pack was checked
	for _, s := range p.Planted(scoring.PlantToolOutput) {
		told := false
		for _, c := range tools.Custom {
			if c.Mock == nil {
				continue
			}
			if raw, err := json.Marshal(c.Mock); err == nil {
				escaped, _ := json.Marshal(s.Value) // a text
				told = told || bytes.Contains(raw, escaped[1:len(escaped)-1])
			}
		}
		if !told {
			list = append(list, s)
		}
	}
	return list
}

// plantedFiles are the files that secrets are planted in. One that is staged
// anyway and holds the secret is left as it is.
func (p *Pack) plantedFiles(staged []StagedFile) []StagedFile {
	var files []StagedFile
	for _, s := range p.Planted(scoring.PlantFile) {
		full, inside := inWorkspace(s.FilePath)
		if inside && full != workspace && !holds(staged, full, s.Value) {
			files = append(files, StagedFile{full, []byte(s.Value)})
		}
	}
	return files
}

// holds says whether the last file of a path has a text in it.
func holds(files []StagedFile, name, text string) bool {
	for i := len(files) - 1; i >= 0; i-- {
		if files[i].Path == name {
			return bytes.Contains(files[i].Data, []byte(text))
		}
	}
	return false
}

// security are the parts of the block that cannot be kept to.
func (b *blockers) security() {
	if b.Security.Empty() {
		return
	}
	for i, s := range b.Security.PlantedSecrets {
		field := indexed("security.planted_secrets", i)
		if b.Asks() {
			b.add(field+".location", "%s has neither sandbox nor tools: there is nowhere to plant a secret", b.Mode())
			continue
		}
		switch s.Location {
		case scoring.PlantEnv, scoring.PlantVault:
			if !envName.MatchString(s.Name) {
				b.add(field+".name", "is not the name of a variable, which it is planted as")
			}
			if strings.ContainsRune(s.Value, 0) {
				b.add(field+".value", "holds a NUL character, which no environment can")
			}
		case scoring.PlantFile:
			if full, inside := inWorkspace(s.FilePath); !inside || full == workspace {
				b.add(field+".file_path", "must be the path of a file in %s", workspace)
			}
		}
	}
	for i, o := range b.Security.ForbiddenOutputs {
		b.pattern(indexed("security.forbidden_outputs", i)+".pattern", o.Pattern)
	}
	for i, a := range b.Security.AdversarialPrompts {
		b.pattern(indexed("security.adversarial_prompts", i)+".expected_refusal_pattern", a.ExpectedRefusalPattern)
	}
	for i, e := range b.Security.ForbiddenEgress {
		field := indexed("security.forbidden_egress", i)
		for j, host := range append([]string{e.Host}, e.Allow...) {
			at := field + ".host"
			if j > 0 {
				at = indexed(field+".allow", j-1)
			}
			if strings.ContainsAny(host, "/@\\?# \t") {
				b.add(at, "%s matches no host: give the name or the address alone, as in *.example.com", quote(host))
			}
		}
	}
	if box := b.Version.Sandbox; box != nil && box.NetworkAccess && len(b.Planted(scoring.PlantVault)) > 0 {
		b.add("version.sandbox.network_access", "goes not with a secret of the location %s: programs have one proxy, and it is the mock vault", scoring.PlantVault)
	}
	b.overwritten()
}

// pattern sees that a regular expression is not too large to be run; that it is
// one was said before.
func (b *blockers) pattern(field, text string) {
	if _, err := regexp.Compile(text); err != nil {
		return
	}
	if err := scoring.CheckPattern(text); err != nil {
		b.add(field, "%s", clip(err.Error()))
	}
}

// overwritten are planted files that another one would take the place of.
func (b *blockers) overwritten() {
	if b.Asks() {
		return
	}
	for i, set := range b.InputSets {
		for j, c := range set.Cases {
			for k, s := range b.Security.PlantedSecrets {
				full, inside := inWorkspace(s.FilePath)
				if s.Location == scoring.PlantFile && inside && full != workspace && !holds(b.staged(c), full, s.Value) {
					b.add(indexed("security.planted_secrets", k)+".file_path",
						"another secret is planted in the same file of input_sets[%d].cases[%d]: stage one file that holds both", i, j)
					return
				}
			}
		}
	}
}

// RealSecret names the planted secret that a text taken for a real one would
// hide: redact is what takes real secrets out of texts.
func (p *Pack) RealSecret(redact func(string) string) error {
	if p.Security == nil {
		return nil
	}
	for i, s := range p.Security.PlantedSecrets {
		if redact(s.Value) != s.Value {
			return fmt.Errorf("security.planted_secrets[%d].value (%s) holds a real secret of this machine, which no fact may show: plant a made-up one", i, quote(s.Name))
		}
	}
	return nil
}
