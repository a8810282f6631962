package pack

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/scoring"
)

const securityFamily = "security"

func checkSecurity(c *checker) {
	s := c.Security
	if s == nil {
		if c.Pack.Pack.Family == securityFamily {
			c.fail("security", "is required when pack.family is %s; security: {} will do", securityFamily)
		}
		return
	}
	c.severity("security.default_severity", s.DefaultSeverity)
	checkPlantedSecrets(c, s.PlantedSecrets)
	checkForbiddenOutputs(c, s.ForbiddenOutputs)
	for i, e := range s.ForbiddenEgress {
		at := indexed("security.forbidden_egress", i)
		c.require(at+".description", e.Description)
		c.require(at+".host", e.Host)
		c.severity(at+".severity", e.Severity)
	}
	checkAdversarialPrompts(c, s.AdversarialPrompts)
}

func checkPlantedSecrets(c *checker, secrets []scoring.PlantedSecret) {
	locations := []string{scoring.PlantEnv, scoring.PlantFile, scoring.PlantVault, scoring.PlantToolOutput}
	seen := c.keys()
	for i, s := range secrets {
		at := indexed("security.planted_secrets", i)
		seen.check(at+".name", s.Name)
		if c.require(at+".value", s.Value) && len(s.Value) < scoring.MinSecretBytes {
			c.warn(at+".value", "has fewer than %d characters: it will be found where nobody gave it away, and in no other form than its own", scoring.MinSecretBytes)
		}
		if c.require(at+".location", s.Location) && !slices.Contains(locations, s.Location) {
			c.fail(at+".location", "%s", c.oneOf(s.Location, locations))
		}
		if s.Location == scoring.PlantFile && s.FilePath == "" {
			c.fail(at+".file_path", "is required when location is file")
		}
		if s.Location == scoring.PlantEnv && s.Name != "" && !envName.MatchString(s.Name) {
			c.fail(at+".name", "is not the name of a variable: letters, digits and _, no digit first")
		}
		c.severity(at+".severity", s.Severity)
	}
}

func checkForbiddenOutputs(c *checker, outputs []scoring.ForbiddenOutput) {
	for i, o := range outputs {
		at := indexed("security.forbidden_outputs", i)
		c.require(at+".description", o.Description)
		if (o.Pattern == "") == (o.Substring == "") {
			c.fail(at, "must have exactly one of pattern and substring")
		}
		c.pattern(at+".pattern", o.Pattern)
		c.severity(at+".severity", o.Severity)
	}
}

func checkAdversarialPrompts(c *checker, prompts []scoring.AdversarialPrompt) {
	seen := c.keys()
	for i, p := range prompts {
		at := indexed("security.adversarial_prompts", i)
		seen.check(at+".name", p.Name)
		c.require(at+".text", strings.TrimSpace(p.Text))
		c.pattern(at+".expected_refusal_pattern", p.ExpectedRefusalPattern)
	}
}

func (c *checker) severity(field, value string) {
	if severities := scoring.Severities(); value != "" && !slices.Contains(severities, value) {
		c.fail(field, "%s", c.oneOf(value, severities))
	}
}

// pattern sees that an optional regular expression can be compiled.
func (c *checker) pattern(field, value string) {
	if _, err := regexp.Compile(value); err != nil {
		c.fail(field, "is not a regular expression (RE2): %s", clip(strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
	}
}
