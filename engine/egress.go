package engine

import (
	"context"
	"maps"
	"net"
	"slices"
	"sync"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/tool"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/egress"
)

// outside gives an attempt its own way to the network, and its own tools.
func (a *attempt) outside() {
	a.vault = nil
	if a.network.Vault {
		a.vault = &vault{decided: a.decided.note}
	}
	policy := a.network.Policy
	tape := a.run.deps.Tape
	if tape != nil && tape.Replays() {
		policy = egress.Policy{}
	}
	a.dialer = egress.New(egress.Options{ // whose policy permits nothing where the pack does not
		Policy: policy, Resolver: a.run.deps.Resolver, Decided: a.decided.note,
	})
	n := tool.Network{Dialer: a.dialer, Secrets: a.run.deps.ToolSecrets, Redact: a.run.redact}
	if tape != nil && a.network.Tools {
		n.Tape = a.tapeHTTP
	}
	a.tools = a.mode.Tools.With(n)
}

// gateway is who answers the programs in the box: the mock vault, a proxy that
// permits something or, where what they try is a fact, one that permits nothing.
func (a *attempt) gateway(s *sandbox.Spec) {
	defer a.programGateway(s)
	switch n := a.network; {
	case n.Vault:
		s.Network, s.NetworkPort = a.vault.serve, vaultPort
		s.Env = vaultVariables(s.Env)
	case n.Programs:
		s.Network = func(ctx context.Context, conn net.Conn) { a.dialer.Serve(ctx, conn) } // there is none before prepare
	case n.Watched:
		refusing := egress.New(egress.Options{Decided: a.decided.note})
		s.Network = refusing.Serve
	}
}

// maxDecisions is how many decisions of one attempt are stated: more than a
// Dialer makes before its own limits, so that no way here is without one.
const maxDecisions = 12_000

// decisions keeps what was decided until the attempt's own goroutine states it.
type decisions struct {
	mu    sync.Mutex
	all   []egress.Decision
	noted int
}

func (d *decisions) note(one egress.Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch d.noted++; {
	case d.noted > maxDecisions:
		return
	case d.noted == maxDecisions:
		one.Allowed, one.Reason = false, egress.TooMany
	}
	d.all = append(d.all, one)
}

func (d *decisions) take() []egress.Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all
	d.all = nil
	return all
}

// stateEgress states what was decided about the network since it was called last,
// as the agent's doing.
func (a *attempt) stateEgress() { a.stateEgressAs(a.log.source) }

func (a *attempt) stateEgressAs(source string) {
	var stated []event.Egress
	for _, d := range a.decided.take() {
		e := event.Egress{Via: d.Via, Host: d.Host, Port: int(d.Port), Path: event.ValidText(d.Path), Allowed: d.Allowed, Reason: string(d.Reason)}
		if d.Address.IsValid() {
			e.Address = d.Address.String()
		}
		stated = append(stated, e)
	}
	for _, e := range a.tapeEgress(stated) {
		a.log.emitAs(source, event.EgressDecide, e)
	}
}

// hidden are the values that appear in no fact.
func (d Deps) hidden() []string {
	return append(slices.Clone(d.Secrets), slices.Sorted(maps.Values(d.ToolSecrets))...)
}
