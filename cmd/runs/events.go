package runs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/sessions"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

type eventsOptions struct {
	filter []string
	since  string
	follow bool
}

// NewRunEvents is agentclash run events: a run's facts, also while they happen.
func NewRunEvents(a *cli.App) *cobra.Command {
	var o eventsOptions
	c := &cobra.Command{
		Use: "events [RUN]", Short: "Print the facts of a run, in the order they happened",
		Long: `Print the facts of a run, the newest by default, in the order they happened, one
a line; with --json as NDJSON. With --follow, those to come as well, until the
run ends: also from another process than the one that runs it. Patterns given
with --filter are names or globs such as 'tool.*'. --since goes on after a fact.

Exit status: 0 what there is was printed; with --follow, 0 the run has completed,
whatever the scores, and 31 it failed, was cancelled or interrupted; 66 there is
no such run or fact; 130 interrupted, which stops nothing but this command.`,
		Example: `  agentclash run events latest
  agentclash run events latest --filter 'model.*,tool.*' --json
  agentclash run events latest --follow`,
		Args: cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(a); err != nil {
				return err
			}
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error { return showEvents(c.Context(), a, db, r, o) })
		},
	}
	c.Flags().StringSliceVar(&o.filter, "filter", nil, "event types or globs; repeatable, or with commas")
	c.Flags().StringVar(&o.since, "since", "", "go on after this event, by its event_id")
	c.Flags().BoolVar(&o.follow, "follow", false, "go on until the run ends")
	c.AddCommand(newRunEventsExport(a))
	return c
}

func (o eventsOptions) check(a *cli.App) error {
	for _, f := range o.filter {
		if _, err := path.Match(f, ""); err != nil || f == "" {
			return cli.Usage("--filter %q is no name or glob", f)
		}
	}
	if a.Output == "yaml" {
		return cli.Usage("events are lines, or NDJSON, and not YAML").Hint("add --json")
	}
	return nil
}

// showEvents prints what is stored of a run and, when it is followed, what comes.
func showEvents(ctx context.Context, a *cli.App, db *store.DB, r store.Run, o eventsOptions) (err error) {
	f := store.EventFilter{RunID: r.ID, Types: o.filter}
	if o.since != "" {
		f.After, err = db.Cursor(ctx, r.ID, o.since)
		if errors.Is(err, store.ErrNotFound) {
			return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("run %s has no event %q", r.Name, o.since)}).
				Hint("agentclash run events %s --json --query .event_id", cli.Short(r.ID))
		}
		if err != nil {
			return err
		}
	}
	// Lines are written many at a time, and always before this waits or ends.
	out := bufio.NewWriterSize(a.Process.Out, 64<<10)
	defer func() { err = errors.Join(err, out.Flush()) }()
	sink, err := eventSink(ctx, a, db, r, out)
	if err != nil {
		return err
	}
	shown := 0
	show := func(_ int64, e event.Event) error {
		shown++
		return sink.Emit(ctx, e)
	}
	if o.follow {
		return followEvents(ctx, a, db, f, show, out.Flush)
	}
	if err := db.Events(ctx, f, show); err != nil {
		return err
	}
	switch {
	case shown == 0 && len(o.filter)+len(o.since) > 0:
		a.Say("! no such event in run %s", r.Name)
	case r.Active():
		a.Say("note: the run is %s; --follow shows what is to come", r.Status)
	}
	return nil
}

// eventSink writes events as it was asked for.
func eventSink(ctx context.Context, a *cli.App, db *store.DB, r store.Run, w io.Writer) (event.Sink, error) {
	if a.Output == "json" {
		out, err := a.StreamTo(w)
		return view.EventsJSON(out), err
	}
	agents, err := db.RunAgents(ctx, r.ID)
	known := make([]event.AgentRef, len(agents))
	for i, agent := range agents {
		known[i] = event.AgentRef{ID: agent.ID, Label: agent.Label}
	}
	return view.Events(w, a.ViewOptions(), known...), err
}

// eventsPoll is how often a run that is followed is looked at.
const eventsPoll = 200 * time.Millisecond

// followEvents hands on what is stored of a run until the run has ended. The status
// is read before the events: of a run that had ended by then, all have been read.
func followEvents(ctx context.Context, a *cli.App, db *store.DB, f store.EventFilter, show func(int64, event.Event) error, flush func() error) error {
	for {
		r, err := db.Run(ctx, "", f.RunID)
		if err != nil {
			return err
		}
		end, err := db.EventsEnd(ctx, r.ID)
		if err != nil {
			return err
		}
		err = db.Events(ctx, f, func(cursor int64, e event.Event) error {
			f.After = cursor
			return show(cursor, e)
		})
		if err := errors.Join(err, flush()); err != nil {
			return err
		}
		f.After = max(f.After, end) // what the filter leaves out is looked at once
		switch {
		case !r.Active():
			return sayEnded(a, r)
		case !a.OwnerLives(r.Owner, r.Heartbeat):
			a.Say("! the process of the run is gone: agentclash run resume %s runs what is left", cli.Short(r.ID))
			return cli.Verdict(cli.StatusRunFailed)
		}
		if err := sessions.Sleep(ctx, eventsPoll); err != nil {
			return err
		}
	}
}

// sayEnded says how a run that was followed has ended.
func sayEnded(a *cli.App, r store.Run) error {
	if r.Status == store.Completed {
		a.Say("run %s is completed", r.Name)
		return nil
	}
	said := fmt.Sprintf("! run %s is %s", r.Name, r.Status)
	if r.Reason != "" {
		said += ": " + r.Reason
	}
	a.Say("%s", said)
	return cli.Verdict(cli.StatusRunFailed)
}
