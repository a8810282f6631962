package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// version finds a version by NAME@N, id or the end of an id.
func version(ctx context.Context, a *cli.App, selector string) (store.BuildVersion, error) {
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil {
		return store.BuildVersion{}, err
	}
	if db != nil {
		v, err := db.BuildVersion(ctx, workspace, strings.TrimSpace(selector))
		if !errors.Is(err, store.ErrNotFound) {
			return v, err
		}
	}
	name, _, _ := strings.Cut(selector, "@")
	return store.BuildVersion{}, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no build version %q", selector)}).
		Hint("agentclash build version list %s", name)
}

func newVersionList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "list BUILD", Short: "List the versions of a build, oldest first", Args: cli.ExactArgs("BUILD"),
		Example: "  agentclash build version list reviewer",
	}
	return cli.List(a, c, "no versions yet: a run makes one of the agent spec it is of; agentclash build version create BUILD",
		func(ctx context.Context, args []string) ([]view.BuildVersion, error) {
			r, err := findBuild(ctx, a, args[0])
			if err != nil {
				return nil, err
			}
			versions, err := versions(ctx, a, r)
			list := make([]view.BuildVersion, len(versions))
			for i, v := range versions {
				list[i] = viewVersion(v)
			}
			return list, err
		}, view.BuildVersionList)
}

type versionOptions struct{ kind, file, template string }

func newVersionCreate(a *cli.App) *cobra.Command {
	var o versionOptions
	c := &cobra.Command{
		Use: "create BUILD", Short: "Make a draft of a file, a template or the repository's agent spec", Args: cli.ExactArgs("BUILD"),
		Long: `Make a draft version: of --spec-file, of --template, else of the repository's agent
spec, .agentclash/agents/BUILD.yaml. A version is a content: the same content again
is the same version. It may be changed until it is ready, or was used in a run.`,
		Example: `  agentclash build version create reviewer --template code-reviewer
  agentclash build version create reviewer --spec-file agent.yaml --json`,
		RunE: func(c *cobra.Command, args []string) error { return runVersionCreate(c.Context(), a, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.kind, "agent-kind", spec.LLMAgent, "llm_agent, the one there is: programs and endpoints are kinds of deployments")
	f.StringVar(&o.file, "spec-file", "", "file with the agent spec")
	f.StringVar(&o.template, "template", "", "agent spec that comes with the program: build version templates")
	return c
}

func runVersionCreate(ctx context.Context, a *cli.App, o versionOptions, build string) error {
	if o.kind != spec.LLMAgent {
		return cli.Usage("--agent-kind must be %s: a program or an endpoint is a deployment of the kind command or http", spec.LLMAgent)
	}
	if o.file != "" && o.template != "" {
		return cli.Usage("--spec-file and --template are two agent specs: choose one")
	}
	r, err := findBuild(ctx, a, build)
	if err != nil {
		return err
	}
	s, err := wantedSpec(a, o, r.Name)
	if err != nil {
		return err
	}
	r, db, err := keptBuild(ctx, a, r.Name)
	if err != nil {
		return err
	}
	v, err := db.SaveBuildVersion(ctx, r.ID, s.digest, s.document, false)
	if err != nil {
		return err
	}
	return printVersion(a, v, "created")
}

// wantedSpec is the agent spec that flags mean for a build.
func wantedSpec(a *cli.App, o versionOptions, build string) (agentSpec, error) {
	if o.template != "" {
		list := spec.Templates()
		i := slices.IndexFunc(list, func(t spec.Template) bool { return t.Name == o.template })
		if i < 0 {
			return agentSpec{}, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no template %q", o.template)}).
				Hint("agentclash build version templates")
		}
		agent, _, problems := spec.ParseAgent(o.template, []byte(list[i].Source))
		if err := problems.Err(); err != nil {
			return agentSpec{}, err
		}
		doc, digest, err := agent.Document()
		return agentSpec{agent, doc, digest}, err
	}
	file := o.file
	if file == "" {
		if file = agentFile(a, build); file == "" {
			return agentSpec{}, cli.Usage("no agent spec: give --spec-file or --template, or write %s/%s.yaml", spec.AgentsDir, build).
				Hint("agentclash build version templates")
		}
		return readRepoAgent(a, file)
	}
	return readAgent(a, file, "")
}

func printVersion(a *cli.App, v store.BuildVersion, action string) error {
	doc := view.BuildVersionDocument{BuildVersion: viewVersion(v), Spec: v.Document, Action: action}
	return a.Print(doc, func(w io.Writer, o view.Options) error {
		if action != "" {
			a.Say("✓ build version %s: %s", v.Ref(), action)
			return nil
		}
		return view.BuildVersionGet(w, doc, o)
	})
}

func newVersionGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get VERSION", Short: "Show one version, by BUILD@N or id", Args: cli.ExactArgs("VERSION"),
		Example: "  agentclash build version get reviewer@1",
		RunE: func(c *cobra.Command, args []string) error {
			v, err := version(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			return printVersion(a, v, "")
		},
	}
}

func newVersionUpdate(a *cli.App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "update VERSION", Short: "Change the content of a draft", Args: cli.ExactArgs("VERSION"),
		Example: "  agentclash build version update reviewer@1 --spec-file agent.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			v, err := version(ctx, a, args[0])
			if err != nil {
				return err
			}
			s, err := wantedSpec(a, versionOptions{file: file}, v.Build)
			if err != nil {
				return err
			}
			db, err := a.Store(ctx)
			if err != nil {
				return err
			}
			v, err = db.UpdateBuildVersion(ctx, v, s.digest, s.document)
			if errors.Is(err, store.ErrConflict) {
				name, _, _ := strings.Cut(args[0], "@")
				return cli.Classify(err).Hint("agentclash build version create %s --spec-file FILE makes another version", name)
			}
			if err != nil {
				return err
			}
			return printVersion(a, v, "updated")
		},
	}
	c.Flags().StringVar(&file, "spec-file", "", "file with the agent spec (default: the repository's of the build)")
	return c
}

