package widget

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
)

// tellers say of each kind of fact that has a place in a transcript what its
// entries are.
var tellers = map[event.Type]func(*Tail, event.Event){
	event.TrialQueued:   (*Tail).queued,
	event.CallStarted:   (*Tail).asked,
	event.CallDone:      (*Tail).answered,
	event.TurnUser:      (*Tail).userTurn,
	event.TurnAssistant: (*Tail).assistantTurn,
	event.ToolStarted:   (*Tail).toolCall,
	event.ToolDone:      (*Tail).toolResult,
	event.ToolFailed:    (*Tail).toolResult,
	event.CallFailed:    trouble("call failed"),
	event.CallRetried:   trouble("waits to call again"),
	event.CallRefused:   trouble("call refused"),
	event.SandboxLost:   trouble("sandbox lost"),
	event.BudgetReach:   trouble("limit reached"),
	event.Failed:        trouble("stopped"),
	event.ToolDrift:     trouble("tool drift"),
	event.ScoringFail:   trouble("scoring failed"),
	event.CommandStart:  note("program"),
	event.CommandDone:   note("program ended"),
	event.CommandFail:   trouble("program failed"),
	event.EgressDecide:  note("network"),
	event.PromptPut:     note("adversarial prompt"),
	event.TurnAwaiting:  note("waits for a person"),
	event.TurnExpired:   trouble("nobody answered"),
	event.Completed:     note("agent is done"),
	event.FileCaptured:  note("file"),
	event.DirListed:     note("directory"),
	event.CodeExecuted:  note("test"),
	event.JudgeDone:     note("judge"),
	event.TrialDone:     note("trial"),
}

func trouble(what string) func(*Tail, event.Event) { return saying(Trouble, what) }
func note(what string) func(*Tail, event.Event)    { return saying(Note, what) }

// saying is a fact on a line of its own.
func saying(kind Kind, what string) func(*Tail, event.Event) {
	return func(t *Tail, e event.Event) {
		head := what
		if text := view.Describe(e); text != "" {
			head += ": " + text
		}
		t.add(kind, head, "")
	}
}

func (t *Tail) queued(e event.Event) {
	if e.Attempt > 1 {
		t.add(Note, "attempt "+strconv.Itoa(e.Attempt), "")
	}
}

// asked has what the model is told that nobody has told it yet: answers of its
// own and of tools stand in the transcript already.
func (t *Tail) asked(e event.Event) {
	v, err := event.Decode[event.Call](e)
	if err != nil {
		return
	}
	t.open = false
	for _, m := range v.Messages {
		switch m.Role {
		case "system":
			t.add(System, "system", m.Content)
		case "user":
			t.user(m.Content)
		}
	}
}

// user has a message once, whether the conversation or the call tells of it.
func (t *Tail) user(text string) {
	if last := t.last(User); last != nil && last.Text == event.Clip(text, maxEntry) {
		if said := t.last(Model); said == nil || said.ID < last.ID {
			return
		}
	}
	t.add(User, "user", text)
}

func (t *Tail) userTurn(e event.Event) {
	if v, err := event.Decode[event.UserTurn](e); err == nil {
		t.user(v.Content)
	}
}

func (t *Tail) answered(e event.Event) {
	if v, err := event.Decode[event.CallEnd](e); err == nil {
		t.spoke(v.OutputText)
	}
}

// assistantTurn is of agents that are no model, and say no more than this.
func (t *Tail) assistantTurn(e event.Event) {
	v, err := event.Decode[event.AssistantTurn](e)
	if err != nil {
		return
	}
	if last := t.last(Model); last == nil || last.Text != event.Clip(v.Content, maxEntry) {
		t.spoke(v.Content)
	}
}

func (t *Tail) toolCall(e event.Event) {
	if v, err := event.Decode[event.Tool](e); err == nil {
		t.add(Call, v.ToolName, arguments(v.Arguments))
	}
}

func (t *Tail) toolResult(e event.Event) {
	v, err := event.Decode[event.Tool](e)
	if err != nil {
		return
	}
	head, kind, text := v.ToolName+", "+view.Duration(time.Duration(v.DurationMS)*time.Millisecond), Result, ""
	if v.Result != nil {
		text = v.Result.Content
	}
	if e.Type == event.ToolFailed || v.Result != nil && v.Result.IsError {
		kind = Broken
	}
	if v.Limit != "" {
		head += ", limit reached: " + v.Limit
	}
	t.add(kind, head, text)
}

// arguments writes a JSON object as one line for each key, texts as they are, so
// that a file that is written can be read. Anything else stays JSON.
func arguments(raw json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return string(raw)
	}
	var b strings.Builder
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return string(raw)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return string(raw)
		}
		text := string(value)
		var s string
		if json.Unmarshal(value, &s) == nil {
			text = s
		}
		if strings.Contains(text, "\n") {
			text = "\n" + text
		}
		name, _ := key.(string) // a key is a text
		b.WriteString(name + ": " + strings.TrimSuffix(text, "\n") + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
