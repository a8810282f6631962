package plan

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

// What the engine says to a model is in files, so that it can be read and
// compared as text.
var (
	//go:embed prompts/native_system.md
	nativeSystem string
	//go:embed prompts/native_user.md
	nativeUser string
	//go:embed prompts/talk_system.md
	talkSystem string
	//go:embed prompts/text_system.md
	textSystem string
	//go:embed prompts/output_schema.md
	outputSchema string
	//go:embed prompts/reminder.md
	SubmitReminder string
	//go:embed prompts/command_task.md
	commandSystem string
)

// nativeMessages opens a conversation with tools. What the agent is told of
// the task is the pack's allow-list projection and nothing else.
func nativeMessages(p *pack.Pack, c pack.Case, d Deployment) ([]provider.Message, error) {
	system, task, err := briefing(p, c, d, nativeSystem)
	if err != nil {
		return nil, err
	}
	return []provider.Message{
		{Role: provider.System, Content: paragraphs(system...)},
		{Role: provider.User, Content: paragraphs(nativeUser, task)},
	}, nil
}

// talkMessages opens a conversation with users, of an agent that has tools. The
// task is with what the system says: the first user message is the user's own.
func talkMessages(p *pack.Pack, c pack.Case, d Deployment) ([]provider.Message, error) {
	return systemAlone(p, c, d, talkSystem)
}

// textMessages is talkMessages for an agent that has none.
func textMessages(p *pack.Pack, c pack.Case, d Deployment) ([]provider.Message, error) {
	return systemAlone(p, c, d, textSystem)
}

func systemAlone(p *pack.Pack, c pack.Case, d Deployment, how string) ([]provider.Message, error) {
	system, task, err := briefing(p, c, d, how)
	if err != nil {
		return nil, err
	}
	return []provider.Message{{Role: provider.System, Content: paragraphs(append(system, nativeUser, task)...)}}, nil
}

// briefing is what an agent is told before it begins: how it is to work, and the
// task as it may see it.
func briefing(p *pack.Pack, c pack.Case, d Deployment, how string) (system []string, task string, err error) {
	system = []string{d.System, how}
	if len(d.OutputSchema) > 0 {
		schema, err := indented(d.OutputSchema)
		if err != nil {
			return nil, "", fmt.Errorf("write the output schema of %q: %w", d.Name, err)
		}
		system = append(system, outputSchema+schema)
	}
	if task, err = indented(p.AgentView(c)); err != nil {
		return nil, "", fmt.Errorf("write the task of case %q: %w", c.Key(), err)
	}
	return system, task, nil
}

// promptMessages is the one question of a prompt_eval trial: the challenge's
// instructions with the case's values filled in.
func promptMessages(p *pack.Pack, c pack.Case, d Deployment) ([]provider.Message, error) {
	challenge, ok := p.Challenge(c.ChallengeKey)
	if !ok {
		return nil, fmt.Errorf("case %q names challenge %q, which the pack does not have", c.Key(), c.ChallengeKey)
	}
	var messages []provider.Message
	if s := strings.TrimSpace(d.System); s != "" {
		messages = append(messages, provider.Message{Role: provider.System, Content: s})
	}
	return append(messages, provider.Message{Role: provider.User, Content: c.Render(challenge.Prompt())}), nil
}

// researchMessages is the one question of a responses trial, after what the
// deployment and its output schema say.
func researchMessages(p *pack.Pack, c pack.Case, d Deployment) ([]provider.Message, error) {
	if len(d.OutputSchema) > 0 {
		schema, err := indented(d.OutputSchema)
		if err != nil {
			return nil, fmt.Errorf("write the output schema of %q: %w", d.Name, err)
		}
		d.System = paragraphs(d.System, outputSchema+schema)
	}
	return promptMessages(p, c, d)
}

// paragraphs joins the non-blank texts with a blank line between them.
func paragraphs(texts ...string) string {
	var kept []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n\n")
}

func indented(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return b.String(), nil
}

// endpointMessages are what an endpoint is asked in a native pack: the task.
func endpointMessages(p *pack.Pack, c pack.Case, d Deployment) ([]provider.Message, error) {
	task, err := indented(p.AgentView(c))
	if err != nil {
		return nil, fmt.Errorf("write the task of case %q: %w", c.Key(), err)
	}
	var messages []provider.Message
	if s := strings.TrimSpace(d.System); s != "" {
		messages = append(messages, provider.Message{Role: provider.System, Content: s})
	}
	return append(messages, provider.Message{Role: provider.User, Content: paragraphs(nativeUser, task)}), nil
}

// CommandTask is the task as a program is given it: the pack's allow-list
// projection.
func CommandTask(p *pack.Pack, c pack.Case, d Deployment) (string, error) {
	task, err := indented(p.AgentView(c))
	if err != nil {
		return "", fmt.Errorf("write the task of case %q: %w", c.Key(), err)
	}
	where := "Print your final answer, and nothing else, on standard output."
	if at := d.Command.AnswerFile(); at != "" {
		where = "Write your final answer to the file " + at + "."
	}
	return paragraphs(commandSystem, where, nativeUser, task) + "\n", nil
}
