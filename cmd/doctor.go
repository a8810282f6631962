package cmd

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
)

// The statuses of a check. Only ok and info leave a machine ready.
const (
	checkOK   = "ok"
	checkInfo = "info"
	checkWarn = "warn"
	checkFail = "fail"
)

func newDoctor(a *app) *cobra.Command {
	var packFile string
	c := &cobra.Command{
		Use: "doctor", Short: "Check what this machine needs, and say what to type",
		Long: `Check the store, the Docker engine (or, with SANDBOX_PROVIDER=e2b, what E2B
needs), the provider keys and, with --pack, whether a pack can run here. Nothing is sent over the network.

Exit status: 0 everything is in order, 1 something is missing.`,
		Example: "  agentclash doctor\n  agentclash doctor --pack my-pack.yaml --json",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, packFile) },
	}
	c.Flags().StringVar(&packFile, "pack", "", "pack that is to be run")
	return c
}

func runDoctor(ctx context.Context, a *app, packFile string) error {
	workspace, err := a.workspaceName()
	if err != nil {
		return err
	}
	d := view.DoctorDocument{Ready: true, Workspace: workspace}
	add := func(checks ...view.Check) { d.Checks = append(d.Checks, checks...) }
	add(a.checkInstall(), a.checkStore(ctx))
	var wanted *pack.Pack
	var invalid error
	template := ""
	if packFile != "" {
		if wanted, invalid = a.runnablePack(ctx, packFile); invalid == nil {
			template = templateOf(wanted)
		}
	}
	boxCheck, kind, answers := a.checkBoxes(ctx, template)
	add(boxCheck, a.checkKeys())
	add(a.checkStored(ctx, workspace)...)
	switch {
	case invalid != nil:
		add(view.Check{Name: "pack_manifest", Status: checkFail, Detail: invalid.Error(), NextStep: "agentclash challenge-pack validate " + packFile})
	case wanted != nil:
		add(checkPack(wanted, kind, answers)...)
	}
	for _, c := range d.Checks {
		if c.Status != checkOK && c.Status != checkInfo {
			d.Ready = false
		}
		if c.NextStep != "" {
			d.NextSteps = append(d.NextSteps, c.NextStep)
		}
	}
	err = a.print(d, func(w io.Writer, o view.Options) error { return view.Doctor(w, d, o) })
	if err != nil || d.Ready {
		return err
	}
	return exit(statusError)
}

func (a *app) checkInstall() view.Check {
	b := readBuildInfo()
	return view.Check{Name: "install", Status: checkOK, Detail: fmt.Sprintf("agentclash %s, %s/%s", b.Version, runtime.GOOS, runtime.GOARCH)}
}

func (a *app) checkStore(ctx context.Context) view.Check {
	c := view.Check{Name: "store", Status: checkOK}
	path, err := a.storePath()
	if err != nil {
		return view.Check{Name: "store", Status: checkFail, Detail: err.Error(), NextStep: "export AGENTCLASH_HOME=DIR"}
	}
	_, ok, err := a.tidied(ctx)
	if err == nil && !ok {
		c.Status, c.Detail = checkInfo, path+" does not exist yet: the first run makes it"
		return c
	}
	if err == nil {
		err = a.opened.db.Check(ctx)
	}
	if err != nil {
		return view.Check{Name: "store", Status: checkFail, Detail: err.Error(), NextStep: "export AGENTCLASH_HOME=DIR"}
	}
	info, err := a.opened.db.Info(ctx)
	if err != nil {
		return view.Check{Name: "store", Status: checkFail, Detail: err.Error()}
	}
	c.Detail = fmt.Sprintf("%s, schema %d, %d runs, %.1f MB", info.Path, info.Schema, info.Runs, float64(info.Bytes)/1e6)
	if info.ReadOnly {
		c.Status, c.Detail = checkWarn, c.Detail+"; it can be read, not written"
	}
	return c
}

// checkBoxes looks at what sandboxes are made with: what SANDBOX_PROVIDER says,
// else Docker. template is the pack's own, "" for none. It returns the kind of
// --sandbox that was looked at, "" for none that there is, and whether it is to
// be had.
func (a *app) checkBoxes(ctx context.Context, template string) (check view.Check, kind string, answers bool) {
	kind, err := a.sandboxKind("", "")
	if err != nil {
		return view.Check{Name: "sandbox", Status: checkFail, Detail: err.Error(), NextStep: "unset SANDBOX_PROVIDER"}, "", false
	}
	switch kind {
	case sandboxE2B:
		check, answers = a.checkE2B(template)
	case sandboxScratch:
		check, answers = view.Check{Name: sandboxScratch, Status: checkOK, Detail: "each trial gets a directory of this machine, in which no programs are run"}, true
	default:
		if check, answers = a.checkDocker(ctx); !answers && kind == sandboxDocker {
			check.Status = checkFail // nothing else will do
		}
	}
	return check, kind, answers
}

func (a *app) checkE2B(template string) (view.Check, bool) {
	at, err := a.e2bAddress(template)
	if err != nil {
		next := "export E2B_API_KEY=... E2B_TEMPLATE_ID=..."
		if template != "" {
			next = "export E2B_API_KEY=..."
		}
		return view.Check{Name: sandboxE2B, Status: checkFail, Detail: strings.ReplaceAll(err.Error(), "\n", "; "), NextStep: next}, false
	}
	return view.Check{Name: sandboxE2B, Status: checkOK, Detail: "sandboxes are made by " + at + "; the key is not tried here"}, true
}

