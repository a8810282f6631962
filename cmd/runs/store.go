package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/spf13/cobra"
)

// NewStore is agentclash store: its size, and giving room back.
func NewStore(a *cli.App) *cobra.Command {
	return cli.Group("store", "Look after the store", newStoreInfo(a), newStoreGC(a))
}

func newStoreInfo(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "info", Short: "Say what is in the store and what takes room", Args: cli.NoArgs,
		Example: "  agentclash store info\n  agentclash store info --json --query .bytes",
		RunE:    func(c *cobra.Command, _ []string) error { return runStoreInfo(c.Context(), a) },
	}
}

// storeDocument is what store info prints.
type storeDocument struct {
	Path      string        `json:"path"`
	Schema    int           `json:"schema"`
	ReadOnly  bool          `json:"read_only"`
	Bytes     int64         `json:"bytes"`      // of the file and its log
	LogBytes  int64         `json:"wal_bytes"`  // of these, the log's
	FreeBytes int64         `json:"free_bytes"` // of these, what new rows use first
	Runs      int           `json:"runs"`
	Trials    int           `json:"trials"`
	Events    int           `json:"events"`
	Blobs     int           `json:"blobs"`
	BlobBytes int64         `json:"blob_plain_bytes"` // before they are compressed
	Tables    []tableOfSize `json:"tables"`
}

type tableOfSize struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"` // with its indexes
}

func runStoreInfo(ctx context.Context, a *cli.App) error {
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: errors.New("there is no store yet: the first run makes it")}).Hint("agentclash doctor")
	}
	d, err := db.Details(ctx)
	if err != nil {
		return err
	}
	doc := storeDocument{Path: d.Path, Schema: d.Schema, ReadOnly: d.ReadOnly, Bytes: d.Bytes, LogBytes: d.LogBytes, FreeBytes: d.FreeBytes,
		Runs: d.Runs, Trials: d.Trials, Events: d.Events, Blobs: d.Blobs, BlobBytes: d.BlobBytes, Tables: []tableOfSize{}}
	for _, t := range d.Tables {
		doc.Tables = append(doc.Tables, tableOfSize(t))
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error {
		_, err := fmt.Fprintf(w, "%s, schema %d\n%s, of which %s in the log and %s free\n%d runs, %d trials, %d events, %d blobs (%s before compression)\n\n",
			view.SanitizeLine(doc.Path), doc.Schema, megabytes(doc.Bytes), megabytes(doc.LogBytes), megabytes(doc.FreeBytes),
			doc.Runs, doc.Trials, doc.Events, doc.Blobs, megabytes(doc.BlobBytes))
		t := view.Table{Columns: []view.Column{{Title: "TABLE"}, {Title: "SIZE", Right: true, Keep: true}}}
		for _, size := range doc.Tables {
			t.Add(view.Text(size.Name), view.Text(megabytes(size.Bytes)))
		}
		return errors.Join(err, t.Write(w, o))
	})
}

func megabytes(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', 2, 64) + " MB" }

func newStoreGC(a *cli.App) *cobra.Command {
	dry := false
	c := &cobra.Command{
		Use: "gc", Short: "Remove what nothing refers to, and give its room back", Args: cli.NoArgs,
		Long: `Remove contents that no run, pack or event refers to any more, as they are left
by run prune, and write the file anew when much of it is free. That happens at
once or not at all; while a run is being recorded the command is refused with 75.`,
		Example: "  agentclash store gc --dry-run\n  agentclash store gc --json",
		RunE:    func(c *cobra.Command, _ []string) error { return runStoreGC(c.Context(), a, dry) },
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	return c
}

func runStoreGC(ctx context.Context, a *cli.App, dry bool) error {
	doc := struct {
		DryRun     bool  `json:"dry_run"`
		Blobs      int   `json:"blobs"`
		Bytes      int64 `json:"bytes"`
		FreedBytes int64 `json:"freed_bytes"`
	}{DryRun: dry}
	db, ok, err := a.Reading(ctx)
	if ok && !dry {
		if db, err = a.Store(ctx); err == nil {
			err = sandboxes.Tidy(ctx, a, db) // what a dead process left is over
		}
	}
	if err != nil {
		return err
	}
	if ok {
		g, err := db.GC(ctx, dry)
		if err != nil {
			return err
		}
		doc.Blobs, doc.Bytes, doc.FreedBytes = g.Blobs, g.Bytes, g.FreedBytes
	}
	if ok && !dry {
		if err := a.RemovePages(ctx, db); err != nil {
			return err
		}
	}
	return a.Print(doc, func(io.Writer, view.Options) error {
		if dry {
			a.Say("would remove %d blob(s), %s", doc.Blobs, megabytes(doc.Bytes))
			return nil
		}
		a.Say("✓ removed %d blob(s), %s; the store is %s smaller", doc.Blobs, megabytes(doc.Bytes), megabytes(doc.FreedBytes))
		return nil
	})
}
