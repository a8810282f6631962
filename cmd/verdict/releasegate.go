package verdict

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring/compare"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewReleaseGate is agentclash release-gate: the verdicts that gates have left.
func NewReleaseGate(a *cli.App) *cobra.Command {
	return cli.Group("release-gate", "Read the records of gates", newReleaseGateList(a), newReleaseGateShow(a))
}

// gateFilter narrows the list of records, by run.
type gateFilter struct{ run, baseline, candidate string }

func newReleaseGateList(a *cli.App) *cobra.Command {
	var f gateFilter
	var page cli.ListOptions
	c := &cobra.Command{
		Use: "list", Short: "List the verdicts of gates, newest first", Args: cli.NoArgs,
		Example: "  agentclash release-gate list\n  agentclash release-gate list --run latest --json",
		RunE:    func(c *cobra.Command, _ []string) error { return runReleaseGateList(c.Context(), a, f, page) },
	}
	c.Flags().StringVar(&f.run, "run", "", "only those of this run, on either side")
	c.Flags().StringVar(&f.baseline, "baseline", "", "only those with this run as the baseline")
	c.Flags().StringVar(&f.candidate, "candidate", "", "only those with this run as the candidate")
	page.AddPageFlags(c.Flags())
	return c
}

func runReleaseGateList(ctx context.Context, a *cli.App, f gateFilter, o cli.ListOptions) error {
	if err := cmp.Or(o.Check(), a.CheckWorkspace(ctx)); err != nil {
		return err
	}
	db, ok, err := a.Reading(ctx)
	if err != nil {
		return err
	}
	var list []view.GateEntry
	if ok {
		gates, err := gates(ctx, a, db, f)
		if err != nil {
			return err
		}
		for _, g := range gates {
			list = append(list, view.GateEntry{ID: g.ID, Verdict: g.Verdict, PolicyKey: g.PolicyKey, PolicyVersion: g.PolicyVersion,
				PolicyFingerprint: g.PolicyFingerprint, ReasonCode: g.ReasonCode, GateSides: gateSides(g), GeneratedAt: g.GeneratedAt})
		}
	}
	return cli.PrintPage(a, cli.PageOf(list, o), "there is no gate record: agentclash compare gate --baseline RUN --candidate RUN makes one", view.GateList)
}

func gateSides(g store.Gate) view.GateSides {
	return view.GateSides{BaselineRunID: g.BaselineRunID, BaselineRunAgentID: g.BaselineAgentID,
		CandidateRunID: g.CandidateRunID, CandidateRunAgentID: g.CandidateAgentID}
}

// gates lists the records that the filter's runs have part in.
func gates(ctx context.Context, a *cli.App, db *store.DB, f gateFilter) ([]store.Gate, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return nil, err
	}
	filter := store.GateFilter{Workspace: workspace}
	for _, s := range []struct {
		selector string
		into     *string
	}{{f.run, &filter.RunID}, {f.baseline, &filter.BaselineRunID}, {f.candidate, &filter.CandidateRunID}} {
		if s.selector == "" {
			continue
		}
		r, err := db.Run(ctx, workspace, s.selector)
		if err != nil {
			return nil, err
		}
		*s.into = r.ID
	}
	return db.Gates(ctx, filter)
}

func newReleaseGateShow(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show the record of a gate, as it was decided",
		Long: `Show the record of a gate, as it was decided. ID is that of release-gate list, or
latest. Exit status: 0, whatever the verdict was.`,
		Example: "  agentclash release-gate show latest\n  agentclash release-gate show 1a2b3c4d --json",
		Args:    cli.ExactArgs("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			db, err := a.Stored(ctx)
			if err != nil {
				return err
			}
			workspace, err := a.WorkspaceName()
			if err != nil {
				return err
			}
			record, err := db.Gate(ctx, workspace, args[0])
			if errors.Is(err, store.ErrNotFound) {
				return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: err}).Hint("agentclash release-gate list")
			}
			if err != nil {
				return err
			}
			var g compare.GateResult
			if err := json.Unmarshal(record.Document, &g); err != nil {
				return fmt.Errorf("read gate record %s: %w", cli.Short(record.ID), err)
			}
			d := view.GateRecord{GateSides: gateSides(record), GateResult: g}
			return a.Print(d, func(w io.Writer, o view.Options) error { return view.Gate(w, d, o) })
		},
	}
}
