package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/store"
)

type eventsOptions struct {
	filter []string
	since  string
	follow bool
}

func newRunEvents(a *app) *cobra.Command {
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
		Args: upTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(a); err != nil {
				return err
			}
			return a.withRun(c.Context(), args, func(db *store.DB, r store.Run) error { return a.showEvents(c.Context(), db, r, o) })
		},
	}
	c.Flags().StringSliceVar(&o.filter, "filter", nil, "event types or globs; repeatable, or with commas")
	c.Flags().StringVar(&o.since, "since", "", "go on after this event, by its event_id")
	c.Flags().BoolVar(&o.follow, "follow", false, "go on until the run ends")
	c.AddCommand(newRunEventsExport(a))
	return c
}

func (o eventsOptions) check(a *app) error {
	for _, f := range o.filter {
		if _, err := path.Match(f, ""); err != nil || f == "" {
			return usage("--filter %q is no name or glob", f)
		}
	}
	if a.output == "yaml" {
		return usage("events are lines, or NDJSON, and not YAML").hint("add --json")
	}
	return nil
}

// showEvents prints what is stored of a run and, when it is followed, what comes.
func (a *app) showEvents(ctx context.Context, db *store.DB, r store.Run, o eventsOptions) (err error) {
	f := store.EventFilter{RunID: r.ID, Types: o.filter}
	if o.since != "" {
		f.After, err = db.Cursor(ctx, r.ID, o.since)
		if errors.Is(err, store.ErrNotFound) {
			return (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("run %s has no event %q", r.Name, o.since)}).
				hint("agentclash run events %s --json --query .event_id", short(r.ID))
		}
		if err != nil {
			return err
		}
	}
	// Lines are written many at a time, and always before this waits or ends.
	out := bufio.NewWriterSize(a.p.Out, 64<<10)
	defer func() { err = errors.Join(err, out.Flush()) }()
	sink, err := a.eventSink(ctx, db, r, out)
	if err != nil {
		return err
	}
	shown := 0
	show := func(_ int64, e event.Event) error {
		shown++
		return sink.Emit(ctx, e)
	}
	if o.follow {
		return a.followEvents(ctx, db, f, show, out.Flush)
	}
	if err := db.Events(ctx, f, show); err != nil {
		return err
	}
	switch {
	case shown == 0 && len(o.filter)+len(o.since) > 0:
		a.say("! no such event in run %s", r.Name)
	case r.Active():
		a.say("note: the run is %s; --follow shows what is to come", r.Status)
	}
	return nil
}

// eventSink writes events as it was asked for.
func (a *app) eventSink(ctx context.Context, db *store.DB, r store.Run, w io.Writer) (event.Sink, error) {
	if a.output == "json" {
		out, err := a.streamTo(w)
		return view.EventsJSON(out), err
	}
	agents, err := db.RunAgents(ctx, r.ID)
	known := make([]event.AgentRef, len(agents))
	for i, agent := range agents {
		known[i] = event.AgentRef{ID: agent.ID, Label: agent.Label}
	}
	return view.Events(w, a.viewOptions(), known...), err
}

// eventsPoll is how often a run that is followed is looked at.
const eventsPoll = 200 * time.Millisecond

// followEvents hands on what is stored of a run until the run has ended. The status
// is read before the events: of a run that had ended by then, all have been read.
func (a *app) followEvents(ctx context.Context, db *store.DB, f store.EventFilter, show func(int64, event.Event) error, flush func() error) error {
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
			return a.sayEnded(r)
		case !a.ownerLives(r.Owner, r.Heartbeat):
			a.say("! the process of the run is gone: agentclash run resume %s runs what is left", short(r.ID))
			return verdict(statusRunFailed)
		}
		if err := sleep(ctx, eventsPoll); err != nil {
			return err
		}
	}
}

// sayEnded says how a run that was followed has ended.
func (a *app) sayEnded(r store.Run) error {
	if r.Status == store.Completed {
		a.say("run %s is completed", r.Name)
		return nil
	}
	said := fmt.Sprintf("! run %s is %s", r.Name, r.Status)
	if r.Reason != "" {
		said += ": " + r.Reason
	}
	a.say("%s", said)
	return verdict(statusRunFailed)
}
