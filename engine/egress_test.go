package engine_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/sandboxtest"
)

// networked runs an agent whose programs ask the box's proxy for the address
// that is their argument.
func networked(t *testing.T, boxRules, script string) (*harness, *sandboxtest.MemoryProvider) {
	t.Helper()
	src := strings.Replace(nativePack, "  tool_policy: {allowed_tool_kinds: [file], allow_shell: true}\n", boxRules, 1)
	if src == nativePack {
		t.Fatal("the pack has another shape")
	}
	h := newHarness(parse(t, src), script)
	boxes := sandboxtest.Memory()
	boxes.OnOpen(func(b *sandboxtest.MemoryBox) {
		b.HandleExec(func(_ context.Context, c sandbox.Command) (sandbox.Result, error) {
			conn, err := b.Dial()
			if err != nil {
				return sandboxtest.Exited(1, "", err.Error()), nil
			}
			defer conn.Close()
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", c.Argv[len(c.Argv)-1])
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return sandboxtest.Exited(1, "", err.Error()), nil
			}
			_ = resp.Body.Close()
			return sandboxtest.Exited(0, resp.Status, ""), nil
		})
	})
	boxes.HandleExec(func(context.Context, sandbox.Command) (sandbox.Result, error) {
		return sandboxtest.Exited(0, "", ""), nil
	})
	h.boxes = boxes
	return h, boxes
}

const permitted = `  tool_policy: {allow_shell: true}
  sandbox: {network_access: true, network_allowlist: [127.0.0.0/8]}
`

func TestWhatIsDecidedIsAFact(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	h, _ := networked(t, permitted, `default:
  - tool_calls:
      - {name: exec, arguments: {command: [fetch, "`+s.URL+`/"]}}
      - {name: exec, arguments: {command: [fetch, "http://10.0.0.1/"]}}
      - {name: http_request, arguments: {method: GET, url: "`+s.URL+`/"}}
  - tool_calls: [{name: submit, arguments: {answer: done}}]
`)
	h.run(t)
	var got []string
	for _, e := range h.facts {
		switch e.Type {
		case event.ToolStarted, event.ToolDone, event.ToolFailed:
			v, err := event.Decode[event.Tool](e)
			if err != nil {
				t.Fatal(err)
			}
			line := string(e.Type) + " " + v.ToolName
			if v.Result != nil && strings.Contains(v.Result.Content, "403 Forbidden") {
				line += " 403"
			}
			got = append(got, line)
		case event.EgressDecide:
			v, err := event.Decode[event.Egress](e)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s %s %s %v %s", e.Type, v.Via, v.Host, v.Allowed, v.Reason))
		}
	}
	const started, done, decided = "tool.call.started ", "tool.call.completed ", "network.egress.decided "
	want := []string{
		started + "exec", decided + "proxy 127.0.0.1 true allowlist", done + "exec",
		started + "exec", decided + "proxy 10.0.0.1 false private", done + "exec 403",
		started + "http_request", decided + "http_request 127.0.0.1 true allowlist", done + "http_request",
		started + "submit", done + "submit",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWhoMayUseTheNetwork: the tool policy can permit it to http_request alone,
// and a box that runs no programs is not asked for one.
func TestWhoMayUseTheNetwork(t *testing.T) {
	t.Parallel()
	const submit = `default: [{tool_calls: [{name: submit, arguments: {answer: done}}]}]`
	for rules, want := range map[string]bool{
		permitted:                              true,
		"  tool_policy: {allow_shell: true}\n": false,
		"  tool_policy: {allow_shell: true, allow_network: true}\n":                                     false,
		"  tool_policy: {allowed_tool_kinds: [file, network]}\n  sandbox: {network_access: true}\n":     false,
		"  tool_policy: {allow_shell: true}\n  sandbox: {network_allowlist: [10.0.0.0/8]}\n":            false,
		"  tool_policy: {allow_shell: true, allow_network: false}\n  sandbox: {network_access: true}\n": true,
	} {
		h, boxes := networked(t, rules, submit)
		h.run(t)
		if got := boxes.Boxes()[0].Spec().Network != nil; got != want {
			t.Errorf("%s: programs have a network: got %v, want %v", rules, got, want)
		}
	}
}

// TestADeploymentOverridesThePack: what one may do is no other's.
func TestADeploymentOverridesThePack(t *testing.T) {
	t.Parallel()
	no, yes := false, true
	const submit = `default: [{tool_calls: [{name: submit, arguments: {answer: done}}]}]`
	for _, row := range []struct {
		rules          string
		over           plan.SandboxOverrides
		shell, network bool // exec is shown, and programs have a network
	}{
		{permitted, plan.SandboxOverrides{}, true, true},
		{permitted, plan.SandboxOverrides{AllowNetwork: &no}, true, false},
		{permitted, plan.SandboxOverrides{AllowShell: &no}, false, true},
		{"  tool_policy: {allow_shell: false}\n", plan.SandboxOverrides{AllowShell: &yes, AllowNetwork: &yes}, true, false},
	} {
		h, boxes := networked(t, row.rules, submit)
		h.agents[0].Sandbox = row.over
		seen := &listener{Client: h.clients[0]}
		h.clients = []provider.Client{seen}
		h.run(t)
		shell := slices.ContainsFunc(seen.asked[0].Tools, func(t provider.Tool) bool { return t.Name == "exec" })
		network := boxes.Boxes()[0].Spec().Network != nil
		if shell != row.shell || network != row.network {
			t.Errorf("%+v: shell %v and network %v, want %v and %v", row, shell, network, row.shell, row.network)
		}
	}
}
