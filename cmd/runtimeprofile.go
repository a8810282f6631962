package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
)

const profileFamily = "infra runtime-profile"

func newRuntimeProfile(a *app) *cobra.Command {
	return group("runtime-profile", "Name limits of agents and options of their sandboxes",
		newProfileList(a), newProfileCreate(a), newProfileGet(a), newProfileArchive(a))
}

func newProfileCreate(a *app) *cobra.Command {
	var p spec.RuntimeProfile
	var file string
	var reminders int
	var shell, network bool
	var cpus float64
	c := &cobra.Command{
		Use: "create", Short: "Keep limits and sandbox options under a name",
		Long: `Keep limits of agents and options of their sandboxes under a name, for
--runtime-profile of deployments and of eval start. A deployment's own limits have
precedence over its profile's, the pack's over both; memory, cpus and the image of
a profile have precedence over the pack's, and --image over all. Memory and cpus
are those of Docker and E2B sandboxes.`,
		Example: `  agentclash infra runtime-profile create --name small --max-iterations 10 --run-timeout 300
  agentclash infra runtime-profile create --name large --memory 4GiB --cpus 4 --image python:3.12-slim
  agentclash infra runtime-profile create --from-file profile.yaml`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f := c.LocalFlags()
			if f.Changed("text-reminders") {
				p.TextReminders = &reminders
			}
			if f.Changed("allow-shell") {
				p.AllowShell = &shell
			}
			if f.Changed("allow-network") {
				p.AllowNetwork = &network
			}
			if f.Changed("cpus") {
				p.CPUs = &cpus
			}
			if file != "" {
				if onlyFlag(f, "from-file") != nil {
					return usage("--from-file holds the whole profile: leave out the other flags")
				}
				var err error
				if p, err = readResource(a, "runtime profile", file, spec.ParseProfile); err != nil {
					return err
				}
			} else if err := p.Check(); err != nil {
				return usage("infra runtime-profile create: %w", err).hint("agentclash infra runtime-profile create --help")
			}
			return runProfileCreate(c.Context(), a, p)
		},
	}
	f := c.Flags()
	f.StringVar(&file, "from-file", "", "YAML or JSON file with the profile's fields")
	f.StringVar(&p.Name, "name", "", "name of the profile")
	f.IntVar(&p.MaxIterations, "max-iterations", 0, "steps of one trial (0: 50)")
	f.IntVar(&p.MaxToolCalls, "max-tool-calls", 0, "tool calls of one trial (0: 100)")
	f.IntVar(&p.StepTimeoutSeconds, "step-timeout", 0, "seconds for one model call (0: 120)")
	f.IntVar(&p.RunTimeoutSeconds, "run-timeout", 0, "seconds for one trial (0: 1800)")
	f.Int64Var(&p.MaxOutputTokens, "max-output-tokens", 0, "tokens of one reply (0: 8192)")
	f.IntVar(&reminders, "text-reminders", 1, "how often an agent that answers in text alone is told that only submit counts (0 to 5)")
	f.StringVar(&p.Image, "image", "", "sandbox image of the run, unless --image names another")
	f.StringVar(&p.Memory, "memory", "", "memory of each sandbox, such as 2GiB")
	f.Float64Var(&cpus, "cpus", 0, "processors of each sandbox, 0.01 to 1024")
	f.BoolVar(&shell, "allow-shell", false, "let agents run programs, or with =false keep them from it")
	f.BoolVar(&network, "allow-network", false, "permit http_request, or with =false close the network")
	return c
}

func runProfileCreate(ctx context.Context, a *app, p spec.RuntimeProfile) error {
	p.Name = strings.TrimSpace(p.Name)
	stored, err := a.keepResource(ctx, store.RuntimeProfile, p.Name, p)
	if errors.Is(err, store.ErrConflict) {
		return classify(err).hint("give it another name; agentclash infra runtime-profile list")
	}
	if err != nil {
		return err
	}
	v, err := viewProfile(stored)
	if err != nil {
		return err
	}
	return a.print(v, func(io.Writer, view.Options) error {
		a.say("✓ runtime profile %s", p.Name)
		return nil
	})
}

func viewProfile(r store.Resource) (view.RuntimeProfile, error) {
	p, err := document[spec.RuntimeProfile](r)
	return profileView(p, r), err
}

// profileView shows the limits that hold where the profile says none.
func profileView(p spec.RuntimeProfile, r store.Resource) view.RuntimeProfile {
	l := spec.FillLimits(p.Limits, plan.DefaultLimits())
	status := "active"
	if !r.ArchivedAt.IsZero() {
		status = "archived"
	}
	return view.RuntimeProfile{
		ID: r.ID, Name: p.Name, Status: status, MaxIterations: l.MaxIterations, MaxToolCalls: l.MaxToolCalls,
		StepTimeoutSeconds: l.StepTimeoutSeconds, RunTimeoutSeconds: l.RunTimeoutSeconds, MaxOutputTokens: l.MaxOutputTokens, TextReminders: *l.TextReminders,
		Image: p.Image, Memory: p.Memory, CPUs: p.CPUs, AllowShell: p.AllowShell, AllowNetwork: p.AllowNetwork, CreatedAt: when(r.CreatedAt),
	}
}

