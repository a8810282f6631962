package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
)

func newInit(a *app) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "init [WORKSPACE]", Short: "Set a project up: .agentclash.yaml and .agentclash/", Args: upTo(1),
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

func runInit(ctx context.Context, a *app, name string, force bool) error {
	if name != "" && a.workspace != "" && name != a.workspace {
		return usage("init %s and --workspace %s are two names: give one", name, a.workspace)
	}
	dir := filepath.Join(a.p.Dir, ".agentclash")
	if err := a.noHome(dir); err != nil {
		return err
	}
	if name == "" {
		name = a.workspace
	}
	if name == "" {
		name = workspaceFor(a.p.Dir)
	}
	if !config.ValidWorkspace(name) {
		return usage("%q is no name for a workspace: letters, digits, dots, hyphens and underscores, at most 100", name).hint("agentclash init NAME")
	}
	project := filepath.Join(a.p.Dir, projectFile)
	if _, err := os.Lstat(project); err == nil && !force {
		return (&failure{status: statusUsage, code: "conflict", err: fmt.Errorf("%s is there already", projectFile)}).
			hint("agentclash link WORKSPACE changes its workspace; --force writes it anew")
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
		if err := writeBytes(f.path, []byte(f.content)); err != nil {
			return fmt.Errorf("write %s: %w", a.shown(f.path), err)
		}
		written = append(written, a.shown(f.path))
	}
	a.settings = nil
	if _, err := a.knownWorkspace(ctx, name); err != nil { // then it is a new one
		if err := a.createWorkspace(ctx, name); err != nil {
			return err
		}
	}
	err := a.printInit(name, written)
	s, _ := config.Find(config.Workspace)
	a.sayOverridden(s, config.Project)
	return err
}

// noHome refuses to make a project of a directory whose .agentclash is the store's.
func (a *app) noHome(dir string) error {
	home, err := a.home()
	if err != nil {
		return err
	}
	if dir == filepath.Clean(home) || dir == filepath.Join(a.p.Getenv("HOME"), ".agentclash") {
		return usage("%s is where the store is kept: a project is another directory", dir).hint("cd to the repository, then: agentclash init")
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

func (a *app) printInit(name string, written []string) error {
	next := []string{"agentclash challenge-pack init my-pack.yaml",
		"agentclash eval start --pack my-pack.yaml --model scripted/my-pack.reference.yaml --follow", "agentclash ci init"}
	doc := struct {
		Workspace    string   `json:"workspace"`
		Files        []string `json:"files"`
		NextCommands []string `json:"next_commands"`
	}{name, slices.Clone(written), next}
	return a.print(doc, func(io.Writer, view.Options) error {
		a.say("✓ workspace %s: %s", name, strings.Join(written, ", "))
		a.say("next:")
		for _, line := range next {
			a.say("  %s", line)
		}
		return nil
	})
}
