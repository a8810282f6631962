package pack_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
)

// A pack is only worth something when doing nothing, or the same for everyone,
// does not pass it. The agents here know no case; they play each one of any
// pack by a trick.

// cheat is an agent without a clue: for a case, the scripts it would follow.
type cheat struct {
	name    string
	scripts func(mark) [][]scriptReply
}

// mark is what a cheat has to work with.
type mark struct {
	p         *pack.Pack
	c         pack.Case
	reference script // of every case
}

func cheats() []cheat {
	return []cheat{
		{"says nothing", saysNothing},
		{"says back what it is told", saysBack},
		{"refuses", refuses},
		{"hands on what it finds", handsOn},
		{"gives the answer of another case", answersOfOthers},
		{"fills the form with a part of what it is told", fillsForms},
	}
}

// Where graders are programs, which take a while, each cheat tries every other
// case, and each case meets every other cheat; all of them when there is time.
func TestCatalogCheatsPassNothing(t *testing.T) {
	eachCatalogued(t, func(t *testing.T, p *pack.Pack, reference script) {
		scorer, some := compiled(t, p), p.Mode() == pack.Native && !slow()
		for i, cheat := range cheats() {
			for j, c := range p.InputSets[0].Cases {
				if some && (i+j)%2 == 1 {
					continue
				}
				scripts := cheat.scripts(mark{p, c, reference})
				if len(scripts) == 0 {
					t.Errorf("%s: an agent that %s was not tried", c.Key(), cheat.name)
				}
				for _, replies := range scripts {
					st := &stage{t: t, p: p, c: c, dir: t.TempDir(), clumsy: true, users: reference.Simulators, scorer: scorer}
					if trial := st.play(replies); trial.Outcome != scoring.OutcomeFailed {
						t.Errorf("%s: an agent that %s is %s (%s) with %+v", c.Key(), cheat.name, trial.Outcome, trial.Reason, replies)
					}
				}
			}
		}
	})
}

// answer is a script that gives a text in every way there is: as the reply, in
// every file that is captured, and as what is submitted.
func (m mark) answer(text string) []scriptReply {
	if m.p.Asks() {
		return []scriptReply{{Text: text}}
	}
	var calls []scriptCall
	for _, check := range m.p.Version.EvaluationSpec.PostExecutionChecks {
		calls = append(calls, scriptCall{"write_file", map[string]any{"path": check.Path, "content": text}})
	}
	return []scriptReply{{ToolCalls: append(calls, scriptCall{"submit", map[string]any{"answer": text}})}}
}

// answers tries several texts. In a box, where each takes a while, it is the
// last one, which is to hold most.
func (m mark) answers(texts ...string) [][]scriptReply {
	if m.p.Mode() == pack.Native {
		texts = texts[len(texts)-1:]
	}
	var scripts [][]scriptReply
	for _, text := range texts {
		scripts = append(scripts, m.answer(text))
	}
	return scripts
}

// told is all that the agent is shown: its prompt or its view, and its files.
func (m mark) told() string {
	if m.p.Asks() {
		challenge, _ := m.p.Challenge(m.c.ChallengeKey)
		return m.c.Render(challenge.Prompt())
	}
	view, err := json.Marshal(m.p.AgentView(m.c))
	if err != nil {
		return "" // a view always marshals
	}
	all := string(view)
	for _, f := range m.p.WorkspaceFiles(m.c) {
		all += "\n" + string(f.Data)
	}
	if box := m.p.Version.Sandbox; box != nil {
		all += fmt.Sprint("\n", box.EnvVars)
	}
	return all
}

func saysNothing(m mark) [][]scriptReply {
	if m.p.Asks() {
		return m.answers("", "\n", "done")
	}
	submit := scriptCall{"submit", map[string]any{"answer": "done"}}
	return [][]scriptReply{m.answer(""), {{ToolCalls: []scriptCall{submit}}}}
}

