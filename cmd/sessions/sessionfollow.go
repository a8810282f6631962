package sessions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

type followOptions struct {
	poll, timeout time.Duration
	weight        weightFlag
}

func newSessionFollow(a *cli.App) *cobra.Command {
	o := followOptions{}
	c := &cobra.Command{
		Use: "follow SESSION", Short: "Wait for the runs of a session, and show what it came to",
		Long: `Wait until no run of a session is going on, and show it as eval session get does.
One that has ended is shown at once. How far it is goes to stderr, when it changes.
Giving up after --timeout stops nothing.

Exit status: 0 every run has completed, whatever the scores; 31 one failed, was
cancelled or interrupted; 66 there is no such session; 75 it goes on and --timeout
is over.`,
		Example: "  agentclash eval session follow nightly\n  agentclash eval session follow latest --timeout 2h --json",
		Args:    cli.ExactArgs("SESSION"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.poll <= 0 || o.timeout < 0 {
				return cli.Usage("--poll-interval must be positive and --timeout must not be negative")
			}
			if err := o.weight.check(c); err != nil {
				return err
			}
			return runSessionFollow(c.Context(), a, o, args[0])
		},
	}
	c.Flags().DurationVar(&o.poll, "poll-interval", 5*time.Second, "how often to look")
	c.Flags().DurationVar(&o.timeout, "timeout", 30*time.Minute, "when to give up (0: never)")
	o.weight.add(c)
	return c
}

func runSessionFollow(ctx context.Context, a *cli.App, o followOptions, selector string) error {
	db, s, err := findSession(ctx, a, selector)
	if err != nil {
		return err
	}
	over, err := awaitSession(ctx, a, db, s, o)
	if err != nil {
		return err
	}
	status, err := printSession(ctx, a, db, s, o.weight.value)
	if err != nil {
		return err
	}
	if !over || status != store.Completed {
		return cli.Verdict(cli.StatusRunFailed)
	}
	return nil
}

// awaitSession looks until no run goes on. over is false when one never will end,
// as its process is dead.
func awaitSession(ctx context.Context, a *cli.App, db *store.DB, s store.Session, o followOptions) (over bool, err error) {
	said := ""
	for begun := a.Process.Now(); ; {
		runs, err := db.SessionRuns(ctx, s)
		if err != nil {
			return false, err
		}
		going, dead := 0, ""
		for _, r := range runs {
			switch {
			case r.Active() && a.OwnerLives(r.Owner, r.Heartbeat):
				going++
			case r.Active():
				dead = r.ID
			}
		}
		if going == 0 {
			if dead != "" {
				a.Say("! the process of run %s is gone: agentclash run resume %s runs what is left", cli.Short(dead), cli.Short(dead))
			}
			return dead == "", nil
		}
		line, err := progressOf(ctx, db, s, runs)
		if err != nil {
			return false, err
		}
		if line != said && a.Output == "table" {
			a.Say("%s", line)
			said = line
		}
		if o.timeout > 0 && a.Process.Now().Sub(begun) >= o.timeout {
			return false, (&cli.Failure{Status: cli.StatusTryAgain, Code: "follow_timeout",
				Err: fmt.Errorf("follow session %s: it is not over after %s; it goes on", s.Name, o.timeout)}).
				Hint("agentclash eval session follow %s --timeout 0", cli.Short(s.ID))
		}
		if err := Sleep(ctx, o.poll); err != nil {
			return false, err
		}
	}
}

// Sleep waits; the error is that of ctx when it ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// progressOf is one line on how far a session is.
func progressOf(ctx context.Context, db *store.DB, s store.Session, runs []store.Run) (string, error) {
	statuses, done, all := map[string]int{}, 0, 0
	for _, r := range runs {
		statuses[r.Status]++
		all += r.Trials
		agents, err := db.RunAgents(ctx, r.ID)
		if err != nil {
			return "", err
		}
		for _, agent := range agents {
			tally, err := db.Tally(ctx, agent.ID)
			if err != nil {
				return "", err
			}
			done += tally[store.Passed] + tally[store.Failed] + tally[store.Invalid]
		}
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		parts = append(parts, fmt.Sprintf("%d %s", statuses[status], status))
	}
	return fmt.Sprintf("session %s: runs %s; %d of %d trials have ended", s.Name, strings.Join(parts, ", "), done, all), nil
}