func newVersionValidate(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "validate VERSION|FILE", Short: "Check an agent spec: a version or a file", Args: cli.ExactArgs("VERSION|FILE"),
		Long: `Check an agent spec: a version by BUILD@N or id, or a file. Everything that is wrong
with a file is said at once, with its place, and the status is 64.`,
		Example: "  agentclash build version validate reviewer@1\n  agentclash build version validate agent.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			var digest string
			if cli.LooksLikePath(args[0]) || cli.Exists(a.Path(args[0])) {
				s, err := readAgent(a, args[0], "")
				if err != nil {
					return err
				}
				digest = s.digest
			} else {
				v, err := version(c.Context(), a, args[0])
				if err != nil {
					return err
				}
				if _, err := spec.ReadDocument(v.Document); err != nil {
					return err
				}
				digest = v.Digest
			}
			doc := struct {
				Valid  bool   `json:"valid"`
				Digest string `json:"digest"`
			}{true, digest}
			return a.Print(doc, func(io.Writer, view.Options) error {
				a.Say("✓ %s is valid", args[0])
				return nil
			})
		},
	}
}

func newVersionReady(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "ready VERSION", Short: "Freeze a draft for good", Args: cli.ExactArgs("VERSION"),
		Long: `Freeze a draft for good. The newest version that is ready is the one that a
deployment means by the build's name where the repository has no agent spec of it.
A run freezes the version that it is of by itself.`,
		Example: "  agentclash build version ready reviewer@1",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			v, err := version(ctx, a, args[0])
			if err != nil {
				return err
			}
			r, db, err := keptBuild(ctx, a, v.Build)
			if err != nil {
				return err
			}
			if v, err = db.SaveBuildVersion(ctx, r.ID, v.Digest, v.Document, true); err != nil {
				return err
			}
			return printVersion(a, v, "ready")
		},
	}
}

func newVersionTemplates(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "templates", Short: "List the agent specs to begin with", Args: cli.NoArgs,
		Example: "  agentclash build version templates\n  agentclash build version templates --json --query '.items[0].source'",
		RunE: func(*cobra.Command, []string) error {
			var list []view.BuildTemplate
			for _, t := range spec.Templates() {
				list = append(list, view.BuildTemplate(t))
			}
			return cli.PrintPage(a, cli.PageOf(list, cli.ListOptions{}), "", view.BuildTemplateList)
		},
	}
}
