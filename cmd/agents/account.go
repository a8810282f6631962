package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/store"
	"github.com/spf13/cobra"
)

// NewAccountCreate is agentclash infra provider-account create, which keeps where a key is
// found and never the key.
func NewAccountCreate(a *cli.App) *cobra.Command {
	var s spec.Account
	var file string
	c := &cobra.Command{
		Use: "create", Short: "Keep a provider account under a name",
		Long: `Keep a provider account under a name: a provider, its address, and where its key
is found. Deployments name it with --account. A file holds the same fields as
YAML or JSON. The key itself is never given here: set the variable, or keep it
with agentclash secret set.`,
		Example: `  agentclash infra provider-account create --name team --provider openai --credential env://TEAM_OPENAI_KEY
  agentclash infra provider-account create --name lab --provider openai --base-url http://10.0.0.5:8000/v1 --max-concurrent 2
  agentclash infra provider-account create --from-file account.json`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := Written(a, c, Source[spec.Account]{"provider account", file, spec.ParseAccount}, s)
			if err != nil {
				return err
			}
			return runAccountCreate(c.Context(), a, s)
		},
	}
	f := c.Flags()
	f.StringVar(&file, "from-file", "", "YAML or JSON file with the account's fields")
	f.StringVar(&s.Name, "name", "", "name of the account")
	f.StringVar(&s.Provider, "provider", "", "provider, such as openai; of a server of your own the one whose protocol it speaks")
	f.StringVar(&s.BaseURL, "base-url", "", "address, up to and including /v1 (default: the provider's own)")
	f.StringVar(&s.Credential, "credential", "", "where the key is: env://NAME or workspace-secret://NAME (default: the provider's own variable; with --base-url none)")
	f.IntVar(&s.MaxConcurrent, "max-concurrent", 0, "calls that may be under way at once (0: as many as the provider stands)")
	return c
}

func runAccountCreate(ctx context.Context, a *cli.App, s spec.Account) error {
	account, err := resolveAccount(a, s)
	if err != nil {
		return err
	}
	db, workspace, err := a.StoreIn(ctx)
	if err != nil {
		return err
	}
	stored, err := db.SaveAccount(ctx, workspace, account)
	if err != nil {
		return err
	}
	return a.Print(viewAccount(stored), func(io.Writer, view.Options) error {
		a.Say("✓ provider account %s: %s", stored.Name, stored.Provider)
		return nil
	})
}

// resolveAccount checks an account. What could be a key is not repeated.
func resolveAccount(a *cli.App, s spec.Account) (plan.Account, error) {
	d := plan.Account{
		Name: strings.TrimSpace(s.Name), Provider: strings.ToLower(strings.TrimSpace(cmp.Or(s.Provider, s.ProviderKey))),
		BaseURL: strings.TrimSpace(s.BaseURL), Credential: s.Credential, MaxConcurrent: s.MaxConcurrent,
	}
	var errs []error
	switch {
	case d.Name == "":
		errs = append(errs, errors.New("--name is missing"))
	case spec.NameProblem(d.Name) != "":
		errs = append(errs, errors.New("--name "+spec.NameProblem(d.Name)))
	case strings.Contains(d.Name, "://"):
		errs = append(errs, errors.New("--name must not look like an address"))
	case slices.Contains(provider.Names(), strings.ToLower(d.Name)):
		errs = append(errs, fmt.Errorf("--name %s is taken: it means the provider's own account", d.Name))
	}
	providers := slices.DeleteFunc(provider.Names(), func(n string) bool { return n == provider.Scripted }) // a script asks nobody
	switch {
	case d.Provider == "":
		errs = append(errs, fmt.Errorf("--provider is missing: one of %s", strings.Join(providers, ", ")))
	case !slices.Contains(providers, d.Provider):
		errs = append(errs, fmt.Errorf("--provider %q is none that can have an account: one of %s", d.Provider, strings.Join(providers, ", ")))
	}
	if s.APIKey != nil {
		errs = append(errs, errors.New("api_key: a key is not kept in an account; agentclash secret set NAME keeps it, and credential_reference workspace-secret://NAME finds it"))
	}
	if checkAccount(d.Credential) != nil {
		errs = append(errs, errors.New("--credential must be env://NAME or workspace-secret://NAME"))
	}
	if d.MaxConcurrent < 0 || d.MaxConcurrent > provider.MaxWindow {
		errs = append(errs, fmt.Errorf("--max-concurrent must be 0 to %d", provider.MaxWindow))
	}
	if d.BaseURL != "" && len(errs) == 0 {
		if _, err := newServerClient(server{Provider: d.Provider, baseURL: d.BaseURL}, ""); err != nil {
			errs = append(errs, fmt.Errorf("--base-url: %w", err))
		}
	}
	if len(errs) > 0 {
		return d, cli.Faults("infra provider-account create", errors.Join(errs...)).Hint("agentclash infra provider-account create --help")
	}
	return d, nil
}

func viewAccount(s store.Account) view.Account {
	v := view.Account{
		ID: s.ID, Name: s.Name, Provider: s.Provider, BaseURL: s.BaseURL, Credential: s.Credential, MaxConcurrent: s.MaxConcurrent,
		Implicit: s.ID == "", CreatedAt: selector.When(s.CreatedAt),
	}
	if i := slices.IndexFunc(Servers(), func(k server) bool { return k.Provider == s.Provider }); i >= 0 && s.BaseURL == "" {
		v.BaseURL = Servers()[i].baseURL
		if v.Credential == "" && Servers()[i].KeyVar != "" {
			v.Credential = "env://" + Servers()[i].KeyVar
		}
	}
	return v
}

