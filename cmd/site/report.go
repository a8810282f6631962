package site

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/report/page"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewRunReport is agentclash run report: a run as one HTML file.
func NewRunReport(a *cli.App) *cobra.Command {
	var against, file string
	c := &cobra.Command{
		Use: "report [RUN]", Short: "Write a run as one HTML page that needs no server",
		Long: `Write what came of a run as one HTML page: scores, trials, what happened in
each, judges' opinions, and the comparison with a baseline. The page needs a
browser and nothing else; it has no address in it and asks nobody anything. At
most 5 MB are written: what there is no room for is said in it and on stderr.

Without --compare, agents are held against the baseline of the pack, where one
is set. A run that goes on can be reported, too; agentclash serve shows it live.`,
		Example: `  agentclash run report latest -o report.html
  agentclash run report latest --compare baseline -o report.html
  agentclash run report latest -o - > report.html`,
		Args: cli.UpTo(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkPageFile(a, file); err != nil {
				return err
			}
			return selector.WithRun(c.Context(), a, args, func(db *store.DB, r store.Run) error {
				return printPage(c.Context(), a, db, r, against, file)
			})
		},
	}
	f := c.Flags()
	f.StringVarP(&file, "output", "o", "", "file to write, - for stdout (here in place of the format of output)")
	f.StringVar(&against, "compare", "", "what to compare with: a run, baseline[:NAME] or a file")
	return c
}

// checkPageFile refuses what could not be written in the end.
func checkPageFile(a *cli.App, file string) error {
	switch {
	case file == "":
		return cli.Usage("a report needs a file to be written to").Hint("add -o report.html")
	case file == cli.StdoutPath && a.Output != "table":
		return cli.Usage("-o -: --json uses stdout, too").Hint("write the report to a file")
	case file == cli.StdoutPath:
		return nil
	}
	if err := a.CheckOutput(file); err != nil {
		return cli.Usage("-o %s: %w", file, err)
	}
	return nil
}

func printPage(ctx context.Context, a *cli.App, db *store.DB, r store.Run, against, file string) error {
	d, err := writePage(ctx, a, db, r, against, file)
	if err != nil {
		return err
	}
	if r.Active() {
		a.Warn("note: run %s is %s: the report shows how it stands now", r.Name, r.Status)
	}
	for _, line := range d.LeftOut.Lines() {
		a.Warn("note: %s", line)
	}
	if file == cli.StdoutPath {
		return nil
	}
	return a.Print(d, func(io.Writer, view.Options) error {
		a.Say("✓ wrote %s (%.1f MB)", file, float64(d.Bytes)/1e6)
		return nil
	})
}

// writePage writes the page of a run, held against a run, a baseline or a file, ""
// for the baseline of its pack. The file is relative to the working directory.
func writePage(ctx context.Context, a *cli.App, db *store.DB, r store.Run, against, file string) (page.Written, error) {
	rep, err := pageOf(a, db, r, against).report(ctx)
	if err != nil {
		return page.Written{}, err
	}
	d := page.Written{RunID: r.ID, RunName: r.Name, Status: r.Status, File: file, Trials: len(rep.Trials)}
	write := func(w io.Writer) error {
		counted := &counter{w: w}
		d.LeftOut, err = page.Write(counted, rep)
		d.Bytes = counted.n
		if err == nil { // one that was removed while it was read is not told in halves
			_, err = db.Run(ctx, r.Workspace, r.ID)
		}
		return err
	}
	if file == cli.StdoutPath {
		err = write(a.Process.Out)
	} else {
		err = a.WriteOutput(file, 0o644, write)
	}
	if err != nil {
		err = fmt.Errorf("write the report of run %s to %s: %w", r.Name, file, err)
	}
	return d, err
}

// LivePage writes the page of a run that goes on beside the store, and says where: each
// time to the same file, which a browser that shows it can load anew.
func LivePage(ctx context.Context, a *cli.App, db *store.DB, runID string) (string, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return "", err
	}
	r, err := db.Run(ctx, workspace, runID)
	if err != nil {
		return "", err
	}
	file, err := a.PagePath(r.ID)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", fmt.Errorf("write the report of run %s: %w", r.Name, err)
	}
	_, err = writePage(ctx, a, db, r, "", file)
	return file, err
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
