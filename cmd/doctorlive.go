package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/store"
)

// liveTime bounds each call of doctor --live.
const liveTime = 20 * time.Second

// checkLive makes one small call with each account.
func (a *app) checkLive(ctx context.Context) []view.Check {
	all, err := a.accounts(ctx)
	if err != nil {
		return []view.Check{{Name: "live", Status: view.CheckFail, Detail: err.Error()}}
	}
	if len(all) == 0 {
		return []view.Check{{Name: "live", Status: view.CheckInfo, Detail: "there is no key and no provider account to try"}}
	}
	checks := make([]view.Check, len(all))
	for i, shown := range all {
		account, err := a.account(ctx, shown.Name)
		if err != nil {
			checks[i] = view.Check{Name: "live", Status: view.CheckFail, Detail: err.Error()}
			continue
		}
		checks[i] = a.checkAccount(ctx, account)
	}
	return checks
}

func (a *app) checkAccount(ctx context.Context, account store.Account) view.Check {
	c := view.Check{Name: "live", Status: view.CheckOK, Metadata: map[string]string{"account": account.Name, "provider": account.Provider}}
	began := a.p.Now()
	model := ""
	client, err := a.accountClient(account)
	if err == nil {
		ctx, stop := context.WithTimeoutCause(ctx, liveTime, fmt.Errorf("no reply within %s: %w", liveTime, context.DeadlineExceeded))
		defer stop()
		model, err = askAccount(ctx, client, account, "")
	}
	if err != nil {
		c.Status, c.Detail = view.CheckFail, account.Name+": "+strings.ReplaceAll(err.Error(), "\n", "; ")
		c.NextStep = "agentclash infra provider-account test " + account.Name
		return c
	}
	c.Metadata["model"] = model
	c.Detail = fmt.Sprintf("%s: %s answered in %d ms", account.Name, model, a.p.Now().Sub(began).Milliseconds())
	return c
}

// checkKeys says where the key of each provider is found, never what it is.
func (a *app) checkKeys() view.Check {
	c := view.Check{Name: "provider_keys", Status: view.CheckInfo, Metadata: map[string]string{}}
	var found, missing []string
	for _, s := range servers() {
		if s.keyVar == "" {
			continue
		}
		source, err := a.keySource(s.keyVar)
		if err != nil {
			return view.Check{Name: c.Name, Status: view.CheckFail, Detail: err.Error(), NextStep: "agentclash secret list"}
		}
		c.Metadata[s.provider] = cmp.Or(source, "missing")
		if source == "" {
			missing = append(missing, s.keyVar)
			continue
		}
		found = append(found, s.provider+" ("+source+")")
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
func (a *app) keySource(name string) (string, error) {
	if a.p.Getenv(name) != "" || a.p.Getenv("AGENTCLASH_SECRET_"+name) != "" {
		return "environment", nil
	}
	secrets, err := a.openSecrets()
	if err != nil {
		return "", err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return "", err
	}
	kept, err := secrets.list(workspace)
	i := slices.IndexFunc(kept, func(e secretEntry) bool { return e.Key == name })
	switch {
	case err != nil || i < 0:
		return "", err
	case kept[i].Keychain:
		return "keychain", nil
	}
	return "file", nil
}
