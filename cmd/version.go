package cmd

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which build this is", Args: cobra.NoArgs,
		Example: "  agentclash version\n  agentclash version --json",
		RunE: func(*cobra.Command, []string) error {
			b := readBuildInfo()
			return a.print(b, func(w io.Writer, _ view.Options) error {
				_, err := fmt.Fprintf(w, "agentclash %s (%s, %s/%s)\n", b.Version, b.Go, b.OS, b.Arch)
				return err
			})
		},
	}
}

func newCompletion(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print a shell completion script",
		Example:   "  source <(agentclash completion bash)\n  agentclash completion zsh > ~/.zfunc/_agentclash",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("completion takes the name of a shell: %v", shells)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.p.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.p.Out)
			case "fish":
				return root.GenFishCompletion(a.p.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.p.Out)
			}
			return usage("no completion for %q: choose one of %v", args[0], shells)
		},
	}
}
