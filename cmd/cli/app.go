package cli

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

// App is one run of the program: its process, its global flags and what it has
// opened so far.
type App struct {
	Process        *Process
	AsJSON         bool
	Output         string
	Query          string
	Quiet          bool
	NoColor        bool
	NonInteractive bool
	Workspace      string
	ReportOut      bool // a report goes to stdout, in place of what is printed there

	Opened     resources
	Settings   *config.Inputs             // once they have been read
	settingsOf string                     // the working directory they are of
	Live       atomic.Pointer[tui.Screen] // shown now; lines of talk would tear it
	Repo       *DeploymentsFile           // once it was read
}

// together is how close to the first signal another one is the same: who ends a
// process often signals its group, too, as timeout(1) does.
const together = time.Second

// Interruptible ends the context at the first Ctrl-C and the process at the
// second.
func (a *App) Interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals, stop := a.Process.Signals()
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-signals:
			cancel(engine.ErrInterrupted)
		case <-ctx.Done():
			return
		}
		for first := a.Process.Now(); ; {
			select {
			case <-signals:
				if a.Process.Now().Sub(first) >= together {
					if s := a.Live.Load(); s != nil {
						s.Leave() // the terminal is the person's again
					}
					a.Process.Exit(StatusInterrupted)
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

// Structured says whether errors are for machines. It must work even when the
// flags did not parse.
func (a *App) Structured(args []string) bool {
	if a.AsJSON || a.Output == "json" {
		return true
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--json" || arg == "--json=true" || arg == "--output=json" || arg == "-o=json" || arg == "-ojson" {
			return true
		}
		if arg == "--json=false" || arg == "-o" || strings.HasPrefix(arg, "-o") || strings.HasPrefix(arg, "--output") {
			return false
		}
	}
	return a.usuallyJSON()
}

// CheckGlobals refuses global flags that contradict one another, before any work.
func (a *App) CheckGlobals(c *cobra.Command) error {
	if err := a.settleOutput(c); err != nil {
		return err
	}
	if a.Query == "" {
		return nil
	}
	if a.Output != "json" {
		return Usage("--query needs JSON output").Hint("add --json")
	}
	_, err := parseQuery(a.Query)
	return err
}

// Interactive says whether a person can be asked.
func (a *App) Interactive() bool {
	if a.NonInteractive || a.Output != "table" || truthy(a.Process.Getenv("AGENTCLASH_NONINTERACTIVE")) || truthy(a.Process.Getenv("CI")) {
		return false
	}
	_, _, ok := a.Process.Terminal()
	return ok && a.Process.Getenv("TERM") != "dumb"
}

// truthy reads a switch in the environment.
func truthy(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

// Color says whether human output may be coloured.
func (a *App) Color() bool {
	_, _, ok := a.Process.Terminal()
	return ok && !a.NoColor && a.Process.Getenv("TERM") != "dumb" && !truthy(a.Process.Getenv("CI"))
}
