package contract

import (
	"fmt"
	"io"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/spf13/cobra"
)

// NewVersion is agentclash version.
func NewVersion(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which build this is", Args: cobra.NoArgs,
		Example: "  agentclash version\n  agentclash version --json",
		RunE: func(*cobra.Command, []string) error {
			b := cli.ReadBuildInfo()
			return a.Print(b, func(w io.Writer, _ view.Options) error {
				_, err := fmt.Fprintf(w, "agentclash %s (%s, %s/%s)\n", b.Version, b.Go, b.OS, b.Arch)
				return err
			})
		},
	}
}

// NewCompletion is agentclash completion: a script for a shell, which asks this program
// while one types.
func NewCompletion(a *cli.App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print a shell completion script",
		Example:   "  source <(agentclash completion bash)\n  agentclash completion zsh > ~/.zfunc/_agentclash",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage("completion takes the name of a shell: %v", shells)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Process.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Process.Out)
			case "fish":
				return root.GenFishCompletion(a.Process.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Process.Out)
			}
			return cli.Usage("no completion for %q: choose one of %v", args[0], shells)
		},
	}
}
