package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

func box(t *testing.T) *sandboxtest.MemoryBox {
	t.Helper()
	boxes := sandboxtest.Memory()
	boxes.HandleExec(func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
		if c.Argv[0] == "false" {
			return sandboxtest.Exited(1, "out", "err"), nil
		}
		return sandboxtest.Exited(0, strings.Join(c.Argv, "|"), ""), nil
	})
	s, err := boxes.Open(t.Context(), sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*sandboxtest.MemoryBox)
}

func call(t *testing.T, s *tool.Set, b sandbox.Session, name, args string) tool.Result {
	t.Helper()
	r, err := s.Call(t.Context(), b, provider.ToolCall{ID: "1", Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func set(t *testing.T, p tool.Policy) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]tool.Policy{
		"list_files read_file submit write_file":      {},
		"exec list_files read_file submit write_file": {AllowShell: true},
		"submit":            {Kinds: []string{"data"}},
		"read_file submit":  {Allowed: []string{"read_file"}},
		"exec submit":       {AllowShell: true, Kinds: []string{"network"}},
		"list_files submit": {Denied: []string{"read_file", "write_file", "submit"}},
		"list_files read_file submit write_file ": {Kinds: []string{"file"}},
	} {
		var names []string
		for _, d := range set(t, p).Definitions() {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); got != strings.TrimSpace(want) {
			t.Errorf("%+v shows %q, want %q", p, got, want)
		}
	}
}

func TestLongFilesAreReadInPieces(t *testing.T) {
	t.Parallel()
	b, s := box(t), set(t, tool.Policy{})
	long := strings.Repeat("0123456789", 20_000)
	if err := b.WriteFile(t.Context(), "long", []byte(long)); err != nil {
		t.Fatal(err)
	}
	var read strings.Builder
	for offset := "0"; ; {
		r := call(t, s, b, "read_file", `{"path":"long","offset":`+offset+`}`)
		var page struct {
			Content    string
			NextOffset json.Number `json:"next_offset"`
			TotalBytes int         `json:"total_bytes"`
		}
		if err := json.Unmarshal([]byte(r.Content), &page); err != nil {
			t.Fatal(err)
		}
		read.WriteString(page.Content)
		if page.NextOffset == "" {
			break
		}
		if len(r.Content) > 70_000 || page.TotalBytes != len(long) {
			t.Fatalf("a page of %d bytes of %d", len(r.Content), page.TotalBytes)
		}
		offset = page.NextOffset.String()
	}
	if read.String() != long {
		t.Errorf("the pieces make %d bytes, want the file's %d", read.Len(), len(long))
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	b, s := box(t), set(t, tool.Policy{AllowShell: true})
	if r := call(t, s, b, "exec", `{"command":["echo","a b",""]}`); r.IsError || !strings.Contains(r.Content, `"stdout":"echo|a b|"`) {
		t.Errorf("got %+v", r)
	}
	if r := call(t, s, b, "exec", `{"command":["false"]}`); !r.IsError || !strings.Contains(r.Content, `"exit_code":1`) || !strings.Contains(r.Content, `"stderr":"err"`) {
		t.Errorf("a failing command: got %+v", r)
	}
	for _, args := range []string{`{"command":"ls"}`, `{"command":[]}`, `{}`, `{"command":["x"],"timeout_seconds":0}`, `[]`, `"x"`} {
		if r := call(t, s, b, "exec", args); !r.IsError || !strings.Contains(r.Content, "do not fit") {
			t.Errorf("%s: got %+v, want a problem with the arguments", args, r)
		}
	}
}

func TestOnlyAGoneBoxIsAnError(t *testing.T) {
	t.Parallel()
	b, s := box(t), set(t, tool.Policy{})
	for _, args := range []string{`{"path":"../../etc/passwd","content":"x"}`, `{"path":"","content":"x"}`} {
		if r := call(t, s, b, "write_file", args); !r.IsError {
			t.Errorf("%s: got %+v, want something the model can read", args, r)
		}
	}
	b.Break(&sandbox.BoxError{Kind: sandbox.Lost, Detail: "gone"})
	_, err := s.Call(t.Context(), b, provider.ToolCall{Name: "list_files", Arguments: json.RawMessage(`{}`)})
	var lost *sandbox.BoxError
	if !errors.As(err, &lost) || lost.Kind != sandbox.Lost {
		t.Errorf("got %v, want the box's error", err)
	}
}
