package setup

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/spf13/cobra"
)

// NewWorkspace is agentclash workspace.
func NewWorkspace(a *cli.App) *cobra.Command {
	return cli.Group("workspace", "Keep runs, packs and secrets of several projects apart",
		newWorkspaceList(a), newWorkspaceGet(a), newWorkspaceCreate(a), newWorkspaceUse(a), newWorkspaceDelete(a),
		NewHosted("members"), NewHosted("update"))
}

// workspaceDocument is a workspace as it is printed.
type workspaceDocument struct {
	Name        string     `json:"name"`
	Current     bool       `json:"current"` // what commands here work in
	Runs        int        `json:"runs"`
	Packs       int        `json:"challenge_packs"`
	Deployments int        `json:"deployments"`
	Baselines   int        `json:"baselines"`
	Secrets     int        `json:"secrets"`
	LastRunAt   *time.Time `json:"last_run_at"`
	CreatedAt   *time.Time `json:"created_at"` // null for one that came to be by being used
}

func documentOf(a *cli.App, w cli.Workspace) (workspaceDocument, error) {
	current, err := a.WorkspaceName()
	return workspaceDocument{w.Name, w.Name == current, w.Runs, w.Packs, w.Deployments, w.Baselines, w.Secrets,
		selector.When(w.LastRunAt), selector.When(w.CreatedAt)}, err
}

func newWorkspaceList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the workspaces and what is in them", Args: cli.NoArgs,
		Example: "  agentclash workspace list\n  agentclash workspace list --json --query '.items[].name'",
		RunE:    func(c *cobra.Command, _ []string) error { return runWorkspaceList(c.Context(), a) },
	}
}

func runWorkspaceList(ctx context.Context, a *cli.App) error {
	list, err := a.Workspaces(ctx)
	if err != nil {
		return err
	}
	doc := struct {
		Items []workspaceDocument `json:"items"`
	}{}
	for _, w := range list {
		item, err := documentOf(a, w)
		if err != nil {
			return err
		}
		doc.Items = append(doc.Items, item)
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error {
		t := view.Table{Columns: []view.Column{{Title: "NAME"}, {Title: "HERE", Keep: true}, {Title: "RUNS", Right: true, Keep: true},
			{Title: "PACKS", Right: true, Keep: true}, {Title: "DEPLOYMENTS", Right: true, Keep: true}, {Title: "LAST RUN", Keep: true}}}
		for _, d := range doc.Items {
			t.Add(view.Text(d.Name), view.Text(hereMark(d.Current)), number(d.Runs), number(d.Packs), number(d.Deployments), view.Text(lastRun(d, o)))
		}
		return t.Write(w, o)
	})
}

func hereMark(current bool) string {
	if current {
		return "yes"
	}
	return ""
}

func number(n int) view.Cell { return view.Text(strconv.Itoa(n)) }

func lastRun(d workspaceDocument, o view.Options) string {
	if d.LastRunAt == nil {
		return ""
	}
	return o.Time(*d.LastRunAt)
}

func newWorkspaceGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get [NAME]", Short: "Show one workspace, without a name the current one", Args: cli.UpTo(1),
		Example: "  agentclash workspace get\n  agentclash workspace get default --json",
		RunE:    func(c *cobra.Command, args []string) error { return runWorkspaceGet(c.Context(), a, args) },
	}
}

func runWorkspaceGet(ctx context.Context, a *cli.App, args []string) error {
	name, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		name = args[0]
	}
	w, err := a.KnownWorkspace(ctx, name)
	if err != nil {
		return err
	}
	doc, err := documentOf(a, w)
	if err != nil {
		return err
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error {
		t := view.Table{Columns: []view.Column{{Title: "WORKSPACE", Keep: true}, {Title: doc.Name}}}
		t.Add(view.Text("current"), view.Text(strconv.FormatBool(doc.Current)))
		t.Add(view.Text("runs"), number(doc.Runs))
		t.Add(view.Text("challenge packs"), number(doc.Packs))
		t.Add(view.Text("deployments"), number(doc.Deployments))
		t.Add(view.Text("baselines"), number(doc.Baselines))
		t.Add(view.Text("secrets"), number(doc.Secrets))
		t.Add(view.Text("last run"), view.Text(lastRun(doc, o)))
		return t.Write(w, o)
	})
}

func newWorkspaceCreate(a *cli.App) *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a workspace", Args: cli.UpTo(1),
		Long: `Make a workspace by its name. One also comes to be when something is kept in it:
a run, a pack, a deployment or a secret.`,
		Example: "  agentclash workspace create checkout",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && name != "" {
				return cli.Usage("give the name once: as NAME or as --name")
			}
			if len(args) > 0 {
				name = args[0]
			}
			return runWorkspaceCreate(c.Context(), a, name)
		},
	}
	c.Flags().StringVar(&name, "name", "", "the name, as another way to say it")
	return c
}

func runWorkspaceCreate(ctx context.Context, a *cli.App, name string) error {
	if name == "" {
		return cli.Usage("workspace create needs NAME").Hint("agentclash workspace create NAME")
	}
	if !config.ValidWorkspace(name) {
		return cli.Usage("%q is no name for a workspace: letters, digits, dots, hyphens and underscores, at most 100", name)
	}
	list, err := a.Workspaces(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.Name == name {
			return (&cli.Failure{Status: cli.StatusUsage, Code: "conflict", Err: fmt.Errorf("there is a workspace %s already", name)}).Hint("agentclash workspace use %s", name)
		}
	}
	if err := a.CreateWorkspace(ctx, name); err != nil {
		return err
	}
	return a.Print(map[string]string{"name": name, "action": "created"}, func(io.Writer, view.Options) error {
		a.Say("✓ workspace %s: agentclash -w %s ..., agentclash workspace use %s, or agentclash link %s", name, name, name, name)
		return nil
	})
}

func newWorkspaceUse(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Make a workspace this user's default", Args: cli.ExactArgs("NAME"),
		Long: `Work in a workspace wherever nothing else names one: agentclash link binds a
directory to one, AGENTCLASH_WORKSPACE and -w win over both.`,
		Example: "  agentclash workspace use default",
		RunE:    func(c *cobra.Command, args []string) error { return runLink(c.Context(), a, args[0], config.User) },
	}
}
