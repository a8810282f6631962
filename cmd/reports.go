package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
)

// reportFlags are the reports that a command writes beside its output.
type reportFlags struct {
	list  []string // as typed
	files []reportFile
}

type reportFile struct{ kind, path string }

func (o *reportFlags) addFlags(f *pflag.FlagSet) {
	f.StringArrayVar(&o.list, "report", nil, "write a report: KIND=PATH, - for stdout; repeatable; KIND is "+strings.Join(reports.Kinds(), ", "))
}

// check reads the flags and refuses what could not be written in the end.
func (o *reportFlags) check(a *app, follow bool) error {
	o.files = nil
	for _, text := range o.list {
		kind, path, ok := strings.Cut(text, "=")
		switch {
		case !ok || path == "":
			return usage("--report %q: write KIND=PATH, such as junit=report.xml", text)
		case !slices.Contains(reports.Kinds(), kind):
			return usage("--report %q: there is no kind %q: there are %s", text, kind, strings.Join(reports.Kinds(), ", "))
		case slices.ContainsFunc(o.files, func(f reportFile) bool { return f.path == path || filepath.Clean(f.path) == filepath.Clean(path) }):
			return usage("--report: two reports go to %s", path)
		}
		if path == stdoutPath {
			if a.output != "table" || follow {
				return usage("--report %s: --json, --output and --follow use stdout, too", text).hint("write the report to a file")
			}
			a.reportOut = true
		} else if err := a.reportable(path); err != nil {
			return usage("--report %s: %w", text, err)
		}
		o.files = append(o.files, reportFile{kind, path})
	}
	return nil
}

// has says whether a report of a kind was asked for.
func (o *reportFlags) has(kind string) bool {
	return slices.ContainsFunc(o.files, func(f reportFile) bool { return f.kind == kind })
}

// reportable says why no file can be made at a path, as far as that can be told
// before a run.
func (a *app) reportable(path string) error {
	full := a.path(path)
	if info, err := os.Stat(full); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	for dir := filepath.Dir(full); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is no directory", dir)
		case err == nil || dir == filepath.Dir(dir):
			return nil
		}
	}
}

// writeReports writes what was asked for and returns how the command ends: as
// primary says, which no report hides; a report that cannot be written is the
// error of a command that has no other.
func (a *app) writeReports(o reportFlags, primary error, read func() (reports.Run, error)) error {
	if len(o.files) == 0 {
		return primary
	}
	r, err := read()
	if err != nil {
		if primary == nil {
			return fmt.Errorf("read what the reports say: %w", err)
		}
		if !errors.Is(err, store.ErrNotFound) { // there is nothing to report on
			a.say("! no report was written: %v", err)
		}
		return primary
	}
	var failed []error
	for _, f := range o.files {
		if err := a.writeReport(f, r); err != nil {
			failed = append(failed, fmt.Errorf("write the report %s=%s: %w", f.kind, f.path, err))
		} else if f.path != stdoutPath {
			a.say("✓ wrote %s", f.path)
		}
	}
	if primary != nil {
		for _, err := range failed {
			a.say("! %v", err)
		}
		return primary
	}
	return errors.Join(failed...)
}

func (a *app) writeReport(f reportFile, r reports.Run) error {
	if f.path == stdoutPath {
		return reports.Write(a.p.Out, f.kind, r)
	}
	return writeWhole(a.path(f.path), func(w io.Writer) error { return reports.Write(w, f.kind, r) })
}

func (a *app) reportRun(run store.Run) reports.Run {
	return reports.Run{
		Version: readBuildInfo().Version, ID: run.ID, Name: run.Name, Status: run.Status, Reason: run.Reason,
		Pack: view.Pack{Slug: run.Pack.Slug, Version: run.Pack.Version}, InputSet: run.InputSet, StartedAt: run.StartedAt,
	}
}

// reportLane is a run agent without a comparison. Its trials are read when a report
// asks for them.
func reportLane(ctx context.Context, db *store.DB, agent store.RunAgent) reports.Agent {
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

// reportAgent reads a run agent.
func (a *app) reportAgent(ctx context.Context, db *store.DB, run store.Run, agent store.RunAgent, against reference) (reports.Agent, error) {
	told := reportLane(ctx, db, agent)
	v, ok := against.judged[agent.ID]
	if !ok {
		base, found, err := baselineFor(ctx, a, db, run.Workspace, run.Pack.Slug, against.baseline)
		if err != nil || !found || base.agent.ID == agent.ID {
			return told, err
		}
		candidate, err := a.agentSide(ctx, db, agent.ID, headlines)
		if err != nil {
			return told, err
		}
		if what, _ := candidate.part(); what != "" { // a part of a run is compared with nothing
			return told, err
		}
		v = against.judge(a, base, candidate)
	}
	told.Baseline, told.Comparison, told.Gate = &v.baseline, &v.comparison, &v.gate
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
func (a *app) reportOnScorecard(run store.Run, d view.ScorecardDocument) reports.Run {
	r := a.reportRun(run)
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
