package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/sessions"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
	"github.com/spf13/cobra"
)

type mergeOptions struct {
	name     string
	session  string
	limit    int64
	exitCode bool
	gate     bool
}

func newRunMerge(a *cli.App) *cobra.Command {
	o := mergeOptions{limit: bundle.DefaultLimit}
	c := &cobra.Command{
		Use: "merge RUN|FILE.acb...", Short: "Put the shards of a run together into one run",
		Long: `Put the shards of a run (eval start --shard) together into one run of its own, which
equals the run that nobody cut: its events trial by trial, its scorecards and its
ranking. Shards are runs of the store or bundles, in any order; they stay as they are.

Shards of different packs, specs, agents, options, seeds or numbers of parts are
refused, and so is a shard that is missing, there twice or not finished.

Exit status: as of eval start, with --exit-code and --gate; 64 the runs are not the
shards of one; 66 a run or a file is not there.`,
		Example: "  agentclash run merge shard-1.acb shard-2.acb shard-3.acb --name nightly --exit-code\n  agentclash run merge shards/*.acb --gate",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usage("%s needs the shards", c.CommandPath()).Hint("%s --help", c.CommandPath())
			case len(args) > plan.MaxShards:
				return cli.Usage("there are at most %d shards", plan.MaxShards)
			case o.limit <= 0:
				return cli.Usage("--max-bytes must be positive")
			case o.gate && o.exitCode:
				return cli.Usage("--gate and --exit-code both decide the exit status: choose one")
			}
			if err := errors.Join(checkRunName(o.name), sessions.CheckSessionName(o.session)); err != nil {
				return err
			}
			return runMerge(c.Context(), a, o, args)
		},
	}
	c.Flags().StringVar(&o.name, "name", "", "name of the run (default: slug and time)")
	c.Flags().StringVar(&o.session, "session", "", sessions.SessionUsage)
	c.Flags().BoolVar(&o.exitCode, "exit-code", false, "exit 1 when an agent did not pass, 3 when too many trials were invalid")
	c.Flags().BoolVar(&o.gate, "gate", false, "compare with the baseline and exit with the verdict")
	runs.AddMaxBytes(c, &o.limit)
	return c
}

// part is one shard, in the store or in a file.
type part struct {
	plan plan.Plan
	src  *pack.Pack
	read func(ctx context.Context, db *store.DB, sink bundle.Sink) error
	file io.Closer // nil for a run of the store
}

func runMerge(ctx context.Context, a *cli.App, o mergeOptions, args []string) error {
	var parts []part
	defer func() {
		for _, p := range parts {
			if p.file != nil {
				_ = p.file.Close() // it has only been read
			}
		}
	}()
	for _, arg := range args {
		find := storedPart
		if filepath.Ext(arg) == bundle.Suffix {
			find = bundledPart
		}
		p, err := find(ctx, a, o, arg)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	planned, err := planMerge(a, parts, o)
	if err == nil {
		err = sessions.CheckJoin(ctx, a, planned)
	}
	if err != nil {
		return err
	}
	result, err := merge(ctx, a, planned, parts)
	if err != nil {
		return err
	}
	a.Say("✓ merged %d shards into run %s", len(parts), planned.Name)
	return afterRun(ctx, a, planned, result, StartOptions{exitCode: o.exitCode, Gate: o.gate})
}

func planMerge(a *cli.App, parts []part, o mergeOptions) (*plan.Plan, error) {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return nil, err
	}
	plans := make([]plan.Plan, len(parts))
	for i, p := range parts {
		plans[i] = p.plan
	}
	planned, err := plan.Merge(plans, parts[0].src, plan.Request{Name: o.name, Session: o.session, Workspace: workspace, Now: a.Process.Now, NewID: a.Process.NewID})
	if err != nil {
		return nil, &cli.Failure{Status: cli.StatusUsage, Code: "not_mergeable", Err: fmt.Errorf("merge: %w", err)}
	}
	return planned, nil
}

// merge stores the run and says how it ended.
func merge(ctx context.Context, a *cli.App, planned *plan.Plan, parts []part) (result engine.Result, err error) {
	db, err := a.Store(ctx)
	if err != nil {
		return result, err
	}
	m := store.Merging{Plan: *planned, Sum: func(prior [][]scoring.Trial) (event.RunStart, engine.Result) {
		planned.Before.Prior = prior
		result = engine.Sum(planned)
		return engine.StartOf(planned), result
	}}
	for _, of := range planned.Merged {
		for _, p := range parts {
			if p.plan.RunID == of.RunID {
				m.Parts = append(m.Parts, func(sink bundle.Sink) error { return p.read(ctx, db, sink) })
			}
		}
	}
	return result, db.Merge(ctx, m, cli.Self())
}

// unfinished is a shard that cannot be merged yet.
func unfinished(name, status string, left int) error {
	return (&cli.Failure{Status: cli.StatusUsage, Code: "not_mergeable",
		Err: fmt.Errorf("merge: run %s is not finished: it is %s, and %d of its trials have no result", name, status, left)}).
		Hint("agentclash run resume RUN runs the rest, where the run is")
}

// storedPart finds a shard in the store.
func storedPart(ctx context.Context, a *cli.App, _ mergeOptions, named string) (part, error) {
	db, err := a.Stored(ctx)
	if err != nil {
		return part{}, err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return part{}, err
	}
	r, err := db.Run(ctx, workspace, named)
	if err != nil {
		return part{}, err
	}
	left, err := db.Unfinished(ctx, r.ID, false)
	if err != nil {
		return part{}, err
	}
	if len(left) > 0 || r.Active() {
		return part{}, unfinished(r.Name, r.Status, len(left))
	}
	p := part{read: func(ctx context.Context, db *store.DB, sink bundle.Sink) error { return db.Export(ctx, r.ID, sink) }}
	if p.plan, err = db.Plan(ctx, r.ID); err != nil {
		return part{}, err
	}
	p.src, err = selector.PackOf(ctx, db, r.PackID)
	return p, err
}

// bundledPart reads a shard's bundle through once, to see that it is whole.
func bundledPart(ctx context.Context, a *cli.App, o mergeOptions, name string) (part, error) {
	b, file, err := runs.OpenBundle(a, name, o.limit)
	if err != nil {
		return part{}, err
	}
	p := part{file: file, read: func(_ context.Context, _ *store.DB, sink bundle.Sink) error {
		_, err := runs.ReadBundle(b, runs.NewCheck(b, sink))
		return err
	}}
	c := &bundle.Check{RunID: b.Head.RunID, Next: runs.Heeding(ctx), Pack: func(packed bundle.Pack, own *plan.Plan) (scoring.Spec, error) {
		src, spec, err := runs.BundledPack(packed, own)
		if own != nil {
			p.src = src
		}
		return spec, err
	}}
	if _, err := runs.ReadBundle(b, c); err != nil {
		_ = file.Close() // what is wrong with it is the error to tell
		return part{}, runs.BundleFailure(name, err)
	}
	if c.Unfinished() > 0 {
		_ = file.Close()
		return part{}, unfinished(c.Run().Name, c.Run().Status, c.Unfinished())
	}
	p.plan = c.Plan()
	return p, nil
}
