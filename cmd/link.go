package cmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/huh"
	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/view"
)

func newLink(a *app) *cobra.Command {
	var user bool
	c := &cobra.Command{
		Use: "link [WORKSPACE]", Short: "Bind this directory, or this user, to a workspace", Args: upTo(1),
		Long: `Write the workspace into the nearest .agentclash.yaml, or a new one here, so
that all commands from here on work in it. With --user it is written into the
user's own configuration instead. Without a name, a person is asked.`,
		Example: "  agentclash link default\n  agentclash link default --user",
		RunE: func(c *cobra.Command, args []string) error {
			name, err := a.namedWorkspace(c.Context(), args)
			if err != nil {
				return err
			}
			source := config.Project
			if user {
				source = config.User
			}
			return runLink(c.Context(), a, name, source)
		},
	}
	c.Flags().BoolVar(&user, "user", false, "bind this user, not this directory")
	return c
}

// namedWorkspace is the argument, or what a person chooses.
func (a *app) namedWorkspace(ctx context.Context, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	list, err := a.workspaces(ctx)
	if err != nil {
		return "", err
	}
	names := make([]string, len(list))
	options := make([]huh.Option[string], len(list))
	for i, w := range list {
		names[i], options[i] = w.Name, huh.NewOption(view.SanitizeLine(w.Name), w.Name)
	}
	switch {
	case len(list) == 1:
		return list[0].Name, nil
	case !a.interactive():
		return "", usage("link needs a workspace: there are %s", strings.Join(names, ", ")).hint("agentclash link WORKSPACE")
	}
	var chosen string
	if err := huh.NewSelect[string]().Title("Workspace").Options(options...).Value(&chosen).Run(); err != nil {
		return "", fmt.Errorf("choose a workspace: %w", err)
	}
	return chosen, nil
}

// runLink writes a workspace into the project's or the user's file.
func runLink(ctx context.Context, a *app, name string, source config.Source) error {
	if _, err := a.knownWorkspace(ctx, name); err != nil {
		return err
	}
	path, err := a.userConfig()
	if source == config.Project {
		if path, err = a.projectConfig(); path == "" {
			path = filepath.Join(a.p.Dir, projectFile)
		}
	}
	if err != nil {
		return err
	}
	s, _ := config.Find(config.Workspace)
	if err := a.changeConfig(ctx, path, source, s, &name); err != nil {
		return err
	}
	err = a.print(map[string]string{"workspace": name, "file": path, "scope": string(source)}, func(io.Writer, view.Options) error {
		a.say("✓ workspace %s, in %s", name, a.shown(path))
		return nil
	})
	a.sayOverridden(s, source)
	return err
}
