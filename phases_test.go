package main_test

import (
	"slices"
	"testing"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/sandbox/egress"
)

// TestReplaysKnowEveryPhase holds the phases that a replay reads from what a request
// said against those in which the dialer lets one fail.
func TestReplaysKnowEveryPhase(t *testing.T) {
	t.Parallel()
	want := []egress.Phase{
		egress.PhaseRequest, egress.PhasePolicy, egress.PhaseDNS, egress.PhaseConnect, egress.PhaseTLS,
		egress.PhaseTimeout, egress.PhaseRedirect, egress.PhaseResponse, egress.PhaseBody,
	}
	var got []egress.Phase
	for _, p := range event.HTTPPhases() {
		got = append(got, egress.Phase(p))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
