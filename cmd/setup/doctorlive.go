package setup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
)

// liveTime bounds each call of doctor --live.
const liveTime = 20 * time.Second

// checkLive makes one small call with each account.
func checkLive(ctx context.Context, a *cli.App) []view.Check {
	all, err := agents.Accounts(ctx, a)
	if err != nil {
		return []view.Check{{Name: "live", Status: view.CheckFail, Detail: err.Error()}}
	}
	if len(all) == 0 {
		return []view.Check{{Name: "live", Status: view.CheckInfo, Detail: "there is no key and no provider account to try"}}
	}
	checks := make([]view.Check, len(all))
	for i, shown := range all {
		account, err := agents.Account(ctx, a, shown.Name)
		if err != nil {
			checks[i] = view.Check{Name: "live", Status: view.CheckFail, Detail: err.Error()}
			continue
		}
		checks[i] = checkAccount(ctx, a, account)
	}
	return checks
}

func checkAccount(ctx context.Context, a *cli.App, account store.Account) view.Check {
	c := view.Check{Name: "live", Status: view.CheckOK, Metadata: map[string]any{"account": account.Name, "provider": account.Provider}}
	began := a.Process.Now()
	model := ""
	client, err := agents.AccountClient(a, account)
	if err == nil {
		ctx, stop := context.WithTimeoutCause(ctx, liveTime, fmt.Errorf("no reply within %s: %w", liveTime, context.DeadlineExceeded))
		defer stop()
		model, err = agents.AskAccount(ctx, client, account, "")
	}
	if err != nil {
		c.Status, c.Detail = view.CheckFail, account.Name+": "+strings.ReplaceAll(err.Error(), "\n", "; ")
		c.NextStep = "agentclash infra provider-account test " + account.Name
		return c
	}
	c.Metadata["model"] = model
	c.Detail = fmt.Sprintf("%s: %s answered in %d ms", account.Name, model, a.Process.Now().Sub(began).Milliseconds())
	return c
}

// checkKeys says where the key of each provider is found, never what it is.
func checkKeys(a *cli.App) view.Check {
	c := view.Check{Name: "provider_keys", Status: view.CheckInfo, Metadata: map[string]any{}}
	var found, missing []string
	for _, s := range agents.Servers() {
		if s.KeyVar == "" {
			continue
		}
		source, err := keySource(a, s.KeyVar)
		if err != nil {
			return view.Check{Name: c.Name, Status: view.CheckFail, Detail: err.Error(), NextStep: "agentclash secret list"}
		}
		c.Metadata[s.Provider] = cmp.Or(source, "missing")
		if source == "" {
			missing = append(missing, s.KeyVar)
			continue
		}
		found = append(found, s.Provider+" ("+source+")")
	}
	if len(found) > 0 {
		c.Status, c.Detail = view.CheckOK, "found: "+strings.Join(found, ", ")
		return c
	}
	c.Detail = "none found; scripted agents and local servers need none"
	c.NextStep = "export " + missing[0] + "=..., or agentclash secret set " + missing[0]
	return c
}

// keySource is where a key is found: environment, file or keychain; "" nowhere.
func keySource(a *cli.App, name string) (string, error) {
	if a.Process.Getenv(name) != "" || a.Process.Getenv("AGENTCLASH_SECRET_"+name) != "" {
		return "environment", nil
	}
	secrets, err := a.OpenSecrets()
	if err != nil {
		return "", err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return "", err
	}
	kept, err := secrets.List(workspace)
	i := slices.IndexFunc(kept, func(e cli.SecretEntry) bool { return e.Key == name })
	switch {
	case err != nil || i < 0:
		return "", err
	case kept[i].Keychain:
		return "keychain", nil
	}
	return "file", nil
}