func newProfileList(a *app) *cobra.Command {
	var page listOptions
	c := &cobra.Command{
		Use: "list", Short: "List the runtime profiles that may be chosen", Args: noArgs,
		Example: "  agentclash infra runtime-profile list",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := page.check(); err != nil {
				return err
			}
			rows, err := a.resources(c.Context(), store.RuntimeProfile)
			if err != nil {
				return err
			}
			list := []view.RuntimeProfile{profileView(spec.RuntimeProfile{Name: spec.DefaultProfile}, store.Resource{})}
			for _, r := range slices.DeleteFunc(rows, func(r store.Resource) bool { return !r.ArchivedAt.IsZero() }) {
				v, err := viewProfile(r)
				if err != nil {
					return err
				}
				list = append(list, v)
			}
			shown := pageOf(list, page)
			return a.print(shown, func(w io.Writer, o view.Options) error {
				sayMore(a, shown)
				return view.RuntimeProfileList(w, shown, o)
			})
		},
	}
	page.addFlags(c.Flags())
	return c
}

// profile finds a runtime profile; the default one is always there.
func (a *app) profile(ctx context.Context, selector string) (spec.RuntimeProfile, store.Resource, error) {
	if strings.EqualFold(strings.TrimSpace(selector), spec.DefaultProfile) {
		return spec.RuntimeProfile{Name: spec.DefaultProfile}, store.Resource{}, nil
	}
	r, err := a.resource(ctx, store.RuntimeProfile, profileFamily, selector)
	if err != nil {
		return spec.RuntimeProfile{}, r, err
	}
	p, err := document[spec.RuntimeProfile](r)
	return p, r, err
}

func newProfileGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get PROFILE", Short: "Show a runtime profile", Args: exactArgs("PROFILE"),
		Example: "  agentclash infra runtime-profile get default",
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := a.profile(c.Context(), args[0])
			if err != nil {
				return err
			}
			v := profileView(p, r)
			return a.print(v, func(w io.Writer, o view.Options) error { return view.RuntimeProfileDetails(w, v, o) })
		},
	}
}

func newProfileArchive(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "archive PROFILE", Short: "Keep a runtime profile from being chosen", Args: exactArgs("PROFILE"),
		Long: `Keep a runtime profile from being chosen. Deployments that name it run on with it;
its name stays taken. The default profile stays.`,
		Example: "  agentclash infra runtime-profile archive small",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			_, r, err := a.profile(ctx, args[0])
			if err != nil {
				return err
			}
			if r.ID == "" {
				return usage("the default profile is always there")
			}
			users, err := a.deploymentsThat(ctx, func(d view.Deployment) bool { return strings.EqualFold(d.RuntimeProfile, r.Name) })
			if err != nil {
				return err
			}
			db, err := a.store(ctx)
			if err != nil {
				return err
			}
			if err := db.ArchiveResource(ctx, r.ID); err != nil {
				return err
			}
			doc := map[string]any{"runtime_profile_id": r.ID, "name": r.Name, "action": "archived", "deployments": view.List[string](users)}
			return a.print(doc, func(io.Writer, view.Options) error {
				a.say("✓ runtime profile %s: archived", r.Name)
				if len(users) > 0 {
					a.say("note: deployments that name it run on with it: %s", strings.Join(users, ", "))
				}
				return nil
			})
		},
	}
}

// byProfile fills in what a deployment takes from the runtime profile it names.
func (a *app) byProfile(ctx context.Context, d plan.Deployment) (plan.Deployment, error) {
	if d.Profile == "" {
		return d, nil
	}
	p, _, err := a.profile(ctx, d.Profile)
	if err != nil {
		failed := classify(err)
		failed.err = fmt.Errorf("deployment %q: %w", d.Name, failed.err)
		return d, failed
	}
	return p.Fill(d), nil
}

// withProfile gives the profile of a flag to the agents that have none of their own.
func (a *app) withProfile(ctx context.Context, name string, agents []plan.Deployment) ([]plan.Deployment, error) {
	if name == "" {
		return agents, nil
	}
	p, r, err := a.profile(ctx, name)
	if err != nil {
		return nil, err
	}
	if !r.ArchivedAt.IsZero() {
		return nil, usage("the runtime profile %s is archived", r.Name).hint("agentclash infra runtime-profile list")
	}
	for i, d := range agents {
		if d.Profile == "" {
			d.Profile = p.Name
			agents[i] = p.Fill(d)
		}
	}
	return agents, nil
}

// profiledImage is the sandbox image that the agents name, "" for none. A run has
// one.
func profiledImage(agents []plan.Deployment) (string, error) {
	image := ""
	for _, d := range agents {
		switch own := d.Sandbox.Image; {
		case own == "" || own == image:
		case image != "":
			return "", usage("the agents name different sandbox images, %s and %s, and a run has one", image, own).hint("choose one with --image")
		default:
			image = own
		}
	}
	return image, nil
}
