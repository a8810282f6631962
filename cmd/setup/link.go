package setup

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/charmbracelet/huh"
	"github.com/spf13/cobra"
)

// NewLink is agentclash link: which workspace a directory or a user works in.
func NewLink(a *cli.App) *cobra.Command {
	var user bool
	c := &cobra.Command{
		Use: "link [WORKSPACE]", Short: "Bind this directory, or this user, to a workspace", Args: cli.UpTo(1),
		Long: `Write the workspace into the nearest .agentclash.yaml, or a new one here, so
that all commands from here on work in it. With --user it is written into the
user's own configuration instead. Without a name, a person is asked.`,
		Example: "  agentclash link default\n  agentclash link default --user",
		RunE: func(c *cobra.Command, args []string) error {
			name, err := namedWorkspace(c.Context(), a, args)
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
func namedWorkspace(ctx context.Context, a *cli.App, args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	list, err := a.Workspaces(ctx)
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
	case !a.Interactive():
		return "", cli.Usage("link needs a workspace: there are %s", strings.Join(names, ", ")).Hint("agentclash link WORKSPACE")
	}
	var chosen string
	if err := huh.NewSelect[string]().Title("Workspace").Options(options...).Value(&chosen).Run(); err != nil {
		return "", fmt.Errorf("choose a workspace: %w", err)
	}
	return chosen, nil
}

// runLink writes a workspace into the project's or the user's file.
func runLink(ctx context.Context, a *cli.App, name string, source config.Source) error {
	if _, err := a.KnownWorkspace(ctx, name); err != nil {
		return err
	}
	path, err := a.UserConfig()
	if source == config.Project {
		if path, err = a.ProjectConfig(); path == "" {
			path = filepath.Join(a.Process.Dir, cli.ProjectFile)
		}
	}
	if err != nil {
		return err
	}
	s, _ := config.Find(config.Workspace)
	if err := changeConfig(ctx, a, path, source, s, &name); err != nil {
		return err
	}
	err = a.Print(map[string]string{"workspace": name, "file": path, "scope": string(source)}, func(io.Writer, view.Options) error {
		a.Say("✓ workspace %s, in %s", name, a.Shown(path))
		return nil
	})
	sayOverridden(a, s, source)
	return err
}
