package agents

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

const profileFamily = "infra runtime-profile"

// NewRuntimeProfile is agentclash infra runtime-profile. A profile is archived and not
// deleted: deployments may name it.
func NewRuntimeProfile(a *cli.App) *cobra.Command {
	return cli.Group("runtime-profile", "Name limits of agents and options of their sandboxes",
		newProfileList(a), newProfileCreate(a), newProfileGet(a), newProfileArchive(a))
}

func newProfileCreate(a *cli.App) *cobra.Command {
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
		Args: cli.NoArgs,
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
			p, err := Written(a, c, Source[spec.RuntimeProfile]{"runtime profile", file, spec.ParseProfile}, p)
			if err != nil {
				return err
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

func runProfileCreate(ctx context.Context, a *cli.App, p spec.RuntimeProfile) error {
	p.Name = strings.TrimSpace(p.Name)
	stored, err := KeepResource(ctx, a, store.RuntimeProfile, p.Name, p)
	if errors.Is(err, store.ErrConflict) {
		return cli.Classify(err).Hint("give it another name; agentclash infra runtime-profile list")
	}
	if err != nil {
		return err
	}
	v, err := viewProfile(stored)
	if err != nil {
		return err
	}
	return a.Print(v, func(io.Writer, view.Options) error {
		a.Say("✓ runtime profile %s", p.Name)
		return nil
	})
}

func viewProfile(r store.Resource) (view.RuntimeProfile, error) {
	p, err := Document[spec.RuntimeProfile](r)
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
		Image: p.Image, Memory: p.Memory, CPUs: p.CPUs, AllowShell: p.AllowShell, AllowNetwork: p.AllowNetwork, CreatedAt: selector.When(r.CreatedAt),
	}
}

func newProfileList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "list", Short: "List the runtime profiles that may be chosen", Args: cli.NoArgs,
		Example: "  agentclash infra runtime-profile list",
	}
	return cli.List(a, c, "", func(ctx context.Context, _ []string) ([]view.RuntimeProfile, error) {
		list, err := Listed(ctx, a, store.RuntimeProfile, viewProfile)
		own := profileView(spec.RuntimeProfile{Name: spec.DefaultProfile}, store.Resource{})
		return append([]view.RuntimeProfile{own}, list...), err
	}, view.RuntimeProfileList)
}

// profile finds a runtime profile; the default one is always there.
func profile(ctx context.Context, a *cli.App, selector string) (spec.RuntimeProfile, store.Resource, error) {
	if strings.EqualFold(strings.TrimSpace(selector), spec.DefaultProfile) {
		return spec.RuntimeProfile{Name: spec.DefaultProfile}, store.Resource{}, nil
	}
	r, err := Resource(ctx, a, store.RuntimeProfile, profileFamily, selector)
	if err != nil {
		return spec.RuntimeProfile{}, r, err
	}
	p, err := Document[spec.RuntimeProfile](r)
	return p, r, err
}

func newProfileGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get PROFILE", Short: "Show a runtime profile", Args: cli.ExactArgs("PROFILE"),
		Example: "  agentclash infra runtime-profile get default",
		RunE: func(c *cobra.Command, args []string) error {
			p, r, err := profile(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			v := profileView(p, r)
			return a.Print(v, func(w io.Writer, o view.Options) error { return view.RuntimeProfileDetails(w, v, o) })
		},
	}
}

func newProfileArchive(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "archive PROFILE", Short: "Keep a runtime profile from being chosen", Args: cli.ExactArgs("PROFILE"),
		Long: `Keep a runtime profile from being chosen. Deployments that name it run on with it;
its name stays taken. The default profile stays.`,
		Example: "  agentclash infra runtime-profile archive small",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			_, r, err := profile(ctx, a, args[0])
			if err != nil {
				return err
			}
			if r.ID == "" {
				return cli.Usage("the default profile is always there")
			}
			users, err := deploymentsThat(ctx, a, func(d view.Deployment) bool { return strings.EqualFold(d.RuntimeProfile, r.Name) })
			if err != nil {
				return err
			}
			db, err := a.Store(ctx)
			if err != nil {
				return err
			}
			if err := db.ArchiveResource(ctx, r.ID); err != nil {
				return err
			}
			doc := map[string]any{"runtime_profile_id": r.ID, "name": r.Name, "action": "archived", "deployments": view.List[string](users)}
			return a.Print(doc, func(io.Writer, view.Options) error {
				a.Say("✓ runtime profile %s: archived", r.Name)
				if len(users) > 0 {
					a.Say("note: deployments that name it run on with it: %s", strings.Join(users, ", "))
				}
				return nil
			})
		},
	}
}

// byProfile fills in what a deployment takes from the runtime profile it names.
func byProfile(ctx context.Context, a *cli.App, d plan.Deployment) (plan.Deployment, error) {
	if d.Profile == "" {
		return d, nil
	}
	p, _, err := profile(ctx, a, d.Profile)
	if err != nil {
		return d, inDeployment(d, err)
	}
	return p.Fill(d), nil
}

// WithProfile gives the profile of a flag to the agents that have none of their own.
func WithProfile(ctx context.Context, a *cli.App, name string, agents []plan.Deployment) ([]plan.Deployment, error) {
	if name == "" {
		return agents, nil
	}
	p, r, err := profile(ctx, a, name)
	if err != nil {
		return nil, err
	}
	if !r.ArchivedAt.IsZero() {
		return nil, cli.Usage("the runtime profile %s is archived", r.Name).Hint("agentclash infra runtime-profile list")
	}
	for i, d := range agents {
		if d.Profile == "" {
			d.Profile = p.Name
			agents[i] = p.Fill(d)
		}
	}
	return agents, nil
}

// ProfiledImage is the sandbox image that the agents name, "" for none. A run has
// one.
func ProfiledImage(agents []plan.Deployment) (string, error) {
	image := ""
	for _, d := range agents {
		switch own := d.Sandbox.Image; {
		case own == "" || own == image:
		case image != "":
			return "", cli.Usage("the agents name different sandbox images, %s and %s, and a run has one", image, own).Hint("choose one with --image")
		default:
			image = own
		}
	}
	return image, nil
}
