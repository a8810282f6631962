package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

// SimulatorModel is a model that plays users in the conversations of a run agent.
type SimulatorModel struct {
	Lane     int    `json:"lane_index"`
	Name     string `json:"name,omitempty"` // as the phase has it; "" is the deployment's model
	Provider string `json:"provider"`
	Model    string `json:"model"`
	BaseURL  string `json:"base_url,omitempty"`
	Account  string `json:"account,omitempty"`
	Script   string `json:"script,omitempty"` // whose simulators list is read, when scripted
	// ContentDigest is the SHA-256, in hex, of the script when the run was planned.
	ContentDigest string `json:"content_digest,omitempty"`
}

// SimulatorMaxOutput is how many tokens one message of a simulated user has at most.
const SimulatorMaxOutput = 4096

// simulators resolves the models that play users of these cases, each once for a
// run agent.
func simulators(cases []pack.Case, agents []RunAgent) ([]SimulatorModel, error) {
	var models []SimulatorModel
	var errs []error
	seen := map[string]bool{}
	for lane, agent := range agents {
		for _, c := range cases {
			for _, p := range phasesOf(c) {
				key := fmt.Sprint(lane, " ", p.Model)
				if p.Actor != pack.LLMActor || seen[key] {
					continue
				}
				seen[key] = true
				m, err := simulatorModel(agents, lane, p.Model)
				if err != nil {
					errs = append(errs, fmt.Errorf("phase %q of case %q for %q: %w", p.ID, c.Key(), agent.Label, err))
				}
				models = append(models, m)
			}
		}
	}
	return models, errors.Join(errs...)
}

// simulatorModel is reached as the deployment is, but for a model that names a
// provider of its own: that is reached as the first deployment of the provider.
func simulatorModel(agents []RunAgent, lane int, name string) (SimulatorModel, error) {
	d := agents[lane].Deployment
	m := SimulatorModel{Lane: lane, Name: name, Provider: d.Provider, Model: cmp.Or(name, d.Model), BaseURL: d.BaseURL, Account: d.Account}
	if d.Provider == provider.Scripted {
		m.Script = d.ScriptFile() // it has no other model, and plays all users
	}
	head, _, slashed := strings.Cut(name, "/")
	known := slices.ContainsFunc(provider.Names(), func(p string) bool { return strings.EqualFold(p, head) })
	if !slashed || !known && (d.Provider == provider.OpenRouter || d.BaseURL != "") {
		return m, nil
	}
	key, model, err := provider.ParseModel(name)
	if err != nil {
		return m, err
	}
	m.Model = model
	if key == d.Provider {
		if key == provider.Scripted {
			m.Script = model
		}
		return m, nil
	}
	m.Provider, m.BaseURL, m.Account, m.Script = key, "", "", ""
	if key == provider.Scripted {
		m.Script = model
	}
	if i := slices.IndexFunc(agents, func(a RunAgent) bool { return a.Deployment.Provider == key }); i >= 0 {
		m.BaseURL, m.Account = agents[i].Deployment.BaseURL, agents[i].Deployment.Account
	}
	return m, nil
}

// Pace is what the provider counts the calls of a user's model by.
func (s SimulatorModel) Pace() provider.PaceKey {
	return provider.PaceKey{Provider: s.Provider, BaseURL: s.BaseURL, Account: s.Account, Model: s.Model}
}

// AsksPeople says whether a conversation of the plan has a turn that a person takes.
func (p *Plan) AsksPeople() bool {
	return slices.ContainsFunc(p.Cases, func(c CaseRef) bool { return p.cases[c.Key].AsksPeople() })
}

// phasesOf are the phases of a case, with their names as they are compared.
func phasesOf(c pack.Case) (phases []pack.Phase) {
	if c.UserSimulator == nil {
		return nil
	}
	for _, p := range c.UserSimulator.Phases {
		p.ID, p.Actor, p.Trigger, p.Model = strings.TrimSpace(p.ID), strings.TrimSpace(p.Actor), strings.TrimSpace(p.Trigger), strings.TrimSpace(p.Model)
		phases = append(phases, p)
	}
	return phases
}
