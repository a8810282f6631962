package main_test

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentclash/agentclash/cmd"
	"github.com/agentclash/agentclash/cmd/cli"
)

// A long examination says on a terminal how far it is, and nowhere else.
func TestPackDoctorSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	for _, terminal := range []bool{true, false} {
		var out, err bytes.Buffer
		var calls atomic.Int64
		p := cli.System()
		p.Out, p.Err, p.ErrTerminal, p.Dir = &out, &err, terminal, t.TempDir()
		home := t.TempDir()
		p.Getenv = func(name string) string { return map[string]string{"AGENTCLASH_HOME": home}[name] }
		start := time.Now()
		p.Now = func() time.Time { return start.Add(time.Duration(calls.Add(1)) * time.Second) } // every look takes a second
		if status := cmd.Main(p, []string{"challenge-pack", "doctor", "builtin:json-extraction"}); status != 0 {
			t.Fatalf("got status %d: %s", status, err.String())
		}
		for _, want := range []string{" of 30 trials of the agents\n", " of 7 validators changed and judged\n"} {
			if got := strings.Contains(err.String(), want); got != terminal {
				t.Errorf("on a terminal %v: got %q on stderr, %q in it is %v", terminal, err.String(), want, got)
			}
		}
	}
}
