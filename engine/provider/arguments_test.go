package provider_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sent, raw, text string
		broken          bool
	}{
		{`{"a":1}`, `{"a":1}`, `{"a":1}`, false},
		{" {\"a\": 1}\n", `{"a": 1}`, `{"a": 1}`, false},
		{"", `{}`, `{}`, false},
		{" \n", `{}`, `{}`, false},
		{`[1]`, `[1]`, `[1]`, false},
		{`null`, `null`, `null`, false},
		{`{"a":`, `"{\"a\":"`, `{"a":`, true},
		{`<tool>`, `"<tool>"`, `<tool>`, true},
		{`"quoted"`, `"\"quoted\""`, `"quoted"`, true},
		{"{\"a\":\xff}", `"{\"a\":` + "\uFFFD" + `}"`, "{\"a\":\uFFFD}", true},
		{strings.Repeat("[", 20000), `"` + strings.Repeat("[", 20000) + `"`, strings.Repeat("[", 20000), true},
	} {
		raw := provider.RawArguments(test.sent)
		if string(raw) != test.raw {
			t.Errorf("%.40q: got %.60s, want %.60s", test.sent, raw, test.raw)
		}
		text, broken := provider.ArgumentText(raw)
		if text != test.text || broken != test.broken {
			t.Errorf("%.40q: got back %.60q (broken: %v), want %.60q (%v)", test.sent, text, broken, test.text, test.broken)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, sent := range []string{`{"a":1}`, `{"a":`, `"x"`, "\x00", "\u2028<>&"} {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		raw := provider.RawArguments(sent)
		if _, err := json.Marshal(provider.ToolCall{Arguments: raw}); err != nil {
			t.Fatalf("%q makes %q, which cannot be stored: %v", sent, raw, err)
		}
		want := strings.ToValidUTF8(strings.TrimSpace(sent), "\uFFFD")
		if want == "" {
			want = "{}"
		}
		if got, _ := provider.ArgumentText(raw); got != want {
			t.Errorf("%q: got back %q", sent, got)
		}
	})
}
