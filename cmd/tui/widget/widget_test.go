package widget_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
)

// fact is a fact of a trial.
func fact(kind event.Type, payload any) event.Event {
	raw, err := event.Marshal(payload)
	if err != nil {
		panic(err)
	}
	return event.Event{Type: kind, TrialID: "t", Attempt: 1, Payload: raw}
}

func text(s string) event.Event { return fact(event.OutputDelta, event.TextDelta{TextDelta: s}) }

func entries(facts ...event.Event) []widget.Entry {
	var t widget.Tail
	for _, f := range facts {
		t.Apply(f)
	}
	return t.Entries()
}

func TestTailIsWhatWasSaidAndDone(t *testing.T) {
	t.Parallel()
	ask := fact(event.CallStarted, event.Call{Messages: []provider.Message{
		{Role: "system", Content: "Be brief."}, {Role: "user", Content: "Why?"}, {Role: "assistant", Content: "said before"}, {Role: "tool", Content: "told before"}}})
	got := entries(
		fact(event.TurnUser, event.UserTurn{Content: "Why?"}), ask,
		text("Be"), text("cause"), fact(event.CallDone, event.CallEnd{OutputText: "Because."}),
		fact(event.ToolStarted, event.Tool{ToolName: "exec", Arguments: json.RawMessage(`{"command":["ls"],"script":"a\nb\n","n":1}`)}),
		fact(event.ToolFailed, event.Tool{ToolName: "exec", DurationMS: 12, Result: &event.ToolResult{Content: "no", IsError: true}}),
		fact(event.StepDone, event.Step{}),
		fact(event.TurnUser, event.UserTurn{Content: "Why?"}), text("I said"), fact(event.CallFailed, event.CallError{Code: "timeout"}), text("so"),
	)
	want := []widget.Entry{
		{Kind: widget.User, Head: "user", Text: "Why?"}, {Kind: widget.System, Head: "system", Text: "Be brief."},
		{Kind: widget.Model, Text: "Because."},
		{Kind: widget.Call, Head: "exec", Text: "command: [\"ls\"]\nscript: \na\nb\nn: 1"},
		{Kind: widget.Broken, Head: "exec, 12ms", Text: "no"},
		{Kind: widget.User, Head: "user", Text: "Why?"}, {Kind: widget.Model, Text: "I said"},
		{Kind: widget.Trouble, Head: "call failed: timeout"}, {Kind: widget.Model, Text: "so"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(widget.Entry{}, "ID", "Rev")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// However much is said, whether anybody looks or not, little is kept, and of what
// is written the end.
func TestTailIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60_000)
	for name, look := range map[string]bool{"looked at": true, "never looked at": false} {
		var tail widget.Tail
		for i := range 30 {
			tail.Apply(fact(event.ToolStarted, event.Tool{ToolName: long, Arguments: json.RawMessage(`{"a":"` + long + `"}`)}))
			tail.Apply(fact(event.ToolDone, event.Tool{ToolName: "t", Result: &event.ToolResult{Content: long}}))
			tail.Apply(fact(event.CallDone, event.CallEnd{OutputText: long}))
			for range 300 {
				tail.Apply(text(fmt.Sprint(i, " of what is written;")))
			}
			if look {
				_ = tail.Entries()
			}
		}
		kept := tail.Entries()
		total := 0
		for _, e := range kept {
			total += len(e.Head) + len(e.Text)
		}
		if total > 64<<10 || len(kept) == 0 || tail.Dropped() == 0 {
			t.Errorf("%s: %d bytes in %d entries are kept, %d dropped", name, total, len(kept), tail.Dropped())
		}
		if last := kept[len(kept)-1].Text; !strings.HasSuffix(last, "29 of what is written;") {
			t.Errorf("%s: the end of what was written is lost: %q", name, last[max(0, len(last)-50):])
		}
	}
}

func TestTailIsNotUpsetByDamage(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"", "null", "7", `{"messages":7}`, `{"arguments":[`, `{"result":null}`, `{"tool_calls":{}}`} {
		for _, kind := range []event.Type{event.CallStarted, event.CallDone, event.ToolStarted, event.ToolDone, event.OutputDelta, event.TurnUser,
			event.TurnAssistant, event.TrialDone, event.JudgeDone, event.Failed} {
			_ = entries(event.Event{Type: kind, Payload: json.RawMessage(payload)})
		}
	}
	for raw, want := range map[string]string{`[1]`: "[1]", `"x`: `"x`, `{}`: "", `{"a":{"b":[1]}}`: `a: {"b":[1]}`, `{"a":1,`: `{"a":1,`} {
		e := event.Event{Type: event.ToolStarted, Payload: json.RawMessage(`{"tool_name":"t","arguments":` + raw + `}`)}
		if got := entries(e); json.Valid([]byte(raw)) && (len(got) != 1 || got[0].Text != want) {
			t.Errorf("arguments %s: got %v, want %q", raw, got, want)
		}
	}
}

