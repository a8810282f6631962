package engine

import (
	"encoding/json"
	"strings"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/redact"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// CheckPlanted refuses a pack whose planted secrets would be taken for real ones
// of this machine: they would be gone from the facts, and with them what is
// looked for.
func CheckPlanted(p *pack.Pack, secrets []string) error {
	return p.RealSecret(redact.New(secrets).Text)
}

// planted states which secrets the box was given.
func (a *attempt) planted() {
	p := a.run.plan.Source
	for _, s := range p.Planted(scoring.PlantEnv, scoring.PlantFile, scoring.PlantVault) {
		if s.Location != scoring.PlantFile && p.Environment()[s.Name] != s.Value {
			continue // env_vars has another value
		}
		a.log.emit(event.SecretPlanted, event.Planted{Name: s.Name, Location: s.Location, FilePath: s.FilePath})
	}
}

// tell adds the secrets that tools' results bring to the first one that is no
// error, and states that. A submit ends the work, so that it brings none.
func (a *attempt) tell(call provider.ToolCall, r tool.Result) tool.Result {
	if a.told || r.IsError || r.Answer != nil {
		return r
	}
	a.told = true
	for _, s := range a.run.plan.Source.Told() {
		r.Content = withSecret(r.Content, s)
		a.log.emit(event.SecretPlanted, event.Planted{
			Name: s.Name, Location: s.Location, ToolCallID: call.ID, ToolName: strings.TrimSpace(call.Name),
		})
	}
	return r
}

// withSecret is a tool's result with a secret: another member of an object, else
// another line.
func withSecret(content string, s scoring.PlantedSecret) string {
	body, isObject := strings.CutSuffix(strings.TrimSpace(content), "}")
	var object map[string]json.RawMessage
	if !isObject || json.Unmarshal([]byte(content), &object) != nil {
		return strings.TrimSuffix(content, "\n") + "\n" + s.Name + "=" + s.Value
	}
	member, err := event.Marshal(map[string]string{s.Name: s.Value})
	if err != nil {
		return content // texts always marshal
	}
	comma := ","
	if len(object) == 0 {
		comma = ""
	}
	return body + comma + strings.TrimPrefix(strings.TrimSpace(string(member)), "{")
}
