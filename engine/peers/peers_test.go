package peers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentclash/agentclash/engine/peers"
)

// told goes through the steps of lane 0; others says how its peers stand at one.
func told(gap, steps int, others func(step int) []peers.Standing) string {
	w := peers.Watch{Gap: gap}
	var got []string
	for step := 1; step <= steps; step++ {
		all := append([]peers.Standing{{Lane: 0, State: peers.Running, Step: step}}, others(step)...)
		if by, ok := w.Look(step, 0, all); ok {
			got = append(got, fmt.Sprintf("%d:%s", step, by))
		}
	}
	return strings.Join(got, " ")
}

func TestLook(t *testing.T) {
	from := func(lane, step, at int, s peers.State) peers.Standing {
		if step < at {
			s = peers.Running
		}
		return peers.Standing{Lane: lane, State: s}
	}
	for _, c := range []struct {
		name   string
		gap    int
		steps  int
		others func(int) []peers.Standing
		want   string
	}{
		{"news come at once", 3, 12, func(step int) []peers.Standing {
			return []peers.Standing{from(1, step, 5, peers.Submitted), from(2, step, 9, peers.Failed)}
		}, "3:cadence 5:peer_submitted 8:cadence 9:peer_failed 12:cadence"},
		{"no news", 5, 13, func(int) []peers.Standing { return []peers.Standing{{Lane: 1, State: peers.Running}} }, "3:cadence 8:cadence 13:cadence"},
		{"what is old when it is first seen is no news", 3, 4, func(int) []peers.Standing { return []peers.Standing{{Lane: 1, State: peers.Submitted}} }, "3:cadence"},
		{"a peer that begins is no news", 10, 9, func(step int) []peers.Standing {
			if step < 5 {
				return []peers.Standing{{Lane: 1, State: peers.NotStarted}}
			}
			return []peers.Standing{from(1, step, 7, peers.TimedOut)}
		}, "3:cadence 7:peer_timed_out"},
		{"every step", 1, 6, func(int) []peers.Standing { return []peers.Standing{{Lane: 1}} }, "3:cadence 4:cadence 5:cadence 6:cadence"},
		{"alone", 1, 6, func(int) []peers.Standing { return nil }, ""},
	} {
		if got := told(c.gap, c.steps, c.others); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	got := peers.Text(4, 1, []peers.Standing{
		{Lane: 0, Name: "slow", State: peers.Running, Step: 2, ToolCalls: 1, Tokens: 900},
		{Lane: 1, Name: "me", State: peers.Running, Step: 4, ToolCalls: 3, Tokens: 1200},
		{Lane: 2, Name: "late", State: peers.Submitted, Step: 9, Took: 125 * time.Second},
		{Lane: 3, Name: "quick", State: peers.Submitted, Step: 3, Took: 7 * time.Second},
		{Lane: 4, Name: "unknown", State: peers.Submitted},
		{Lane: 5, Name: "broken", State: peers.Failed, Step: 3},
		{Lane: 6, Name: "dead", State: peers.TimedOut, Step: 8},
		{Lane: 7, Name: "idle", State: peers.NotStarted},
	})
	want := `[RACE UPDATE · your step 4]
3 running, 3 submitted
- quick — submitted at step 3 (0m07s), being verified
- late — submitted at step 9 (2m05s), being verified
- unknown — submitted (—), being verified
- dead — TIMED OUT at step 8
- you (me) — 4 steps, 3 tool calls, 1200 tokens
- broken — FAILED at step 3
- slow — 2 steps, 1 tool calls, 900 tokens
- idle — not started`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := peers.Tokens("12345"); n != 2 {
		t.Errorf("5 bytes are %d tokens, want 2", n)
	}
}

func TestNames(t *testing.T) {
	if diff := cmp.Diff([]string{"a #1", "b", "a #2"}, peers.Names([]string{"a", "b", "a"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