func TestTranscriptFollowsItsEndUntilScrolled(t *testing.T) {
	t.Parallel()
	var list []widget.Entry
	for i := range 20 {
		list = append(list, widget.Entry{ID: i, Kind: widget.Call, Head: fmt.Sprint("call ", i), Text: "a text that is wider than the pane"})
	}
	var tr widget.Transcript
	tr.Lay(list[:10], 0, 20, false)
	last := func() string { w := tr.Window(5); return w[len(w)-1] }
	tr.Lay(list, 0, 20, false)
	if got := tr.Window(5); !strings.Contains(strings.Join(got, "\n"), "call 19") {
		t.Errorf("the end is not followed: %q", got)
	}
	tr.Scroll(-10, 5)
	before := tr.Window(5)
	list = append(list, widget.Entry{ID: 20, Kind: widget.Model, Text: "more"})
	tr.Lay(list[2:], 2, 20, false) // the first are dropped, one is new
	if diff := cmp.Diff(before, tr.Window(5)); diff != "" {
		t.Errorf("what is read has moved (-before +after):\n%s", diff)
	}
	if tr.Below(5) == 0 {
		t.Error("nothing is said to be below")
	}
	tr.Scroll(1000, 5)
	list[20].Text, list[20].Rev = "more and more", 1
	tr.Lay(list[2:], 2, 20, false)
	if got := last(); got != "" || tr.Window(5)[3] != "more and more" || tr.Below(5) != 0 {
		t.Errorf("the end is not followed again: %q", tr.Window(5))
	}
	tr.Lay(list, 2, 10, false) // another width
	for _, line := range tr.Window(100) {
		if w := view.Width(line); w > 10 && !strings.HasPrefix(line, "…") {
			t.Errorf("line of %d cells: %q", w, line)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	item := widget.NewItem("Case-1#2", "GPT", "failed", "no_submit", "agent", "0195A000-0000-7000-8003-00000a000001")
	for filter, want := range map[string]bool{
		"": true, "  ": true, "case-1": true, "CASE gpt": true, "case gemini": false, "outcome:fail": true, "agent:case": false,
		"case:1#2 agent:gpt": true, "no_submit": true, "outcome:no_submit": false, "http://x": false,
		"agent:=gpt": true, "agent:=gp": false, "AGENT:=GPT": true, "agent:=": true, "=gpt": false, "outcome:=failed": true, "outcome:=fail": false,
		"case:=case-1": true, "case:=case-1#2": true, "case:=case": false, "code:submit": true, "code:agent": false, "code:=no_submit": true,
		"phase:=agent": true, "phase:submit": false, "id:a000001": true, "03-00000a000001": true, "00001": false, "id:00001": false, "name:x": false,
		"id:=0195a000-0000-7000-8003-00000a000001": true, "id:=a000001": false,
	} {
		if got := widget.ParseFilter(filter).Match(item); got != want {
			t.Errorf("%q: got %v, want %v", filter, got, want)
		}
	}
}

func TestListKeepsItsCursorInSight(t *testing.T) {
	t.Parallel()
	var l widget.List
	for _, step := range []struct{ by, cursor, top int }{{3, 3, 0}, {4, 7, 3}, {-1, 6, 3}, {-4, 2, 2}, {100, 9, 5}, {-100, 0, 0}} {
		l = l.Move(step.by, 10, 5)
		if want := (widget.List{Cursor: step.cursor, Top: step.top}); l != want {
			t.Errorf("by %d: got %+v, want %+v", step.by, l, want)
		}
	}
	if got, want := (widget.List{Cursor: 4, Top: 2}).Follow(14), (widget.List{Cursor: 14, Top: 12}); got != want {
		t.Errorf("got %+v, want %+v: the line at which the entry stands", got, want)
	}
	if got := (widget.List{Cursor: 9, Top: 9}).Keep(0, 0); got != (widget.List{}) {
		t.Errorf("an empty list: got %+v", got)
	}
}

func TestHelpFitsWhereItIsPut(t *testing.T) {
	t.Parallel()
	keys := []widget.Key{{"a", "does one thing"}, {"b", "does another thing, which takes more words to say"}, {"ctrl+c", "数数数"}}
	for width := range 100 {
		for height := range 8 {
			lines := widget.Help(keys, []string{"text"}, width, height, true)
			if len(lines) > height {
				t.Fatalf("%dx%d: %d lines", width, height, len(lines))
			}
		}
	}
	if got := strings.Join(widget.Help(keys, []string{"text"}, 80, 9, false), "\n"); !strings.Contains(got, "text") || strings.Count(got, "\n") != 3 {
		t.Errorf("got\n%s", got)
	}
}
