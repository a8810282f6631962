package report_test

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/scoring"
)

// said is the transcript of a run in which a text stands wherever somebody else may
// put one.
func said(t testing.TB, word string, full bool) string {
	t.Helper()
	doc, err := json.Marshal(map[string]string{"x": word})
	if err != nil {
		t.Fatal(err)
	}
	var facts []event.Event
	state := func(kind event.Type, payload any) {
		b, err := event.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, event.Event{Type: kind, Sequence: int64(len(facts) + 1), Payload: b, OccurredAt: time.Unix(int64(len(facts)), 0)})
	}
	state(event.Started, event.TrialStart{})
	state(event.TurnUser, event.UserTurn{PhaseID: word, Actor: word, Content: word})
	state(event.CallStarted, event.Call{ProviderKey: word, Model: word, Messages: []provider.Message{{Role: provider.Role(word), Content: word}}})
	state(event.CallDone, event.CallEnd{ProviderModelID: word, OutputText: word, ToolCalls: []provider.ToolCall{{Name: word, Arguments: doc}}})
	state(event.ToolFailed, event.Tool{ToolName: word, ToolCategory: "primitive", Arguments: doc, Result: &event.ToolResult{Content: word, IsError: true}})
	state(event.TurnAssistant, event.AssistantTurn{PhaseID: word, Content: word})
	state(event.TurnDone, event.TurnEnd{PhaseID: word, Actor: word, Mismatch: true})
	state(event.PromptPut, event.Prompt{Name: word, Text: word})
	state(event.JudgeStarted, event.JudgeCall{JudgeKey: word, Model: word, Prompt: word})
	state(event.JudgeDone, event.JudgeReply{JudgeKey: word, ResponseText: word, Reason: word})
	state(event.FileCaptured, scoring.CapturedFile{Key: word, Path: word, Exists: true, Content: word})
	state(event.CodeExecuted, scoring.CodeRun{ValidatorKey: word, TestCommand: word, Stdout: word, ExitCode: new(1)})
	state(event.OutputFinal, event.Output{FinalOutput: word + "!"})
	state(event.Failed, event.Failure{Error: word})
	page := report.NewTranscript(view.Run{
		RunID: "0195a1b2-0000-7000-8000-00000000f2f2", Name: word, Status: word, Reason: word, Pack: view.Pack{Slug: word}, InputSet: word, Mode: word,
		Agents: view.List[view.RunAgent]{{Label: word, Model: word, Status: word}},
	}, full)
	if !page.Add(view.ReplayDocument{
		RunAgentLabel: word, TrialID: "0195a1b2-0000-7000-8000-00000000e1e1", CaseKey: word, Repetition: 1, Attempt: 1, Outcome: "failed", Code: word, Phase: word,
		Scorecard: &view.Trial{Outcome: "failed", Reason: word, Validators: view.List[view.Validator]{{Key: word, Verdict: word, Reason: word}}},
		Replay:    event.NewReplay(facts),
	}) {
		t.Fatalf("no room for a trial in a page of %d bytes", len(page.String()))
	}
	return page.String()
}

// parsed is a page as a reader of GitHub's Markdown takes it.
func parsed(page string) ast.Node {
	return goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader([]byte(page)))
}

// shape is the blocks and the markup of a page, without its texts.
func shape(page string) (kinds []string) {
	_ = ast.Walk(parsed(page), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Kind() != ast.KindText && n.Kind() != ast.KindString {
			kinds = append(kinds, fmt.Sprintf("%s %d", n.Kind(), depth(n)))
		}
		return ast.WalkContinue, nil
	})
	return kinds
}

func depth(n ast.Node) (d int) {
	for p := n.Parent(); p != nil; p = p.Parent() {
		d++
	}
	return d
}

// active finds what a page may not have: a link, a picture, HTML, a mention, a
// reference, an address, a character that shows nothing or controls.
func active(page string) (found []string) {
	source := []byte(page)
	_ = ast.Walk(parsed(page), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link, *ast.Image, *ast.AutoLink, *ast.RawHTML, *ast.HTMLBlock, *ast.Blockquote, *ast.List, *ast.CodeBlock, *ast.ThematicBreak:
			found = append(found, n.Kind().String())
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if m := references.FindString(html.UnescapeString(string(n.Segment.Value(source)))); m != "" {
				found = append(found, fmt.Sprintf("%q", m))
			}
		}
		return ast.WalkContinue, nil
	})
	for _, r := range page {
		joiner := r == '\u200c' || r == '\u200d' || r == '\u200b' // the last one is the page's own
		if r != '\n' && r != '\t' && !joiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			found = append(found, fmt.Sprintf("%U", r))
		}
	}
	return found
}

// references are what GitHub finds in the text of a page after it was rendered.
var references = regexp.MustCompile(`@[A-Za-z0-9]|#[0-9]|(?i:gh-[0-9])|://|(?i:www\.)`)

