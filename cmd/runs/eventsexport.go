package runs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

func newRunEventsExport(a *cli.App) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use: "export [RUN]", Short: "Write every stored fact of a run as JSONL",
		Long: `Write every stored fact of a run, the newest by default, one JSON document a line,
to stdout or to a file, which is there once it is whole. Memory does not grow
with the run. run export writes a bundle instead, which run import takes in.`,
		Example: "  agentclash run events export latest\n  agentclash run events export latest --to events.jsonl",
		Args:    cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := (eventsOptions{}).check(a); err != nil {
				return err
			}
			if to != "" {
				if err := a.CheckOutput(to); err != nil {
					return cli.Usage("--to %s: %w", to, err)
				}
			}
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error { return exportEvents(c.Context(), a, db, r, to) })
		},
	}
	c.Flags().StringVar(&to, "to", "", "file to write (default: stdout)")
	return c
}

func exportEvents(ctx context.Context, a *cli.App, db *store.DB, r store.Run, to string) error {
	lines := 0
	write := func(w io.Writer) (err error) {
		buffered := bufio.NewWriterSize(w, 64<<10)
		defer func() { err = errors.Join(err, buffered.Flush()) }()
		out, err := a.StreamTo(buffered)
		if err != nil {
			return err
		}
		sink := view.EventsJSON(out)
		return db.Events(ctx, store.EventFilter{RunID: r.ID}, func(_ int64, e event.Event) error {
			lines++
			return sink.Emit(ctx, e)
		})
	}
	if to == "" {
		return write(a.Process.Out)
	}
	if err := a.WriteOutput(to, 0o644, write); err != nil {
		return fmt.Errorf("export the events of run %s: %w", r.Name, err)
	}
	a.Say("✓ wrote %d events of run %s to %s", lines, r.Name, to)
	return nil
}