func (a *app) checkDocker(ctx context.Context) (view.Check, bool) {
	e, err := a.probeDocker(ctx)
	if err != nil {
		return view.Check{Name: sandboxDocker, Status: checkWarn, Detail: err.Error() + "; packs that run programs need an engine",
			NextStep: "start Docker, or export DOCKER_HOST=..."}, false
	}
	if _, err := a.guest(e.Arch); err != nil {
		return view.Check{Name: sandboxDocker, Status: checkWarn, Detail: "an engine answers, but no sandbox can be had: " + err.Error(),
			NextStep: "install a released agentclash, or build one with make build"}, false
	}
	c := view.Check{Name: sandboxDocker, Status: checkOK, Detail: fmt.Sprintf("%s %s at %s, %d CPUs, %.1f GB", e.Name, e.Version, e.Host, e.CPUs, float64(e.MemoryBytes)/1e9)}
	if e.Dir != "" { // it is on this machine
		c.Detail += fmt.Sprintf(", %.1f GB of disk free at %s", float64(e.DiskFreeBytes)/1e9, e.Dir)
		if e.LowOnDisk() {
			c.Status, c.NextStep = checkWarn, "agentclash sandbox gc; docker system prune"
		}
	}
	return c, true
}

func (a *app) checkKeys() view.Check {
	var found, missing []string
	for _, s := range servers() {
		if s.keyVar == "" {
			continue
		}
		_, stored, err := a.secret(s.keyVar)
		switch {
		case a.p.Getenv(s.keyVar) != "":
			found = append(found, s.provider+" (environment)")
		case err == nil && stored:
			found = append(found, s.provider+" (secret)")
		default:
			missing = append(missing, s.keyVar)
		}
	}
	c := view.Check{Name: "provider_keys", Status: checkInfo, Detail: "found: " + strings.Join(found, ", ")}
	if len(found) == 0 {
		c.Detail = "none found; scripted agents and local servers need none"
		c.NextStep = "export " + missing[0] + "=..., or agentclash secret set " + missing[0]
	}
	return c
}

// checkStored looks at what runs are made of: packs, deployments, a baseline.
func (a *app) checkStored(ctx context.Context, workspace string) []view.Check {
	db, ok, err := a.reading(ctx)
	if err != nil || !ok {
		return nil // the store's own check has said so
	}
	var checks []view.Check
	count := func(name string, n int, err error, next string) {
		c := view.Check{Name: name, Status: checkOK, Detail: strconv.Itoa(n)}
		switch {
		case err != nil:
			c.Status, c.Detail = checkFail, err.Error()
		case n == 0:
			c.Status, c.Detail, c.NextStep = checkInfo, "none", next
		}
		checks = append(checks, c)
	}
	packs, err := db.Packs(ctx, workspace)
	count("challenge_packs", len(packs), err, "agentclash challenge-pack init my-pack.yaml")
	deployments, err := a.storedDeployments(ctx)
	count("deployments", len(deployments), err, "")
	marks, err := db.Baselines(ctx, workspace)
	count("baselines", len(marks), err, "agentclash baseline set latest")
	return checks
}

// checkPack says whether a valid pack can run here.
func checkPack(p *pack.Pack, kind string, answers bool) []view.Check {
	cases := 0
	for _, s := range p.InputSets {
		cases += len(s.Cases)
	}
	sandbox := packSandbox(plan.NeedsOf(p), kind, answers)
	sandbox.Name = "pack_sandbox"
	return []view.Check{
		{Name: "pack_manifest", Status: checkOK, Detail: fmt.Sprintf("%s v%d is valid", p.Pack.Slug, p.Version.Number)},
		{Name: "pack_input_sets", Status: checkOK, Detail: fmt.Sprintf("%d input set(s), %d case(s)", len(p.InputSets), cases)},
		sandbox,
	}
}

func packSandbox(needs plan.Needs, kind string, answers bool) view.Check {
	packages := strings.Join(needs.Spec.Packages, ", ")
	switch {
	case !needs.Box:
		return view.Check{Status: checkOK, Detail: "the pack needs no sandbox"}
	case kind == sandboxScratch && needs.Process:
		return view.Check{Status: checkFail, Detail: "the pack runs programs or installs packages, and a scratch directory does neither", NextStep: "export SANDBOX_PROVIDER=docker"}
	case kind == sandboxE2B && packages != "":
		return view.Check{Status: checkFail, Detail: "E2B installs no packages: make a template that has " + packages + ", and name it in sandbox_template_id"}
	case kind == sandboxScratch:
		return view.Check{Status: checkOK, Detail: "each of its trials gets a scratch directory"}
	case answers && kind == sandboxE2B:
		return view.Check{Status: checkOK, Detail: "its trials run in E2B's machines"}
	case answers:
		detail := "its trials run in containers"
		if packages != "" {
			detail += fmt.Sprintf("; the first run installs %d package(s) into its image, which needs a network that one time: %s", len(needs.Spec.Packages), packages)
		}
		return view.Check{Status: checkOK, Detail: detail}
	case kind == sandboxAuto && !needs.Process:
		return view.Check{Status: checkOK, Detail: "no programs are run, so a scratch directory is enough"}
	case kind == sandboxAuto:
		return view.Check{Status: checkFail, Detail: "the pack runs programs or installs packages and no Docker engine answers", NextStep: "start Docker"}
	}
	return view.Check{Status: checkFail, Detail: "the pack needs a sandbox, and the one that SANDBOX_PROVIDER names cannot be had"}
}
