package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/store"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
)

type doctorOptions struct {
	pack string
	live bool
}

func newDoctor(a *app) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use: "doctor", Short: "Check what this machine needs, and say what to type",
		Long: `Check the store, the Docker engine and its sandbox image (or, with
SANDBOX_PROVIDER=e2b, what E2B needs), the provider keys, what is stored and what
was left behind. With --pack, check whether that pack can run here: its secrets, a
deployment for it, and a sandbox, which is started and removed.

Nothing is sent over the network. --live makes one small call with each key and
provider account, which costs what such a call costs.

Exit status: 0 everything is ok or info, 1 something is missing.`,
		Example: "  agentclash doctor\n  agentclash doctor --pack my-pack.yaml --json",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, o) },
	}
	c.Flags().StringVar(&o.pack, "pack", "", "pack that is to be run")
	c.Flags().BoolVar(&o.live, "live", false, "make one small call with each key and provider account")
	return c
}

func runDoctor(ctx context.Context, a *app, o doctorOptions) error {
	workspace, err := a.workspaceName()
	if err != nil {
		return err
	}
	d := view.DoctorDocument{Ready: true, Workspace: workspace, Checks: a.examine(ctx, workspace, o)}
	for _, c := range d.Checks {
		if c.Status != view.CheckOK && c.Status != view.CheckInfo {
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

// examine makes all checks, in the order in which they are shown.
func (a *app) examine(ctx context.Context, workspace string, o doctorOptions) []view.Check {
	checks := []view.Check{a.checkInstall(), a.checkStore(ctx)}
	var wanted *pack.Pack
	var invalid error
	template := ""
	if o.pack != "" {
		if wanted, invalid = a.runnablePack(ctx, o.pack); invalid == nil {
			template = templateOf(wanted)
		}
	}
	boxCheck, kind, answers := a.checkBoxes(ctx, template)
	if slug := a.packNeedsDocker(ctx, workspace); kind == sandboxAuto && boxCheck.Status == view.CheckWarn && !answers && slug != "" {
		boxCheck.Status, boxCheck.Detail = view.CheckFail, boxCheck.Detail+", and "+slug+" is one"
	}
	if !answers && kind == sandboxAuto && wanted != nil && plan.NeedsOf(wanted).Process {
		boxCheck.Status = view.CheckFail
	}
	checks = append(checks, boxCheck)
	engine := answers && (kind == sandboxAuto || kind == sandboxDocker)
	var image view.Check
	if engine {
		image = a.checkImage(ctx)
		checks = append(checks, image)
	}
	checks = append(checks, a.checkKeys())
	checks = append(checks, a.checkStored(ctx, workspace)...)
	checks = append(checks, a.checkOrphans(ctx, workspace, engine), a.checkTerminal())
	if o.live {
		checks = append(checks, a.checkLive(ctx)...)
	}
	switch {
	case invalid != nil:
		checks = append(checks, view.Check{Name: "pack_manifest", Status: view.CheckFail, Detail: invalid.Error(), NextStep: "agentclash challenge-pack validate " + o.pack})
	case wanted != nil:
		checks = append(checks, a.checkPack(ctx, wanted, workspace, kind, answers, image)...)
	}
	return checks
}

func (a *app) checkInstall() view.Check {
	b := readBuildInfo()
	c := view.Check{Name: "install", Status: view.CheckOK, Detail: fmt.Sprintf("agentclash %s, %s/%s", b.Version, runtime.GOOS, runtime.GOARCH),
		Metadata: map[string]string{"version": b.Version}}
	if schema, err := store.NewestSchema(); err == nil {
		c.Detail += fmt.Sprintf(", store schema %d", schema)
		c.Metadata["store_schema"] = strconv.Itoa(schema)
	}
	return c
}

// checkTerminal says what a live screen has to show itself on.
func (a *app) checkTerminal() view.Check {
	c := view.Check{Name: "terminal", Status: view.CheckOK}
	width, height, ok := a.p.Terminal()
	if !ok {
		c.Status, c.Detail = view.CheckInfo, "none: --follow writes plain lines"
		return c
	}
	color := "no colour"
	if a.color() {
		color = "colour"
	}
	c.Detail = fmt.Sprintf("%dx%d, %s", width, height, color)
	if width < 80 || height < 24 {
		c.Status, c.Detail, c.NextStep = view.CheckInfo, c.Detail+": the live screen is made for 80x24 and more", "make the window larger"
	}
	return c
}

// checkImage looks for the image of sandboxes, and fetches nothing.
func (a *app) checkImage(ctx context.Context) view.Check {
	c := view.Check{Name: "image", Status: view.CheckOK}
	boxes, err := a.localBoxes(ctx, sandboxDocker, "", true)
	if err != nil {
		return view.Check{Name: "image", Status: view.CheckWarn, Detail: err.Error(), NextStep: "agentclash doctor"}
	}
	defer a.closeBoxes(ctx, boxes)
	d, err := boxes.Describe(ctx, sandbox.Spec{})
	var box *sandbox.BoxError
	switch {
	case errors.As(err, &box) && box.Kind == sandbox.Image:
		c.Status, c.NextStep = view.CheckInfo, "docker pull "+defaultImage
		c.Detail = defaultImage + " is not here: the first run pulls it; --image builtin needs no registry"
	case err != nil:
		c.Status, c.Detail, c.NextStep = view.CheckWarn, err.Error(), "agentclash doctor"
	case strings.Contains(d.Note, "stands in"):
		c.Detail = defaultImage + " is not here; agentclash/sandbox:local stands in where it cannot be pulled"
	default:
		c.Detail = d.Image
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
		return view.Check{Name: "sandbox", Status: view.CheckFail, Detail: err.Error(), NextStep: "unset SANDBOX_PROVIDER"}, "", false
	}
	switch kind {
	case sandboxE2B:
		check, answers = a.checkE2B(template)
	case sandboxScratch:
		check, answers = view.Check{Name: sandboxScratch, Status: view.CheckOK, Detail: "each trial gets a directory of this machine, in which no programs are run"}, true
	default:
		if check, answers = a.checkDocker(ctx); !answers && kind == sandboxDocker {
			check.Status = view.CheckFail // nothing else will do
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
		return view.Check{Name: sandboxE2B, Status: view.CheckFail, Detail: strings.ReplaceAll(err.Error(), "\n", "; "), NextStep: next}, false
	}
	return view.Check{Name: sandboxE2B, Status: view.CheckOK, Detail: "sandboxes are made by " + at + "; the key is not tried here"}, true
}

func (a *app) checkDocker(ctx context.Context) (view.Check, bool) {
	e, err := a.probeDocker(ctx)
	if err != nil {
		return view.Check{Name: sandboxDocker, Status: view.CheckWarn, Detail: err.Error() + "; packs that run programs need an engine",
			NextStep: "start Docker, or export DOCKER_HOST=..."}, false
	}
	if _, err := readGuest(a.p.Getenv("AGENTCLASH_GUEST"), e.Arch); err != nil {
		return view.Check{Name: sandboxDocker, Status: view.CheckWarn, Detail: "an engine answers, but no sandbox can be had: " + err.Error(),
			NextStep: "install a released agentclash, or build one with make build"}, false
	}
	c := view.Check{Name: sandboxDocker, Status: view.CheckOK, Detail: fmt.Sprintf("%s %s at %s, %d CPUs, %.1f GB", e.Name, e.Version, e.Host, e.CPUs, float64(e.MemoryBytes)/1e9)}
	if e.Dir != "" { // it is on this machine
		c.Detail += fmt.Sprintf(", %.1f GB of disk free at %s", float64(e.DiskFreeBytes)/1e9, e.Dir)
		if e.LowOnDisk() {
			c.Status, c.NextStep = view.CheckWarn, "agentclash sandbox gc; docker system prune"
		}
	}
	return c, true
}

func packSandbox(needs plan.Needs, kind string, answers bool) view.Check {
	packages := strings.Join(needs.Spec.Packages, ", ")
	switch {
	case !needs.Box:
		return view.Check{Status: view.CheckOK, Detail: "the pack needs no sandbox"}
	case kind == sandboxScratch && needs.Process:
		return view.Check{Status: view.CheckFail, Detail: "the pack runs programs or installs packages, and a scratch directory does neither", NextStep: "export SANDBOX_PROVIDER=docker"}
	case kind == sandboxE2B && packages != "":
		return view.Check{Status: view.CheckFail, Detail: "E2B installs no packages: make a template that has " + packages + ", and name it in sandbox_template_id"}
	case kind == sandboxScratch:
		return view.Check{Status: view.CheckOK, Detail: "each of its trials gets a scratch directory"}
	case answers && kind == sandboxE2B:
		return view.Check{Status: view.CheckOK, Detail: "its trials run in E2B's machines"}
	case answers:
		detail := "its trials run in containers"
		if packages != "" {
			detail += fmt.Sprintf("; the first run installs %d package(s) into its image, which needs a network that one time: %s", len(needs.Spec.Packages), packages)
		}
		return view.Check{Status: view.CheckOK, Detail: detail}
	case kind == sandboxAuto && !needs.Process:
		return view.Check{Status: view.CheckOK, Detail: "no programs are run, so a scratch directory is enough"}
	case kind == sandboxAuto:
		return view.Check{Status: view.CheckFail, Detail: "the pack runs programs or installs packages and no Docker engine answers", NextStep: "start Docker"}
	}
	return view.Check{Status: view.CheckFail, Detail: "the pack needs a sandbox, and the one that SANDBOX_PROVIDER names cannot be had"}
}
