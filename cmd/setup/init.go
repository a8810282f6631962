package setup

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewInit is agentclash init, which makes a project of a directory.
func NewInit(a *cli.App) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "init [WORKSPACE]", Short: "Set a project up: .agentclash.yaml and .agentclash/", Args: cli.UpTo(1),
		Long: `Write .agentclash.yaml, which names the workspace that runs of this directory
belong to (without WORKSPACE: the directory's name), and .agentclash/, where
manifests, baselines and regression suites are kept in the repository. A
.agentclash.yaml that is there is left alone, unless --force is given.`,
		Example: "  agentclash init\n  agentclash init --force",
		RunE: func(c *cobra.Command, args []string) error {
			return runInit(c.Context(), a, strings.Join(args, ""), force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "write .agentclash.yaml anew when it is there")
	return c
}

// projectYAML is a new project file.
const projectYAML = `# What agentclash does in this repository: docs/configuration.md
# agentclash config list --origin shows what is in force, and why.
workspace: %s

# sandbox: docker
# image: python:3.12-slim
# concurrency: 4
`

// projectReadme says what stands in a project's .agentclash.
const projectReadme = `# .agentclash

What agentclash keeps in this repository. All of it is meant to be committed.

| file | written by |
|---|---|
| ci.yaml | agentclash ci init |
| baseline.json | agentclash baseline export .agentclash/baseline.json |
| regressions/ | agentclash run promote-failure, agentclash regression-suite create |

Runs are not here: they are in the store, under AGENTCLASH_HOME (~/.agentclash).
`

// projectIgnore keeps what is no source out of git.
const projectIgnore = `# exported runs and locks
*.acb
.*.lock
`

func runInit(ctx context.Context, a *cli.App, name string, force bool) error {
	if name != "" && a.Workspace != "" && name != a.Workspace {
		return cli.Usage("init %s and --workspace %s are two names: give one", name, a.Workspace)
	}
	dir := filepath.Join(a.Process.Dir, ".agentclash")
	if err := noHome(a, dir); err != nil {
		return err
	}
	if name == "" {
		name = a.Workspace
	}
	if name == "" {
		name = workspaceFor(a.Process.Dir)
	}
	if !config.ValidWorkspace(name) {
		return cli.Usage("%q is no name for a workspace: letters, digits, dots, hyphens and underscores, at most 100", name).Hint("agentclash init NAME")
	}
	project := filepath.Join(a.Process.Dir, cli.ProjectFile)
	info, err := os.Lstat(project)
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		return cli.Usage("%s is a link, and what it leads to would be written anew", cli.ProjectFile).Hint("remove the link, or agentclash link WORKSPACE")
	}
	if err == nil && !force {
		return (&cli.Failure{Status: cli.StatusUsage, Code: "conflict", Err: fmt.Errorf("%s is there already", cli.ProjectFile)}).
			Hint("agentclash link WORKSPACE changes its workspace; --force writes it anew")
	}
	// first, since the home may be one that cannot be written to
	if _, err := a.KnownWorkspace(ctx, name); err != nil { // then it is a new one
		if err := a.CreateWorkspace(ctx, name); err != nil {
			return err
		}
	}
	var written []string
	for _, f := range []struct{ path, content string }{
		{filepath.Join(dir, "README.md"), projectReadme},
		{filepath.Join(dir, ".gitignore"), projectIgnore},
		{project, fmt.Sprintf(projectYAML, name)}, // last: it makes this a project
	} {
		if _, err := os.Lstat(f.path); err == nil && f.path != project {
			continue // it is the user's by now
		}
		if err := cli.WriteBytes(f.path, []byte(f.content)); err != nil {
			return fmt.Errorf("write %s: %w", a.Shown(f.path), err)
		}
		written = append(written, a.Shown(f.path))
	}
	a.Settings = nil
	err = printInit(a, name, written)
	s, _ := config.Find(config.Workspace)
	sayOverridden(a, s, config.Project)
	return err
}

// noHome refuses to make a project of a directory whose .agentclash is the store's.
func noHome(a *cli.App, dir string) error {
	home, err := a.Home()
	if err != nil {
		return err
	}
	if dir == filepath.Clean(home) || dir == filepath.Join(a.Process.Getenv("HOME"), ".agentclash") {
		return cli.Usage("%s is where the store is kept: a project is another directory", dir).Hint("cd to the repository, then: agentclash init")
	}
	return nil
}

// workspaceFor is a workspace's name for a directory.
func workspaceFor(dir string) string {
	name := strings.Map(func(r rune) rune {
		if config.ValidWorkspace(string(r)) {
			return r
		}
		return '-'
	}, filepath.Base(dir))
	if name = strings.Trim(name, "-."); name == "" || len(name) > 100 {
		return store.DefaultWorkspace
	}
	return name
}

func printInit(a *cli.App, name string, written []string) error {
	next := []string{"agentclash challenge-pack init my-pack.yaml",
		"agentclash eval start --pack my-pack.yaml --model scripted/my-pack.reference.yaml --follow", "agentclash ci init"}
	doc := struct {
		Workspace    string   `json:"workspace"`
		Files        []string `json:"files"`
		NextCommands []string `json:"next_commands"`
	}{name, slices.Clone(written), next}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ workspace %s: %s", name, strings.Join(written, ", "))
		a.Say("next:")
		for _, line := range next {
			a.Say("  %s", line)
		}
		return nil
	})
}
