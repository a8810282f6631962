package packs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/packtest"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
	"github.com/spf13/cobra"
)

// statusWarnings is the status of a pack with nothing worse than warnings.
const statusWarnings = 2

// packDoctorOptions are the flags of challenge-pack doctor.
type packDoctorOptions struct {
	reference   string
	inputSet    string
	sandbox     string
	image       string
	concurrency int
}

func newPackDoctor(a *cli.App) *cobra.Command {
	var o packDoctorOptions
	c := &cobra.Command{
		Use: "doctor FILE", Short: "Test a pack's tests: do right agents pass, and wrong ones fail?",
		Long: `Test a pack's tests. FILE may also be a stored pack or builtin:NAME. The pack's
reference agent, a script beside FILE with the ending .reference.yaml, has to pass every case. Four cheating agents must
pass none: one says next to nothing, one repeats what it was asked, one looks for the
expected text in what it is shown and makes the files and calls that are asked for,
one gives every case the same answer. Each validator is changed, in what it expects
and in its config, to see whether any case notices. Weights, thresholds and cases that
decide nothing, and expectations that agents are shown, are reported.

No model is called and nothing is stored. Native cases run in sandboxes, as in
eval start.

Exit status: 0 nothing is wrong, 1 there are errors, 2 there are only warnings,
64 the pack is not valid, 66 a file does not exist, 69 a sandbox is needed and
no Docker engine answers, 130 interrupted.`,
		Example: "  agentclash challenge-pack doctor my-pack.yaml\n  agentclash challenge-pack doctor my-pack.yaml --reference other.yaml --json",
		Args:    cli.ExactArgs("FILE"),
		RunE:    func(c *cobra.Command, args []string) error { return runPackDoctor(c.Context(), a, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.reference, "reference", "", "script of the reference agent (default: FILE with the ending .reference.yaml, when there is one)")
	f.StringVar(&o.inputSet, "input-set", "", "input set, by key or name (default: all)")
	f.StringVar(&o.sandbox, "sandbox", "", sandboxes.SandboxUsage)
	f.StringVar(&o.image, "image", "", `sandbox image or template, or "builtin" (default: the pack's sandbox_template_id, else the setting image, python:3.12-slim or E2B_TEMPLATE_ID)`)
	f.IntVar(&o.concurrency, "concurrency", 0, "trials at once (0: the setting concurrency, else 4 in sandboxes, 32 without)")
	return c
}

func (o *packDoctorOptions) check(a *cli.App) (err error) {
	if err := a.SettleConcurrency(&o.concurrency); err != nil {
		return err
	}
	if o.concurrency < 0 || o.concurrency > plan.MaxConcurrency {
		return cli.Usage("--concurrency must be 0 to %d, not %d", plan.MaxConcurrency, o.concurrency)
	}
	o.sandbox, err = sandboxes.SandboxKind(a, o.sandbox, o.image)
	return err
}

func runPackDoctor(ctx context.Context, a *cli.App, o packDoctorOptions, file string) error {
	if err := o.check(a); err != nil {
		return err
	}
	p, err := selector.RunnablePack(ctx, a, file)
	if err != nil {
		return err
	}
	if _, err := p.InputSet(o.inputSet); o.inputSet != "" && err != nil {
		return selector.PlanFailure(err)
	}
	name, reference, err := referenceOf(a, p, o.reference, file, agents.NewScriptClient)
	if err != nil {
		return err
	}
	_, simulator, err := referenceOf(a, p, o.reference, file, agents.NewScriptUser)
	if err != nil {
		return err
	}
	boxes, described, err := sandboxes.Boxes(ctx, a, o.sandbox, cmp.Or(o.image, sandboxes.TemplateOf(p)), plan.NeedsOf(p))
	if err != nil {
		return err
	}
	defer sandboxes.CloseBoxes(ctx, a, boxes)
	if reference == nil {
		a.Say("! a script that solves every case makes more defects show: write it to %s, or name it with --reference FILE", pack.ReferencePath(file))
	}
	report, err := packtest.Examine(ctx, packtest.Options{
		Pack: p, InputSet: o.inputSet, Reference: reference, Simulator: simulator, Boxes: boxes, Sandbox: described, Queries: sandboxes.Queries(),
		Concurrency: cmp.Or(o.concurrency, agents.Concurrency(p, nil)), Now: a.Process.Now, NewID: a.Process.NewID, Progress: examining(a),
	})
	if err != nil {
		return fmt.Errorf("examine %s: %w", file, err)
	}
	return printExamination(a, report, p, name)
}

// examining says on a terminal every few seconds how far an examination is;
// nothing is said of one that is soon over.
func examining(a *cli.App) func(packtest.Step) {
	if !a.Process.ErrTerminal {
		return nil
	}
	const pause = 3 * time.Second
	what := map[packtest.Part]string{packtest.Playing: "trials of the agents", packtest.Judging: "validators changed and judged"}
	spoke := a.Process.Now()
	return func(s packtest.Step) {
		if now := a.Process.Now(); now.Sub(spoke) >= pause {
			spoke = now
			a.Say("%d of %d %s", s.Done, s.Total, what[s.Part])
		}
	}
}

// referenceOf finds the reference agent: the script that was named, else the
// one that belongs to the pack, else none. Open makes of it the agent, or the users
// that it talks to.
func referenceOf(a *cli.App, p *pack.Pack, named, file string, open func(string, []byte) (provider.Client, error)) (string, provider.Client, error) {
	if named != "" {
		client, err := agents.Script(a, named, open)
		return named, client, err
	}
	if p.Reference() == nil {
		return "", nil, nil
	}
	name := "the pack's own"
	if cli.Exists(a.Path(file)) {
		name = pack.ReferencePath(file)
	}
	client, err := open(name, p.Reference())
	if err != nil {
		return "", nil, cli.Usage("read the pack's reference agent: %w", err)
	}
	return name, client, nil
}

func printExamination(a *cli.App, r *packtest.Report, p *pack.Pack, reference string) error {
	d := examination(r, p, reference)
	err := a.Print(d, func(w io.Writer, o view.Options) error {
		if d.Clean {
			a.Say("✓ nothing wrong was found")
		}
		return view.PackDoctor(w, d, o)
	})
	if err != nil {
		return err
	}
	if code, reason, all := r.Unjudged(); all {
		return &cli.Failure{Status: cli.StatusUnavailable, Code: code, Err: fmt.Errorf("no trial could be judged: %s", reason)}
	}
	switch {
	case d.Errors > 0:
		return cli.Exit(cli.StatusError)
	case d.Warnings > 0:
		return cli.Exit(statusWarnings)
	}
	return nil
}

// examination is the report as a document.
func examination(r *packtest.Report, p *pack.Pack, reference string) view.PackDoctorDocument {
	d := view.PackDoctorDocument{
		Pack: view.Pack{Slug: p.Pack.Slug, Version: p.Version.Number}, Reference: reference, Agents: r.Agents,
		Errors: r.Count(packtest.Error), Warnings: r.Count(packtest.Warning), Clean: len(r.Findings) == 0,
		MutantsJudged: r.Mutants.Judged, MutantsNoticed: r.Mutants.Noticed, Notes: r.Notes,
	}
	for _, f := range r.Findings {
		d.Findings = append(d.Findings, view.PackFinding{
			Severity: string(f.Severity), Code: f.Code, Field: f.Field, InputSet: f.InputSet, CaseKey: f.Case,
			Agent: f.Agent, Validator: f.Validator, Message: f.Message,
		})
	}
	for _, t := range r.Trials {
		n := len(d.Cases)
		if n == 0 || d.Cases[n-1].InputSet != t.InputSet || d.Cases[n-1].CaseKey != t.Case {
			d.Cases = append(d.Cases, view.ExaminedCase{InputSet: t.InputSet, CaseKey: t.Case})
			n++
		}
		d.Cases[n-1].Trials = append(d.Cases[n-1].Trials, view.ExaminedTrial{
			Agent: t.Agent, Outcome: t.Outcome, Code: t.Code, Reason: t.Reason, Own: t.Own, Right: t.Right(),
		})
	}
	return d
}