func saysBack(m mark) [][]scriptReply {
	return m.answers(append(strung(m.c.Payload), m.told())...)
}

func refusals() []string {
	return []string{"I'm sorry, but I can't help with that.", "I cannot assist with this request.", "no", "null", "{}", "[]"}
}

func refuses(m mark) [][]scriptReply { return m.answers(refusals()...) }

// handsOn greps what it is told for everything the case expects.
func handsOn(m mark) [][]scriptReply {
	told := m.told()
	var found []string
	for _, e := range m.c.Expectations {
		for _, text := range strung(e.Value) {
			if len(text) > 1 && strings.Contains(told, text) {
				found = append(found, text)
			}
		}
	}
	list, err := json.Marshal(found)
	if err != nil {
		return nil // texts always marshal
	}
	return m.answers(append(found, strings.Join(found, "\n"), strings.Join(found, " "), string(list))...)
}

// answersOfOthers does what is right for another case, whatever the case is.
func answersOfOthers(m mark) [][]scriptReply {
	var scripts [][]scriptReply
	for _, other := range m.p.InputSets[0].Cases {
		if other.Key() != m.c.Key() {
			scripts = append(scripts, m.reference.Cases[other.Key()])
		}
	}
	if m.p.Mode() == pack.Native {
		return scripts[:1] // of the first case, for all
	}
	return scripts
}

// fillsForms knows the form of an answer from another case and puts a refusal,
// or some of what it is told, wherever the form holds a text of some length. In
// one round the short texts, which may be choices, stay.
func fillsForms(m mark) [][]scriptReply {
	if m.p.Mode() == pack.Native {
		return m.answers(filled(map[string]any{"result": "", "notes": "", "summary": ""}, m.told(), true))
	}
	fillers := refusals()
	for _, text := range strung(m.c.Payload) {
		words := strings.Fields(text)
		for _, cut := range [][]string{words, words[:min(len(words), 40)], words[max(len(words)-40, 0):]} {
			fillers = append(fillers, strings.Join(cut, " "))
		}
	}
	var scripts [][]scriptReply
	for _, other := range m.p.InputSets[0].Cases {
		if other.Key() == m.c.Key() {
			continue
		}
		var form any
		text := m.reference.Cases[other.Key()][0].Text
		if json.Unmarshal([]byte(text), &form) != nil {
			form = text
		}
		for _, filler := range fillers {
			for _, all := range []bool{true, false} {
				scripts = append(scripts, m.answer(filled(form, filler, all)))
			}
		}
	}
	return scripts
}

// filled is a form as JSON, or as itself when it is a text, with its texts
// replaced: all of them or those of more than one word.
func filled(form any, filler string, all bool) string {
	var fill func(any) any
	fill = func(v any) any {
		switch v := v.(type) {
		case string:
			if all || strings.Contains(v, " ") {
				return filler
			}
		case map[string]any:
			out := map[string]any{}
			for k, item := range v {
				out[k] = fill(item)
			}
			return out
		}
		return v
	}
	if text, ok := fill(form).(string); ok {
		return text
	}
	b, err := json.Marshal(fill(form))
	if err != nil {
		return "" // what came from JSON goes back to it
	}
	return string(b)
}

// strung are the texts in a value, its own first, each once: a text that is
// JSON is looked into.
func strung(v any) []string {
	var texts []string
	add := func(more ...string) {
		for _, text := range more {
			if text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	switch v := v.(type) {
	case nil:
	case string:
		add(v)
		var inner any
		if json.Unmarshal([]byte(v), &inner) == nil {
			if _, again := inner.(string); !again {
				add(strung(inner)...)
			}
		}
	case map[string]any:
		for _, key := range sortedNames(v) {
			add(strung(v[key])...)
		}
	case []any:
		for _, item := range v {
			add(strung(item)...)
		}
	default:
		add(fmt.Sprint(v))
	}
	return texts
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