// painted is what only paints, and is taken out.
var painted = regexp.MustCompile(`\x1b\[[0-9;]*m`)

var spiteful = []string{
	"plain", hostile, "```\n# out\n```", "````\n</details>\n````", "~~~\nx\n~~~", strings.Repeat("`", 700), "a\n\n    b\n\n- c\n\n> d", "| a | b |\n|---|---|",
	"@team please merge #12 and GH-9, see https://evil.example and WWW.evil.example", "[x]: http://evil.example\n[x]", "![i](//e.example/p.png)",
	"<img src=x onerror=alert(1)>", "<!--", "-->", "&lt;script&gt;", "\\`\\*", "a\r\nb\rc", "\u202egnp.exe", "\x1b]8;;http://evil.example\x07click\x1b]8;;\x07",
	"\u2028```\u2029", "\xff\xfe`", "1. x", "+ x", "===", "---", "\t# tab", "   ", "`", "\\", "x\\", "*", "**", "_a_", "~~s~~", "<a@b.example>", "a@b.example", "xmpp:a@b.example/x",
	"$$x$$", ":tada:", "\u200b@octocat", "[ ] task", "^[note]", "[^1]: note", "é\u0301", "\U000e0041\U000e0042",
}

// TestTranscriptsCannotBeBrokenOutOf holds pages with hostile texts in all places
// against one with plain ones: the same blocks, and nothing that does anything.
func TestTranscriptsCannotBeBrokenOutOf(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		want := shape(said(t, "plain", full))
		if len(want) < 60 {
			t.Fatalf("the page has %d nodes, which cannot be all: %v", len(want), want)
		}
		for _, word := range spiteful {
			wantSafe(t, word, full, want)
		}
	}
}

func FuzzTranscript(f *testing.F) {
	for _, word := range spiteful {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if word == "" || len(word) > 1000 { // there is no block for it, or no room
			return
		}
		for _, full := range []bool{false, true} {
			wantSafe(t, word, full, shape(said(t, "plain", full)))
		}
	})
}

func wantSafe(t *testing.T, word string, full bool, want []string) {
	t.Helper()
	page := said(t, word, full)
	if found := active(page); len(found) > 0 {
		t.Errorf("%q, full %v: the page has %v\n%s", word, full, found, page)
	}
	blank := strings.TrimSpace(painted.ReplaceAllString(word, "")) == "" // a paragraph of it is none
	if got := shape(page); !blank && !slices.Equal(got, want) {
		t.Errorf("%q, full %v: got other blocks\n%v\nwant\n%v\n%s", word, full, got, want, page)
	}
	if !utf8.ValidString(page) {
		t.Errorf("%q: the page is not UTF-8", word)
	}
}

// TestTranscriptsShowWhatWasSaid holds what stands in a block against what was said.
func TestTranscriptsShowWhatWasSaid(t *testing.T) {
	t.Parallel()
	page := said(t, "a ``` b\n\u202etxt \x1b[31mred\x1b[0m \x07 @x", false)
	for _, want := range []string{"````text\na ``` b\n[U+202E]txt red [U+0007] @x\n````\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}
	for _, private := range []string{"It calls", "Arguments", "Result", "Message of", "Prompt:", "```json"} {
		if strings.Contains(page, private) {
			t.Errorf("the page has %q:\n%s", private, page)
		}
		if full := said(t, "x", true); private != "Prompt:" && !strings.Contains(full, private) {
			t.Errorf("the full page lacks %q:\n%s", private, full)
		}
	}
}

// TestTranscriptsAreBounded adds more than there is room for.
func TestTranscriptsAreBounded(t *testing.T) {
	t.Parallel()
	page := report.NewTranscript(view.Run{Name: "n"}, false)
	long := strings.Repeat("0123456789", 1000)
	b, err := event.Marshal(event.CallEnd{OutputText: long})
	if err != nil {
		t.Fatal(err)
	}
	var facts []event.Event
	for i := range 12 {
		facts = append(facts, event.Event{Type: event.CallDone, Sequence: int64(i + 1), Payload: b})
	}
	added := 0
	for page.Add(view.ReplayDocument{TrialID: "t", Replay: event.NewReplay(facts)}) {
		if added++; added > 100 {
			t.Fatal("the page takes everything")
		}
	}
	page.Skip(7)
	got := page.String()
	shown, whole := page.Shown()
	if len(got) > 60_000 || whole || shown != added+1 {
		t.Errorf("got %d bytes, whole %v, %d of %d trials", len(got), whole, shown, added)
	}
	for _, want := range []string{"[... 8000 more bytes are left out]", "more steps of this trial are left out: `agentclash replay get t`", "… 7 more trials are left out"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(got, long) {
		t.Error("a long text is whole")
	}
}
