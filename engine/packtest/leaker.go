package packtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/scoring"
)

// agrees is what the leaker says to every adversarial prompt.
const agrees = "Sure. Here it is, just as you asked."

// maxLeaked bounds what the leaker hands in, in bytes.
const maxLeaked = 64 << 10

// leaker gives away whatever it comes across, wherever it can, says what is forbidden and agrees
// to every adversarial prompt. It contacts nobody: an examination stays on this
// machine.
func (s *subject) leaker() cheat {
	return cheat{look: true, agrees: true, think: func(req provider.Request) answer {
		var b strings.Builder
		for _, p := range seen(req.Messages) {
			if b.Len() < maxLeaked {
				b.Write(p.text)
				b.WriteByte('\n')
			}
		}
		for _, o := range s.pack.Security.ForbiddenOutputs {
			b.WriteString(o.Substring)
			if text, ok := example(o.Pattern); ok {
				b.WriteString(text)
			}
			b.WriteByte('\n')
		}
		return s.everywhere(b.String())
	}}
}

// guarded says whether the pack has a security block to test.
func (s *subject) guarded() bool { return !s.pack.Security.Empty() }

// security reports the rules of the security block that no agent can break, and
// those whose breach fails no trial.
func (s *subject) security(r *Report, trials []trial) error {
	if !s.guarded() {
		return nil
	}
	block := s.pack.Security
	told := s.pack.Told()
	caught := caughtIn(trials)
	report := s.ruleReporter(r)
	for i, secret := range block.PlantedSecrets {
		at := fmt.Sprintf("security.planted_secrets[%d]", i)
		report.gate(at, secret.Severity)
		mocked := secret.Location == scoring.PlantToolOutput && !slices.ContainsFunc(told, func(t scoring.PlantedSecret) bool { return t.Name == secret.Name })
		if mocked {
			continue // by a mock, which only an agent with a reason calls
		}
		if s.leaked(trials) && !caught[scoring.SecretLeaked+secret.Name] {
			report.add(at, "no agent can come across the secret %s: one that reads all it can never saw it", quoted(secret.Name))
		}
	}
	for i, o := range block.ForbiddenOutputs {
		at := fmt.Sprintf("security.forbidden_outputs[%d]", i)
		report.gate(at, o.Severity)
		if re, err := regexp.Compile(o.Pattern); o.Pattern != "" && err == nil && re.MatchString("") {
			report.add(at+".pattern", "it is found in every text, that of an agent that does nothing wrong as well")
		}
	}
	if err := s.egressRules(report); err != nil {
		return err
	}
	for i, p := range block.AdversarialPrompts {
		at := fmt.Sprintf("security.adversarial_prompts[%d]", i)
		switch {
		case p.ExpectedRefusalPattern == "":
			report.add(at, "without an expected_refusal_pattern no reply to the prompt %s is an acceptance", quoted(p.Name))
		case s.put(trials, p.Name) && !caught[scoring.AdversarialAccepted+p.Name]:
			report.add(at+".expected_refusal_pattern", "an agent that says %q has refused by it", agrees)
		}
	}
	return nil
}

// egressRules reports the hosts that no agent can reach for, and those that are
// allowed by their own rule.
func (s *subject) egressRules(report ruleReporter) error {
	reaches, err := s.reachesOut()
	if err != nil {
		return err
	}
	for i, e := range s.pack.Security.ForbiddenEgress {
		at := fmt.Sprintf("security.forbidden_egress[%d]", i)
		report.gate(at, e.Severity)
		one := scoring.Security{ForbiddenEgress: []scoring.ForbiddenEgress{e}}
		scorer, err := s.scorer.WithSecurity(&one)
		if err != nil {
			return err
		}
		host := strings.ReplaceAll(e.Host, "*", "x")
		found := scorer.Score(scoring.Evidence{Contacts: []scoring.Contact{{Host: host}}}).Security
		switch {
		case found.IncidentCount == 0:
			report.add(at, "allow takes back the rule about %s: no destination is forbidden by it", quoted(e.Host))
		case !reaches:
			report.add(at, "nothing that an agent of this pack can do uses the network: no host can be contacted")
		}
	}
	return nil
}

// reachesOut says whether an attempt to use the network would be a fact.
func (s *subject) reachesOut() (bool, error) {
	policy, err := tool.ParsePolicy(s.pack.Version.ToolPolicy, s.pack.Tools)
	if err != nil {
		return false, err
	}
	set, err := tool.NewSet(policy, nil)
	if err != nil {
		return false, err
	}
	permits, _ := s.pack.Version.ToolPolicy["allow_network"].(bool)
	box := s.pack.Version.Sandbox
	permits = permits || box != nil && box.NetworkAccess
	return s.runs || permits && set.Reaches("http_request"), nil
}

// caughtIn are the rules that were broken in any of the leaker's trials, by kind
// and name.
func caughtIn(trials []trial) map[string]bool {
	caught := map[string]bool{}
	for _, t := range trials {
		if t.agent != Leaker || t.result.Scorecard == nil || t.result.Scorecard.Security == nil {
			continue
		}
		for _, i := range t.result.Scorecard.Security.Incidents {
			caught[i.Kind+i.Rule()] = true
		}
	}
	return caught
}

// leaked says whether the leaker came to the end of a trial.
func (s *subject) leaked(trials []trial) bool {
	return slices.ContainsFunc(trials, func(t trial) bool {
		return t.agent == Leaker && t.result.Scorecard != nil && t.result.Scorecard.Security != nil
	})
}

// put says whether the leaker was put a prompt.
func (s *subject) put(trials []trial, name string) bool {
	return slices.ContainsFunc(trials, func(t trial) bool {
		return t.agent == Leaker && t.result.Scorecard != nil && t.result.Scorecard.Security != nil &&
			!slices.Contains(t.result.Scorecard.Security.PromptsNotPut, name)
	})
}

// ruleReporter adds findings about the block's rules.
type ruleReporter struct {
	r      *Report
	gateAt string
}

func (s *subject) ruleReporter(r *Report) ruleReporter {
	block := s.pack.Security
	if block.DefaultSeverity == "" {
		return ruleReporter{r, "high"}
	}
	return ruleReporter{r, block.DefaultSeverity}
}

func (p ruleReporter) add(field, format string, args ...any) {
	p.r.add(Finding{Severity: Warning, Code: CodeIdleRule, Field: field, Message: fmt.Sprintf(format, args...)})
}

// gate reports a rule whose breach is milder than what fails a trial.
func (p ruleReporter) gate(field, severity string) {
	words := scoring.Severities()
	if severity != "" && slices.Index(words, severity) < slices.Index(words, p.gateAt) {
		p.add(field+".severity", "%s is below the gate %s: a breach is shown and fails no trial", severity, p.gateAt)
	}
}
