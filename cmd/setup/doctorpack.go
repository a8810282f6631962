package setup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
)

const (
	// tryTime bounds the start of a sandbox that is tried.
	tryTime = 60 * time.Second
	// storedNative is how many stored native packs are looked at, the newest of each
	// slug first.
	storedNative = 50
)

// checkPack says whether a valid pack can run here.
func checkPack(ctx context.Context, a *cli.App, p *pack.Pack, workspace, kind string, answers bool, image view.Check) []view.Check {
	cases := 0
	for _, s := range p.InputSets {
		cases += len(s.Cases)
	}
	sets := view.Check{Name: "pack_input_sets", Status: view.CheckOK, Detail: fmt.Sprintf("%d input set(s), %d case(s)", len(p.InputSets), cases)}
	if cases == 0 {
		sets.Status, sets.NextStep = view.CheckFail, "add cases under input_sets: docs/packs.md"
	}
	return []view.Check{
		{Name: "pack_manifest", Status: view.CheckOK, Detail: fmt.Sprintf("%s v%d is valid", p.Pack.Slug, p.Version.Number)},
		sets, checkPackSecrets(a, p), checkPackDeployments(ctx, a, p), checkPackSandbox(ctx, a, p, kind, answers, image),
	}
}

// checkPackSecrets sees that what a pack's tools use is set.
func checkPackSecrets(a *cli.App, p *pack.Pack) view.Check {
	c := view.Check{Name: "pack_secrets", Status: view.CheckOK, Detail: "its tools use none"}
	names := p.ToolSecrets()
	if len(names) == 0 {
		return c
	}
	c.Detail = "set: " + strings.Join(names, ", ")
	if _, err := agents.ToolSecrets(a, p); err != nil {
		c.Status, c.Detail = view.CheckFail, err.Error()
		var known *cli.Failure
		if errors.As(err, &known) {
			c.NextStep = known.Next
		}
	}
	return c
}

// checkPackDeployments looks for a deployment that the pack can be run with.
func checkPackDeployments(ctx context.Context, a *cli.App, p *pack.Pack) view.Check {
	c := view.Check{Name: "pack_deployments", Status: view.CheckInfo, Detail: "none is stored; --model PROVIDER/MODEL needs none"}
	stored, err := agents.StoredDeployments(ctx, a)
	if err != nil {
		return view.Check{Name: c.Name, Status: view.CheckFail, Detail: err.Error()}
	}
	var fit []string
	var why error
	for _, d := range stored {
		list, err := agents.Deployments(ctx, a, []string{d.Name}, nil)
		if err == nil {
			_, err = plan.New(plan.Request{Pack: p, Deployments: list,
				Options: plan.Options{Repetitions: 1, Concurrency: 1, MinPassRate: 1}, Now: a.Process.Now, NewID: a.Process.NewID})
		}
		if err != nil {
			why = err
			continue
		}
		fit = append(fit, d.Name)
	}
	switch {
	case len(stored) == 0:
		c.NextStep = "agentclash deployment create --name next --model openai/gpt-4.1-mini"
	case len(fit) == 0:
		c.Status, c.Detail = view.CheckWarn, fmt.Sprintf("none of the %d that are stored can run it: %v", len(stored), why)
		c.NextStep = "agentclash deployment create --help"
	default:
		c.Status, c.Detail = view.CheckOK, "can run it: "+strings.Join(fit, ", ")
	}
	return c
}

// checkPackSandbox says where the pack's trials run, and tries to start such a
// sandbox where that takes nothing from the network.
func checkPackSandbox(ctx context.Context, a *cli.App, p *pack.Pack, kind string, answers bool, image view.Check) view.Check {
	needs := plan.NeedsOf(p)
	c := packSandbox(needs, kind, answers)
	c.Name = "pack_sandbox"
	absent := kind != sandboxes.SandboxScratch && image.Status != view.CheckOK && p.Version.Sandbox == nil
	if c.Status != view.CheckOK || !needs.Box || kind == sandboxes.SandboxE2B || len(needs.Spec.Packages) > 0 || answers && absent {
		return c
	}
	ctx, stop := context.WithTimeout(ctx, tryTime)
	defer stop()
	boxes, err := sandboxes.LocalBoxes(ctx, a, kind, sandboxes.TemplateOf(p), answers)
	if err == nil {
		err = tryBox(ctx, boxes, needs.Spec)
	}
	if err != nil {
		c.Status, c.Detail, c.NextStep = view.CheckFail, "no sandbox can be started: "+err.Error(), "agentclash sandbox gc; agentclash doctor"
		return c
	}
	c.Detail += "; one was started and removed"
	return c
}

// tryBox opens a sandbox and removes it.
func tryBox(ctx context.Context, boxes sandbox.Provider, spec sandbox.Spec) (err error) {
	defer func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer stop()
		err = errors.Join(err, boxes.Close(ctx))
	}()
	if _, err := boxes.Describe(ctx, spec); err != nil {
		return err
	}
	spec.Lifetime = 5 * time.Minute
	box, err := boxes.Open(ctx, spec)
	if err != nil {
		return err
	}
	return box.Close(ctx)
}

// packNeedsDocker names a stored pack that runs programs, "" when there is none.
func packNeedsDocker(ctx context.Context, a *cli.App, workspace string) string {
	db, ok, err := a.Reading(ctx)
	if err != nil || !ok {
		return ""
	}
	packs, err := db.Packs(ctx, workspace)
	if err != nil {
		return "" // the packs' own check says so
	}
	seen := map[string]bool{}
	for _, s := range packs {
		if s.Mode != pack.Native || seen[s.Slug] || len(seen) == storedNative {
			continue
		}
		seen[s.Slug] = true
		if p, err := selector.PackOf(ctx, db, s.ID); err == nil && plan.NeedsOf(p).Process {
			return s.Slug
		}
	}
	return ""
}