// implicitAccount is what a provider that this version knows has without being
// told; has says that its key is there.
func implicitAccount(a *cli.App, s server) (account store.Account, has bool, err error) {
	account = store.Account{Account: plan.Account{Name: s.Provider, Provider: s.Provider}}
	if s.KeyVar == "" {
		return account, false, nil
	}
	if a.Process.Getenv(s.KeyVar) != "" {
		return account, true, nil
	}
	_, has, err = Secret(a, s.KeyVar)
	return account, has, err
}

// Account finds a provider account: a stored one, or that of a provider itself.
func Account(ctx context.Context, a *cli.App, selector string) (store.Account, error) {
	selector = strings.TrimSpace(selector)
	for _, s := range Servers() {
		if strings.EqualFold(s.Provider, selector) {
			account, _, err := implicitAccount(a, s)
			return account, err
		}
	}
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil {
		return store.Account{}, err
	}
	if db != nil {
		var found store.Account
		found, err = db.Account(ctx, workspace, selector)
		if !errors.Is(err, store.ErrNotFound) {
			return found, err
		}
	}
	return store.Account{}, (&cli.Failure{Status: cli.StatusNotFound, Code: "not_found", Err: errNoAccount}).Hint("agentclash infra provider-account list")
}

// errNoAccount does not repeat the name: it could be a key that was pasted in its
// place.
var errNoAccount = errors.New("there is no provider account of that name")

// NewAccountList is agentclash infra provider-account list: stored accounts, and those of
// providers whose key is there.
func NewAccountList(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the provider accounts, those of the environment too", Args: cli.NoArgs,
		Example: "  agentclash infra provider-account list",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.CheckWorkspace(c.Context()); err != nil {
				return err
			}
			list, err := Accounts(c.Context(), a)
			if err != nil {
				return err
			}
			return cli.PrintPage(a, cli.PageOf(list, cli.ListOptions{}),
				"no provider accounts, and no provider's key is set: agentclash infra provider-account create --help", view.AccountList)
		},
	}
}

// Accounts are the provider accounts: those that a key in the environment makes, and
// the stored ones of the workspace.
func Accounts(ctx context.Context, a *cli.App) ([]view.Account, error) {
	var list []view.Account
	for _, s := range Servers() {
		account, has, err := implicitAccount(a, s)
		if err != nil {
			return nil, err
		}
		if has {
			list = append(list, viewAccount(account))
		}
	}
	db, workspace, err := a.ReadingIn(ctx)
	if err != nil || db == nil {
		return list, err
	}
	rows, err := db.Accounts(ctx, workspace)
	for _, r := range rows {
		list = append(list, viewAccount(r))
	}
	return list, err
}

// NewAccountGet is agentclash infra provider-account get.
func NewAccountGet(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "get ACCOUNT", Short: "Show one provider account", Args: cli.ExactArgs("ACCOUNT"),
		Example: "  agentclash infra provider-account get openai",
		RunE: func(c *cobra.Command, args []string) error {
			found, err := Account(c.Context(), a, args[0])
			if err != nil {
				return err
			}
			v := viewAccount(found)
			return a.Print(v, func(w io.Writer, o view.Options) error { return view.AccountDetails(w, v, o) })
		},
	}
}

// NewAccountDelete is agentclash infra provider-account delete, which leaves the key where
// it is.
func NewAccountDelete(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "delete ACCOUNT", Short: "Forget a provider account; its key stays where it is", Args: cli.ExactArgs("ACCOUNT"),
		Example: "  agentclash infra provider-account delete team",
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			found, err := Account(ctx, a, args[0])
			if err != nil {
				return err
			}
			if found.ID == "" {
				return cli.Usage("the account %s is the provider's own and is not stored: it is there as long as its key is", found.Name)
			}
			db, err := a.Store(ctx)
			if err != nil {
				return err
			}
			if err := db.DeleteAccount(ctx, found.ID); err != nil {
				return err
			}
			return a.Print(map[string]string{"provider_account_id": found.ID, "name": found.Name, "action": "deleted"}, func(io.Writer, view.Options) error {
				a.Say("✓ provider account %s: deleted", found.Name)
				return nil
			})
		},
	}
}

// ByAccount fills in what a deployment that names a provider account takes from it.
func ByAccount(ctx context.Context, a *cli.App, d plan.Deployment) (plan.Deployment, error) {
	if d.Account == "" || strings.Contains(d.Account, "://") {
		return d, nil
	}
	found, err := Account(ctx, a, d.Account)
	if err != nil {
		return d, err
	}
	switch {
	case found.Provider != d.Provider:
		return d, cli.Usage("deployment %q runs a model of %s, and its account %q is one of %s", d.Name, d.Provider, found.Name, found.Provider)
	case d.BaseURL != "":
		return d, cli.Usage("deployment %q has an address and names the account %q, which has one: leave out --base-url, or give --account env://NAME", d.Name, found.Name)
	}
	d.BaseURL, d.Account, d.MaxConcurrent = found.BaseURL, found.Credential, found.MaxConcurrent
	return d, nil
}
