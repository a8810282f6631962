package contract

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// versionDocument is a build and what it reads. The store's schema is the newest of
// those that it reads, and the one that it writes.
type versionDocument struct {
	cli.BuildInfo
	StoreSchema int   `json:"store_schema"`
	PackFormats []int `json:"pack_formats"` // schema_version of stored packs
}

// NewVersion is agentclash version.
func NewVersion(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say which build this is, and which stores and packs it reads", Args: cobra.NoArgs,
		Example: "  agentclash version\n  agentclash version --json",
		RunE: func(*cobra.Command, []string) error {
			schema, err := store.NewestSchema()
			if err != nil {
				return err
			}
			b := versionDocument{cli.ReadBuildInfo(), schema, []int{pack.ManifestVersion}}
			return a.Print(b, func(w io.Writer, _ view.Options) error {
				_, err := fmt.Fprintf(w, "agentclash %s (%s, %s/%s)\nstore schema %d, pack format %d\n", b.Version, b.Go, b.OS, b.Arch, b.StoreSchema, pack.ManifestVersion)
				return err
			})
		},
	}
}

// VersionFlag has --version be the command version, since so many programs have the flag.
func VersionFlag(root *cobra.Command) {
	asked := root.Flags().Bool("version", false, "say which build this is: agentclash version")
	otherwise := root.RunE
	root.RunE = func(c *cobra.Command, args []string) error {
		if !*asked || len(args) > 0 {
			return otherwise(c, args)
		}
		version, _, err := root.Find([]string{"version"})
		if err != nil {
			return err
		}
		return version.RunE(version, nil)
	}
}

// bashAlone stands in for the one function of the package bash-completion that the
// script calls, which many systems lack: without it every tab would print an error into
// the line. The words come as they are typed, and are only ever typed again.
const bashAlone = `
declare -F _get_comp_words_by_ref >/dev/null 2>&1 || _get_comp_words_by_ref()
{
    local line=${COMP_LINE:0:COMP_POINT}
    read -r -a words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=('')
    cword=$((${#words[@]} - 1))
    cur=${words[cword]} prev=${words[cword-1]}
}
`

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
				return cli.Usage("completion takes the name of a shell: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			switch args[0] {
			case "bash":
				if err := root.GenBashCompletionV2(a.Process.Out, true); err != nil {
					return err
				}
				_, err := io.WriteString(a.Process.Out, bashAlone)
				return err
			case "zsh":
				return root.GenZshCompletion(a.Process.Out)
			case "fish":
				return root.GenFishCompletion(a.Process.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Process.Out)
			}
			return cli.Usage("no completion for %q: choose one of %s", args[0], strings.Join(shells, ", "))
		},
	}
}
