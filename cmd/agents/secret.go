package agents

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/charmbracelet/huh"
	"github.com/spf13/cobra"
)

// NewSecret is agentclash secret, which shows no value, whatever is asked of it.
func NewSecret(a *cli.App) *cobra.Command {
	return cli.Group("secret", "Keep keys that deployments refer to", newSecretSet(a), newSecretList(a), newSecretDelete(a))
}

func newSecretSet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "set KEY", Short: "Keep a secret; its value is read from stdin or asked for",
		Long: `Keep a secret under KEY, for workspace-secret://KEY references, for
${secrets.KEY} in the tools of a pack, and for a provider's own key variable. The value is read from stdin byte by byte when
stdin is a pipe, else asked for without showing it. It is kept in the system's
keychain where there is one, else in a file only you can read (the setting
secret_store chooses), and is never shown again. There is no flag for it: what
is typed as an argument stays in the shell's history.`,
		Example: "  agentclash secret set OPENAI_API_KEY\n  pass openai | agentclash secret set OPENAI_API_KEY",
		Args:    secretNameOnly,
		RunE:    func(c *cobra.Command, args []string) error { return runSecretSet(c.Context(), a, args[0]) },
	}
}

// secretNameOnly takes one argument, and does not repeat a second one: it may be
// the value.
func secretNameOnly(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return cli.Usage("%s takes the name alone: a value that is typed here stays in the shell's history", c.CommandPath()).
			Hint("printf %%s \"$VALUE\" | agentclash secret set KEY")
	}
	return cli.ExactArgs("KEY")(c, args)
}

func runSecretSet(ctx context.Context, a *cli.App, key string) error {
	store, err := a.OpenSecrets()
	if err != nil {
		return err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return err
	}
	if !cli.SecretName.MatchString(key) { // before anybody types a value
		return cli.CheckSecret(key, "")
	}
	value, err := secretValue(a, key)
	if err != nil {
		return err
	}
	where, why, err := store.Set(ctx, workspace, key, value)
	if err != nil {
		return err
	}
	if why != nil {
		a.Say("note: no keychain takes it (%v), so it is in %s, which only you can read", why, store.File)
	}
	return secretDone(a, key, "set", where)
}

// secretValue reads the value: from a pipe as it is, from a person unseen.
func secretValue(a *cli.App, key string) (string, error) {
	if a.Interactive() {
		var value string
		title := fmt.Sprintf("Value of %s (%d to %d bytes)", key, cli.MinSecretBytes, cli.MaxSecretBytes)
		check := func(typed string) error { return cli.CheckSecret(key, typed) } // while it can be typed again
		err := huh.NewInput().Title(title).EchoMode(huh.EchoModePassword).Validate(check).Value(&value).Run()
		if err != nil {
			return "", fmt.Errorf("ask for the value of %s: %w", key, err)
		}
		return value, nil
	}
	if f, ok := a.Process.In.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return "", cli.Usage("no value for %s", key).Hint("pipe it: printf %%s \"$VALUE\" | agentclash secret set %s", key)
		}
	}
	b, err := io.ReadAll(io.LimitReader(a.Process.In, cli.MaxSecretBytes+1))
	if err != nil {
		return "", fmt.Errorf("read the value of %s: %w", key, err)
	}
	if trimmed := bytes.TrimRight(b, "\r\n"); len(trimmed) != len(b) {
		a.Say("note: the value ends in a line break, which is kept; use printf %%s to leave it out")
	}
	return string(b), nil
}

// secretDone says what was done; where is empty when nothing is kept any more.
func secretDone(a *cli.App, key, action, where string) error {
	doc := struct {
		Key    string `json:"key"`
		Action string `json:"action"`
		Store  string `json:"store,omitempty"`
	}{key, action, where}
	return a.Print(doc, func(io.Writer, view.Options) error {
		if where != "" {
			action += " in the " + where
		}
		a.Say("✓ secret %s: %s", key, action)
		sayShadowed(a, key, where)
		return nil
	})
}

// sayShadowed tells when a variable wins over what was just kept.
func sayShadowed(a *cli.App, key, where string) {
	if name := shadowing(a, key); where != "" && name != "" {
		a.Say("! %s is set and wins over it", name)
	}
}

// shadowing is the variable that wins over a kept secret, "" when none is set.
func shadowing(a *cli.App, key string) string {
	if name := "AGENTCLASH_SECRET_" + key; a.Process.Getenv(name) != "" {
		return name
	}
	return ""
}

func newSecretList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the names of the secrets, never their values", Args: cli.NoArgs,
		Long: `List the names of the secrets of this workspace, where each is kept (the
keychain, or the file), and which is overridden by AGENTCLASH_SECRET_<KEY>.`,
		Example: "  agentclash secret list\n  agentclash secret list --json",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.CheckWorkspace(c.Context()); err != nil {
				return err
			}
			store, err := a.OpenSecrets()
			if err != nil {
				return err
			}
			workspace, err := a.WorkspaceName()
			if err != nil {
				return err
			}
			entries, err := store.List(workspace)
			if err != nil {
				return err
			}
			return printSecrets(a, entries)
		},
	}
}

func printSecrets(a *cli.App, entries []cli.SecretEntry) error {
	type item struct {
		Key        string    `json:"key"`
		Store      string    `json:"store"` // keychain or file
		Overridden string    `json:"overridden_by,omitempty"`
		CreatedAt  time.Time `json:"created_at"`
		UpdatedAt  time.Time `json:"updated_at"`
	}
	doc := struct {
		Items []item `json:"items"`
	}{Items: []item{}}
	for _, e := range entries {
		doc.Items = append(doc.Items, item{e.Key, e.Place(), shadowing(a, e.Key), e.CreatedAt, e.UpdatedAt})
	}
	return a.Print(doc, func(w io.Writer, o view.Options) error {
		if len(doc.Items) == 0 {
			a.Say("! no secrets yet: agentclash secret set KEY")
			return nil
		}
		t := view.Table{Columns: []view.Column{{Title: "KEY"}, {Title: "KEPT IN", Keep: true}, {Title: "CREATED", Keep: true}, {Title: "UPDATED", Keep: true}, {Title: "OVERRIDDEN BY"}}}
		for _, e := range doc.Items {
			t.Add(view.Text(e.Key), view.Text(e.Store), view.Text(o.Time(e.CreatedAt)), view.Text(o.Time(e.UpdatedAt)), view.Text(e.Overridden))
		}
		return t.Write(w, o)
	})
}

func newSecretDelete(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "delete KEY", Short: "Forget a secret", Args: cli.ExactArgs("KEY"),
		Example: "  agentclash secret delete OPENAI_API_KEY",
		RunE: func(c *cobra.Command, args []string) error {
			store, err := a.OpenSecrets()
			if err != nil {
				return err
			}
			workspace, err := a.WorkspaceName()
			if err != nil {
				return err
			}
			found, err := store.Delete(c.Context(), workspace, args[0])
			if err != nil {
				return err
			}
			if !found {
				return (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: fmt.Errorf("there is no secret %q", args[0])}).
					Hint("agentclash secret list")
			}
			return secretDone(a, args[0], "deleted", "")
		},
	}
}
