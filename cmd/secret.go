package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/huh"
	"github.com/spf13/cobra"

	"github.com/agentclash/agentclash/cmd/view"
)

func newSecret(a *app) *cobra.Command {
	return group("secret", "Keep keys that deployments refer to", newSecretSet(a), newSecretList(a), newSecretDelete(a))
}

func newSecretSet(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "set KEY", Short: "Keep a secret; its value is read from stdin or asked for",
		Long: `Keep a secret under KEY, for workspace-secret://KEY references, for
${secrets.KEY} in the tools of a pack, and for a provider's own key variable. The value is read from stdin byte by byte when
stdin is a pipe, else asked for without showing it. It is kept in the system's
keychain where there is one, else in a file only you can read, and is never
shown again.`,
		Example: "  agentclash secret set OPENAI_API_KEY\n  pass openai | agentclash secret set OPENAI_API_KEY",
		Args:    exactArgs("KEY"),
		RunE:    func(_ *cobra.Command, args []string) error { return runSecretSet(a, args[0]) },
	}
}

func runSecretSet(a *app, key string) error {
	store, err := a.secretStore()
	if err != nil {
		return err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return err
	}
	value, err := a.secretValue(key)
	if err != nil {
		return err
	}
	if err := store.set(workspace, key, value); err != nil {
		return err
	}
	return a.secretDone(key, "set")
}

// secretValue reads the value: from a pipe as it is, from a person unseen.
func (a *app) secretValue(key string) (string, error) {
	if a.interactive() {
		var value string
		err := huh.NewInput().Title("Value of " + key).EchoMode(huh.EchoModePassword).Value(&value).Run()
		if err != nil {
			return "", fmt.Errorf("ask for the value of %s: %w", key, err)
		}
		return value, nil
	}
	if f, ok := a.p.In.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return "", usage("no value for %s", key).hint("pipe it: printf %%s \"$VALUE\" | agentclash secret set %s", key)
		}
	}
	b, err := io.ReadAll(io.LimitReader(a.p.In, maxSecretBytes+1))
	if err != nil {
		return "", fmt.Errorf("read the value of %s: %w", key, err)
	}
	if trimmed := bytes.TrimRight(b, "\r\n"); len(trimmed) != len(b) {
		a.say("note: the value ends in a line break, which is kept; use printf %%s to leave it out")
	}
	return string(b), nil
}

func (a *app) secretDone(key, action string) error {
	return a.print(map[string]string{"key": key, "action": action}, func(io.Writer, view.Options) error {
		a.say("✓ secret %s: %s", key, action)
		return nil
	})
}

func newSecretList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the names of the secrets, never their values", Args: noArgs,
		Example: "  agentclash secret list",
		RunE: func(*cobra.Command, []string) error {
			store, err := a.secretStore()
			if err != nil {
				return err
			}
			workspace, err := a.workspaceName()
			if err != nil {
				return err
			}
			entries, err := store.list(workspace)
			if err != nil {
				return err
			}
			return a.printSecrets(entries)
		},
	}
}

func (a *app) printSecrets(entries []secretEntry) error {
	type item struct {
		Key       string    `json:"key"`
		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
	}
	doc := struct {
		Items []item `json:"items"`
	}{Items: []item{}}
	for _, e := range entries {
		doc.Items = append(doc.Items, item{e.Key, e.CreatedAt, e.UpdatedAt})
	}
	return a.print(doc, func(w io.Writer, o view.Options) error {
		if len(doc.Items) == 0 {
			a.say("! no secrets yet: agentclash secret set KEY")
			return nil
		}
		t := view.Table{Columns: []view.Column{{Title: "KEY"}, {Title: "CREATED", Keep: true}, {Title: "UPDATED", Keep: true}}}
		for _, e := range doc.Items {
			t.Add(view.Text(e.Key), view.Text(o.Time(e.CreatedAt)), view.Text(o.Time(e.UpdatedAt)))
		}
		return t.Write(w, o)
	})
}

func newSecretDelete(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "delete KEY", Short: "Forget a secret", Args: exactArgs("KEY"),
		Example: "  agentclash secret delete OPENAI_API_KEY",
		RunE: func(_ *cobra.Command, args []string) error {
			store, err := a.secretStore()
			if err != nil {
				return err
			}
			workspace, err := a.workspaceName()
			if err != nil {
				return err
			}
			found, err := store.delete(workspace, args[0])
			if err != nil {
				return err
			}
			if !found {
				return &failure{status: statusNotFound, code: "not_found", err: fmt.Errorf("there is no secret %q", args[0])}
			}
			return a.secretDone(args[0], "deleted")
		},
	}
}
