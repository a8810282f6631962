package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

type doctorOptions struct {
	pack string
	live bool
}

// NewDoctor is agentclash doctor. It sends nothing over the network without --live.
func NewDoctor(a *cli.App) *cobra.Command {
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
		Args:    cli.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), a, o) },
	}
	c.Flags().StringVar(&o.pack, "pack", "", "pack that is to be run")
	c.Flags().BoolVar(&o.live, "live", false, "make one small call with each key and provider account")
	return c
}

func runDoctor(ctx context.Context, a *cli.App, o doctorOptions) error {
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	d := view.DoctorDocument{Ready: true, Workspace: workspace, Checks: examine(ctx, a, workspace, o)}
	for _, c := range d.Checks {
		if c.Status != view.CheckOK && c.Status != view.CheckInfo {
			d.Ready = false
		}
		if c.NextStep != "" {
			d.NextSteps = append(d.NextSteps, c.NextStep)
		}
	}
	err = a.Print(d, func(w io.Writer, o view.Options) error { return view.Doctor(w, d, o) })
	if err != nil || d.Ready {
		return err
	}
	return cli.Exit(cli.StatusError)
}

// examine makes all checks, in the order in which they are shown.
func examine(ctx context.Context, a *cli.App, workspace string, o doctorOptions) []view.Check {
	checks := []view.Check{checkInstall(a), checkStore(ctx, a)}
	var wanted *pack.Pack
	var invalid error
	template := ""
	if o.pack != "" {
		if wanted, invalid = selector.RunnablePack(ctx, a, o.pack); invalid == nil {
			template = sandboxes.TemplateOf(wanted)
		}
	}
	boxCheck, kind, answers := checkBoxes(ctx, a, template)
	if slug := packNeedsDocker(ctx, a, workspace); kind == sandboxes.SandboxAuto && boxCheck.Status == view.CheckWarn && !answers && slug != "" {
		boxCheck.Status, boxCheck.Detail = view.CheckFail, boxCheck.Detail+", and "+slug+" is one"
	}
	if !answers && kind == sandboxes.SandboxAuto && wanted != nil && plan.NeedsOf(wanted).Process {
		boxCheck.Status = view.CheckFail
	}
	checks = append(checks, boxCheck)
	engine := answers && (kind == sandboxes.SandboxAuto || kind == sandboxes.SandboxDocker)
	var image view.Check
	if engine {
		image = checkImage(ctx, a)
		checks = append(checks, image)
	}
	checks = append(checks, checkKeys(a))
	if proxies := checkProxies(a); proxies.Detail != "" {
		checks = append(checks, proxies)
	}
	checks = append(checks, checkStored(ctx, a, workspace)...)
	checks = append(checks, checkOrphans(ctx, a, workspace, engine), checkTerminal(a))
	if o.live {
		checks = append(checks, checkLive(ctx, a)...)
	}
	switch {
	case invalid != nil:
		checks = append(checks, view.Check{Name: "pack_manifest", Status: view.CheckFail, Detail: invalid.Error(), NextStep: "agentclash challenge-pack validate " + o.pack})
	case wanted != nil:
		checks = append(checks, checkPack(ctx, a, wanted, workspace, kind, answers, image)...)
	}
	return checks
}

func checkInstall(a *cli.App) view.Check {
	b := cli.ReadBuildInfo()
	c := view.Check{Name: "install", Status: view.CheckOK, Detail: fmt.Sprintf("agentclash %s, %s/%s", b.Version, runtime.GOOS, runtime.GOARCH),
		Metadata: map[string]any{"version": b.Version}}
	if schema, err := store.NewestSchema(); err == nil {
		c.Detail += fmt.Sprintf(", store schema %d", schema)
		c.Metadata["store_schema"] = schema
	}
	return c
}

