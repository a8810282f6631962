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
	"github.com/agentclash/agentclash/store"
)

// version finds a version by NAME@N, id or the end of an id.
func (a *app) version(ctx context.Context, selector string) (store.BuildVersion, error) {
	db, ok, err := a.reading(ctx)
	if err != nil {
		return store.BuildVersion{}, err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return store.BuildVersion{}, err
	}
	if ok {
		v, err := db.BuildVersion(ctx, workspace, strings.TrimSpace(selector))
		if !errors.Is(err, store.ErrNotFound) {
			return v, err
		}
	}
	name, _, _ := strings.Cut(selector, "@")
	return store.BuildVersion{}, (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no build version %q", selector)}).
		hint("agentclash build version list %s", name)
}

func newVersionList(a *app) *cobra.Command {
	var page listOptions
	c := &cobra.Command{
		Use: "list BUILD", Short: "List the versions of a build, oldest first", Args: exactArgs("BUILD"),
		Example: "  agentclash build version list reviewer",
		RunE: func(c *cobra.Command, args []string) error {
			if err := page.check(); err != nil {
				return err
			}
			r, err := a.findBuild(c.Context(), args[0])
			if err != nil {
				return err
			}
			versions, err := a.versions(c.Context(), r)
			if err != nil {
				return err
			}
			list := make([]view.BuildVersion, len(versions))
			for i, v := range versions {
				list[i] = viewVersion(v)
			}
			shown := pageOf(list, page)
			return a.print(shown, func(w io.Writer, o view.Options) error {
				if shown.Total == 0 {
					a.say("! no versions yet: a run makes one of the agent spec it is of; agentclash build version create %s", r.Name)
				}
				sayMore(a, shown)
				return view.BuildVersionList(w, shown, o)
			})
		},
	}
	page.addFlags(c.Flags())
	return c
}

type versionOptions struct{ kind, file, template string }

func newVersionCreate(a *app) *cobra.Command {
	var o versionOptions
	c := &cobra.Command{
		Use: "create BUILD", Short: "Make a draft of a file, a template or the repository's agent spec", Args: exactArgs("BUILD"),
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

func runVersionCreate(ctx context.Context, a *app, o versionOptions, build string) error {
	if o.kind != spec.LLMAgent {
		return usage("--agent-kind must be %s: a program or an endpoint is a deployment of the kind command or http", spec.LLMAgent)
	}
	if o.file != "" && o.template != "" {
		return usage("--spec-file and --template are two agent specs: choose one")
	}
	r, err := a.findBuild(ctx, build)
	if err != nil {
		return err
	}
	s, err := a.wantedSpec(o, r.Name)
	if err != nil {
		return err
	}
	r, db, err := a.keptBuild(ctx, r.Name)
	if err != nil {
		return err
	}
	v, err := db.SaveBuildVersion(ctx, r.ID, s.digest, s.document, false)
	if err != nil {
		return err
	}
	return a.printVersion(v, "created")
}

// wantedSpec is the agent spec that flags mean for a build.
func (a *app) wantedSpec(o versionOptions, build string) (agentSpec, error) {
	if o.template != "" {
		list := spec.Templates()
		i := slices.IndexFunc(list, func(t spec.Template) bool { return t.Name == o.template })
		if i < 0 {
			return agentSpec{}, (&failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no template %q", o.template)}).
				hint("agentclash build version templates")
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
		if file = a.agentFile(build); file == "" {
			return agentSpec{}, usage("no agent spec: give --spec-file or --template, or write %s/%s.yaml", spec.AgentsDir, build).
				hint("agentclash build version templates")
		}
	}
	return a.readAgent(file)
}

func (a *app) printVersion(v store.BuildVersion, action string) error {
	doc := view.BuildVersionDocument{BuildVersion: viewVersion(v), Spec: v.Document, Action: action}
	return a.print(doc, func(w io.Writer, o view.Options) error {
		if action != "" {
			a.say("✓ build version %s: %s", v.Ref(), action)
			return nil
		}
		return view.BuildVersionGet(w, doc, o)
	})
}

func newVersionGet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "get VERSION", Short: "Show one version, by BUILD@N or id", Args: exactArgs("VERSION"),
		Example: "  agentclash build version get reviewer@1",
		RunE: func(c *cobra.Command, args []string) error {
			v, err := a.version(c.Context(), args[0])
			if err != nil {
				return err
			}
			return a.printVersion(v, "")
		},
	}
}

func newVersionUpdate(a *app) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "update VERSION", Short: "Change the content of a draft", Args: exactArgs("VERSION"),
		Example: "  agentclash build version update reviewer@1 --spec-file agent.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			v, err := a.version(ctx, args[0])
			if err != nil {
				return err
			}
			s, err := a.wantedSpec(versionOptions{file: file}, v.Build)
			if err != nil {
				return err
			}
			db, err := a.store(ctx)
			if err != nil {
				return err
			}
			v, err = db.UpdateBuildVersion(ctx, v, s.digest, s.document)
			if errors.Is(err, store.ErrConflict) {
				name, _, _ := strings.Cut(args[0], "@")
				return classify(err).hint("agentclash build version create %s --spec-file FILE makes another version", name)
			}
			if err != nil {
				return err
			}
			return a.printVersion(v, "updated")
		},
	}
	c.Flags().StringVar(&file, "spec-file", "", "file with the agent spec (default: the repository's of the build)")
	return c
}

func newVersionValidate(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "validate VERSION|FILE", Short: "Check an agent spec: a version or a file", Args: exactArgs("VERSION|FILE"),
		Long: `Check an agent spec: a version by BUILD@N or id, or a file. Everything that is wrong
with a file is said at once, with its place, and the status is 64.`,
		Example: "  agentclash build version validate reviewer@1\n  agentclash build version validate agent.yaml",
		RunE: func(c *cobra.Command, args []string) error {
			var digest string
			if looksLikePath(args[0]) || exists(a.path(args[0])) {
				s, err := a.readAgent(args[0])
				if err != nil {
					return err
				}
				digest = s.digest
			} else {
				v, err := a.version(c.Context(), args[0])
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
			return a.print(doc, func(io.Writer, view.Options) error {
				a.say("✓ %s is valid", args[0])
				return nil
			})
		},
	}
}

func newVersionReady(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "ready VERSION", Short: "Freeze a draft for good", Args: exactArgs("VERSION"),
		Long: `Freeze a draft for good. The newest version that is ready is the one that a
deployment means by the build's name where the repository has no agent spec of it.
A run freezes the version that it is of by itself.`,
		Example: "  agentclash build version ready reviewer@1",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			v, err := a.version(ctx, args[0])
			if err != nil {
				return err
			}
			r, db, err := a.keptBuild(ctx, v.Build)
			if err != nil {
				return err
			}
			if v, err = db.SaveBuildVersion(ctx, r.ID, v.Digest, v.Document, true); err != nil {
				return err
			}
			return a.printVersion(v, "ready")
		},
	}
}

func newVersionTemplates(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "templates", Short: "List the agent specs to begin with", Args: noArgs,
		Example: "  agentclash build version templates\n  agentclash build version templates --json --query '.items[0].source'",
		RunE: func(*cobra.Command, []string) error {
			var list []view.BuildTemplate
			for _, t := range spec.Templates() {
				list = append(list, view.BuildTemplate(t))
			}
			return a.print(pageOf(list, listOptions{}), func(w io.Writer, o view.Options) error {
				return view.BuildTemplateList(w, pageOf(list, listOptions{}), o)
			})
		},
	}
}
