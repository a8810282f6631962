package cmd

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/tui"
	"github.com/agentclash/agentclash/engine"
	"github.com/spf13/cobra"
)

// app is one run of the program: its process, its global flags and what it has
// opened so far.
type app struct {
	p              *Process
	asJSON         bool
	output         string
	query          string
	quiet          bool
	noColor        bool
	nonInteractive bool
	workspace      string
	reportOut      bool // a report goes to stdout, in place of what is printed there

	opened     resources
	settings   *config.Inputs             // once they have been read
	settingsOf string                     // the working directory they are of
	live       atomic.Pointer[tui.Screen] // shown now; lines of talk would tear it
	repo       *deploymentsFile           // once it was read
}

// together is how close to the first signal another one is the same: who ends a
// process often signals its group, too, as timeout(1) does.
const together = time.Second

// interruptible ends the context at the first Ctrl-C and the process at the
// second.
func (a *app) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, stop := a.p.Signals()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-signals:
			cancel(engine.ErrInterrupted)
		case <-ctx.Done():
			return
		}
		for first := a.p.Now(); ; {
			select {
			case <-signals:
				if a.p.Now().Sub(first) >= together {
					if s := a.live.Load(); s != nil {
						s.Leave() // the terminal is the person's again
					}
					a.p.Exit(statusInterrupted)
					return
				}
			case <-a.finished():
				return
			}
		}
	}()
	return ctx, func() {
		a.finish()
		stop()
		cancel(nil)
		<-done
	}
}

// structured says whether errors are for machines. It must work even when the
// flags did not parse.
func (a *app) structured(args []string) bool {
	if a.asJSON || a.output == "json" {
		return true
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--json" || arg == "--json=true" || arg == "--output=json" || arg == "-o=json" || arg == "-ojson" {
			return true
		}
		if arg == "-o" || strings.HasPrefix(arg, "-o") || strings.HasPrefix(arg, "--output") {
			return false
		}
	}
	return a.usuallyJSON()
}

func (a *app) checkGlobals(c *cobra.Command) error {
	if err := a.settleOutput(c); err != nil {
		return err
	}
	if a.query == "" {
		return nil
	}
	if a.output != "json" {
		return usage("--query needs JSON output").hint("add --json")
	}
	_, err := parseQuery(a.query)
	return err
}

// interactive says whether a person can be asked.
func (a *app) interactive() bool {
	if a.nonInteractive || a.output != "table" || truthy(a.p.Getenv("AGENTCLASH_NONINTERACTIVE")) || truthy(a.p.Getenv("CI")) {
		return false
	}
	_, _, ok := a.p.Terminal()
	return ok && a.p.Getenv("TERM") != "dumb"
}

// truthy reads a switch in the environment.
func truthy(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// color says whether human output may be coloured.
func (a *app) color() bool {
	_, _, ok := a.p.Terminal()
	return ok && !a.noColor && a.p.Getenv("TERM") != "dumb" && !truthy(a.p.Getenv("CI"))
}