// checkProxies says by which proxies the network is reached, nothing where none is set.
func checkProxies(a *cli.App) view.Check {
	c := view.Check{Name: "proxies", Status: view.CheckInfo, Metadata: map[string]any{}}
	var said []string
	for _, scheme := range []string{"https", "http"} {
		p, err := a.ProxyFor(scheme + "://model.invalid")
		switch {
		case err != nil:
			c.Status, c.NextStep = view.CheckFail, cli.Classify(err).Next
			said = append(said, err.Error())
		case p.URL != nil:
			c.Metadata[p.Variable] = p.URL.String()
			said = append(said, p.Variable+": "+p.URL.String())
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if except := a.Process.Getenv(name); except != "" && len(said) > 0 {
			c.Metadata[name] = except
			said = append(said, name+": "+except)
			break
		}
	}
	c.Detail = strings.Join(said, "; ")
	return c
}

// checkTerminal says what a live screen has to show itself on.
func checkTerminal(a *cli.App) view.Check {
	c := view.Check{Name: "terminal", Status: view.CheckOK}
	width, height, ok := a.Process.Terminal()
	if !ok {
		c.Status, c.Detail = view.CheckInfo, "none: --follow writes plain lines"
		return c
	}
	color := "no colour"
	if a.Color() {
		color = "colour"
	}
	c.Detail = fmt.Sprintf("%dx%d, %s", width, height, color)
	if width < 80 || height < 24 {
		c.Status, c.Detail, c.NextStep = view.CheckInfo, c.Detail+": the live screen is made for 80x24 and more", "make the window larger"
	}
	return c
}

// checkImage looks for the image of sandboxes, and fetches nothing.
func checkImage(ctx context.Context, a *cli.App) view.Check {
	c := view.Check{Name: "image", Status: view.CheckOK}
	name, err := sandboxes.Image(a, "")
	if err != nil {
		return view.Check{Name: "image", Status: view.CheckFail, Detail: err.Error(), NextStep: cli.Classify(err).Next}
	}
	boxes, err := sandboxes.LocalBoxes(ctx, a, sandboxes.SandboxDocker, name, true)
	if err != nil {
		return view.Check{Name: "image", Status: view.CheckWarn, Detail: err.Error(), NextStep: "agentclash doctor"}
	}
	defer sandboxes.CloseBoxes(ctx, a, boxes)
	d, err := boxes.Describe(ctx, sandbox.Spec{})
	var box *sandbox.BoxError
	switch {
	case errors.As(err, &box) && box.Kind == sandbox.Image:
		c.Status, c.NextStep = view.CheckInfo, "docker pull "+name
		c.Detail = name + " is not here: the first run pulls it; --image builtin needs no registry"
	case err != nil:
		c.Status, c.Detail, c.NextStep = view.CheckWarn, err.Error(), "agentclash doctor"
	case strings.Contains(d.Note, "stands in"):
		c.Detail = name + " is not here; agentclash/sandbox:local stands in where it cannot be pulled"
	default:
		c.Detail = d.Image
	}
	return c
}

// checkBoxes looks at what sandboxes are made with: what SANDBOX_PROVIDER says,
// else Docker. template is the pack's own, "" for none. It returns the kind of
// --sandbox that was looked at, "" for none that there is, and whether it is to
// be had.
func checkBoxes(ctx context.Context, a *cli.App, template string) (check view.Check, kind string, answers bool) {
	kind, err := sandboxes.SandboxKind(a, "", "")
	if err != nil {
		return view.Check{Name: "sandbox", Status: view.CheckFail, Detail: err.Error(), NextStep: "unset SANDBOX_PROVIDER"}, "", false
	}
	switch kind {
	case sandboxes.SandboxE2B:
		check, answers = checkE2B(a, template)
	case sandboxes.SandboxScratch:
		check, answers = view.Check{Name: sandboxes.SandboxScratch, Status: view.CheckOK, Detail: "each trial gets a directory of this machine, in which no programs are run"}, true
	default:
		if check, answers = checkDocker(ctx, a); !answers && kind == sandboxes.SandboxDocker {
			check.Status = view.CheckFail // nothing else will do
		}
	}
	return check, kind, answers
}

func checkE2B(a *cli.App, template string) (view.Check, bool) {
	at, err := sandboxes.E2bAddress(a, template)
	if err != nil {
		next := "export E2B_API_KEY=... E2B_TEMPLATE_ID=..."
		if template != "" {
			next = "export E2B_API_KEY=..."
		}
		return view.Check{Name: sandboxes.SandboxE2B, Status: view.CheckFail, Detail: strings.ReplaceAll(err.Error(), "\n", "; "), NextStep: next}, false
	}
	return view.Check{Name: sandboxes.SandboxE2B, Status: view.CheckOK, Detail: "sandboxes are made by " + at + "; the key is not tried here"}, true
}

func checkDocker(ctx context.Context, a *cli.App) (view.Check, bool) {
	e, err := sandboxes.ProbeDocker(ctx, a)
	if err != nil {
		return view.Check{Name: sandboxes.SandboxDocker, Status: view.CheckWarn, Detail: err.Error() + "; packs that run programs need an engine",
			NextStep: "start Docker, or export DOCKER_HOST=..."}, false
	}
	if _, err := sandboxes.ReadGuest(a.Process.Getenv("AGENTCLASH_GUEST"), e.Arch); err != nil {
		return view.Check{Name: sandboxes.SandboxDocker, Status: view.CheckWarn, Detail: "an engine answers, but no sandbox can be had: " + err.Error(),
			NextStep: "install a released agentclash, or build one with make build"}, false
	}
	c := view.Check{Name: sandboxes.SandboxDocker, Status: view.CheckOK, Detail: fmt.Sprintf("%s %s at %s, %d CPUs, %.1f GB", e.Name, e.Version, e.Host, e.CPUs, float64(e.MemoryBytes)/1e9)}
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
	case kind == sandboxes.SandboxScratch && needs.Process:
		return view.Check{Status: view.CheckFail, Detail: "the pack runs programs or installs packages, and a scratch directory does neither", NextStep: "export SANDBOX_PROVIDER=docker"}
	case kind == sandboxes.SandboxE2B && packages != "":
		return view.Check{Status: view.CheckFail, Detail: "E2B installs no packages: make a template that has " + packages + ", and name it in sandbox_template_id"}
	case kind == sandboxes.SandboxScratch:
		return view.Check{Status: view.CheckOK, Detail: "each of its trials gets a scratch directory"}
	case answers && kind == sandboxes.SandboxE2B:
		return view.Check{Status: view.CheckOK, Detail: "its trials run in E2B's machines"}
	case answers:
		detail := "its trials run in containers"
		if packages != "" {
			detail += fmt.Sprintf("; the first run installs %d package(s) into its image, which needs a network that one time: %s", len(needs.Spec.Packages), packages)
		}
		return view.Check{Status: view.CheckOK, Detail: detail}
	case kind == sandboxes.SandboxAuto && !needs.Process:
		return view.Check{Status: view.CheckOK, Detail: "no programs are run, so a scratch directory is enough"}
	case kind == sandboxes.SandboxAuto:
		return view.Check{Status: view.CheckFail, Detail: "the pack runs programs or installs packages and no Docker engine answers", NextStep: "start Docker"}
	}
	return view.Check{Status: view.CheckFail, Detail: "the pack needs a sandbox, and the one that SANDBOX_PROVIDER names cannot be had"}
}
