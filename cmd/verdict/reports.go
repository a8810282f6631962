package verdict

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/spf13/pflag"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// ReportFlags are the reports that a command writes beside its output.
type ReportFlags struct {
	List  []string // as typed
	Files []reportFile
}

type reportFile struct{ Kind, Path string }

// AddFlags adds --report.
func (o *ReportFlags) AddFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.List, "report", nil, "write a report: KIND=PATH, - for stdout; repeatable; KIND is "+strings.Join(reports.Kinds(), ", "))
}

// Check reads the flags and refuses what could not be written in the end.
func (o *ReportFlags) Check(a *cli.App, follow bool) error {
	o.Files = nil
	for _, text := range o.List {
		kind, path, ok := strings.Cut(text, "=")
		switch {
		case !ok || path == "":
			return cli.Usage("--report %q: write KIND=PATH, such as junit=report.xml", text)
		case !slices.Contains(reports.Kinds(), kind):
			return cli.Usage("--report %q: there is no kind %q: there are %s", text, kind, strings.Join(reports.Kinds(), ", "))
		case slices.ContainsFunc(o.Files, func(f reportFile) bool { return f.Path == path || filepath.Clean(f.Path) == filepath.Clean(path) }):
			return cli.Usage("--report: two reports go to %s", path)
		}
		if path == cli.StdoutPath {
			if a.Output != "table" || follow {
				return cli.Usage("--report %s: --json, --output and --follow use stdout, too", text).Hint("write the report to a file")
			}
			a.ReportOut = true
		} else if err := a.CheckOutput(path); err != nil {
			return cli.Usage("--report %s: %w", text, err)
		}
		o.Files = append(o.Files, reportFile{kind, path})
	}
	return nil
}

// Has says whether a report of a kind was asked for.
func (o *ReportFlags) Has(kind string) bool {
	return slices.ContainsFunc(o.Files, func(f reportFile) bool { return f.Kind == kind })
}

// WriteReports writes what was asked for and returns how the command ends: as
// primary says, which no report hides; a report that cannot be written is the
// error of a command that has no other.
func WriteReports(a *cli.App, o ReportFlags, primary error, read func() (reports.Run, error)) error {
	if len(o.Files) == 0 {
		return primary
	}
	r, err := read()
	if err != nil {
		if primary == nil {
			return fmt.Errorf("read what the reports say: %w", err)
		}
		if !errors.Is(err, store.ErrNotFound) { // there is nothing to report on
			a.Say("! no report was written: %v", err)
		}
		return primary
	}
	var failed []error
	for _, f := range o.Files {
		if err := writeReport(a, f, r); err != nil {
			failed = append(failed, fmt.Errorf("write the report %s=%s: %w", f.Kind, f.Path, err))
		} else if f.Path != cli.StdoutPath {
			a.Say("✓ wrote %s", f.Path)
		}
	}
	if primary != nil {
		for _, err := range failed {
			a.Say("! %v", err)
		}
		return primary
	}
	return errors.Join(failed...)
}

func writeReport(a *cli.App, f reportFile, r reports.Run) error {
	if f.Path == cli.StdoutPath {
		return reports.Write(a.Process.Out, f.Kind, r)
	}
	return a.WriteOutput(f.Path, 0o644, func(w io.Writer) error { return reports.Write(w, f.Kind, r) })
}

// ReportRun is the head of a report on a run, without its agents.
func ReportRun(a *cli.App, run store.Run) reports.Run {
	return reports.Run{
		Version: cli.ReadBuildInfo().Version, ID: run.ID, Name: run.Name, Status: run.Status, Reason: run.Reason,
		Pack: view.Pack{Slug: run.Pack.Slug, Version: run.Pack.Version}, InputSet: run.InputSet, StartedAt: run.StartedAt,
	}
}

// ReportLane is a run agent without a comparison. Its trials are read when a report
// asks for them.
func ReportLane(ctx context.Context, db *store.DB, agent store.RunAgent) reports.Agent {
	var card scoring.AgentScorecard
	if agent.Scorecard != nil {
		card = *agent.Scorecard
	}
	return reports.Agent{
		Agent: view.NewAgent(view.AgentRef{Label: agent.Label, RunAgentID: agent.ID, Status: agent.Status, Reason: agent.Reason}, card, nil),
		Trials: func(yield func(view.Trial) error) error {
			return deciding(ctx, db, agent.ID, func(t scoring.Trial) error { return yield(view.NewTrial(t)) })
		},
	}
}

// ReportAgent reads a run agent.
func ReportAgent(ctx context.Context, a *cli.App, db *store.DB, run store.Run, agent store.RunAgent, against Reference) (reports.Agent, error) {
	told := ReportLane(ctx, db, agent)
	v, ok := against.Judged[agent.ID]
	if !ok {
		base, found, err := BaselineFor(ctx, a, db, run.Workspace, run.Pack.Slug, against.Baseline)
		if err != nil || !found || base.Agent.ID == agent.ID {
			return told, err
		}
		candidate, err := AgentSide(ctx, a, db, agent.ID, Headlines)
		if err != nil {
			return told, err
		}
		if what, _ := candidate.Part(); what != "" { // a part of a run is compared with nothing
			return told, err
		}
		v = against.judge(a, base, candidate)
	}
	told.Baseline, told.Comparison, told.Gate = &v.baseline, &v.comparison, &v.Gate
	return told, nil
}

// deciding reads the attempts that count of a run agent: the last finished one
// of each trial. It keeps one in memory.
func deciding(ctx context.Context, db *store.DB, agentID string, yield func(scoring.Trial) error) error {
	var last *scoring.Trial
	err := db.Trials(ctx, store.TrialFilter{RunAgentID: agentID, AllAttempts: true}, func(t store.Trial) error {
		if len(t.Result) == 0 {
			return nil // an attempt that never ended
		}
		end, err := t.End()
		if err != nil {
			return err
		}
		before := last
		last = &end.Trial
		if before == nil || before.TrialID == last.TrialID {
			return nil
		}
		return yield(*before)
	})
	if err != nil || last == nil {
		return err
	}
	return yield(*last)
}

// reportOnScorecard is the report on one agent whose scorecard was read already.
func reportOnScorecard(a *cli.App, run store.Run, d view.ScorecardDocument) reports.Run {
	r := ReportRun(a, run)
	r.Agents = []reports.Agent{{
		Agent: d.Scorecard.Agent, Baseline: d.Baseline, Comparison: d.Comparison, Gate: d.ReleaseGate,
		Trials: func(yield func(view.Trial) error) error {
			for _, t := range d.Scorecard.Trials {
				if err := yield(t); err != nil {
					return err
				}
			}
			return nil
		},
	}}
	return r
}
