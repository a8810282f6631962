package agents

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/config"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
)

// A repository is often somebody else's. Its deployments and agent specs may name
// what lies in it, and nothing else of the machine: a model or an endpoint that they
// choose would be shown it. They may name secrets, which only go where the provider
// is, to this machine, or to a host that the user trusts.

// repoRoot is the directory that the repository's files begin at.
func repoRoot(a *cli.App) string { return filepath.Dir(a.RepoDir()) }

// readRepoAgent is readAgent for an agent spec of the repository.
func readRepoAgent(a *cli.App, file string) (agentSpec, error) {
	if err := cli.Inside(repoRoot(a), file); err != nil {
		return agentSpec{}, err
	}
	return readAgent(a, file, repoRoot(a))
}

// ScriptInside refuses a scripted model of the repository whose file is not in it.
func ScriptInside(root, model string) error {
	key, file, err := provider.ParseModel(model)
	if err != nil || key != provider.Scripted || strings.HasPrefix(file, selector.BuiltinPrefix) {
		return nil
	}
	return cli.Inside(root, file)
}

// CheckRepo refuses a deployment of the repository that would send a secret to a
// host that nobody on this machine has trusted.
func CheckRepo(a *cli.App, d plan.Deployment) error {
	return checkTrusted(a, fmt.Sprintf("deployment %q is the repository's, and", d.Name), d)
}

// checkImported refuses the same of a run that came in a bundle: its plan is
// somebody else's as well, and is followed when the run is retried or resumed.
func checkImported(a *cli.App, p *plan.Plan) error {
	if !p.Imported {
		return nil
	}
	for _, agent := range p.Agents {
		if err := checkTrusted(a, fmt.Sprintf("run %s was imported, and its deployment %q", p.Name, agent.Deployment.Name), agent.Deployment); err != nil {
			return err
		}
	}
	for _, m := range p.Simulators {
		d := plan.Deployment{Provider: m.Provider, BaseURL: m.BaseURL, Account: m.Account}
		if err := checkTrusted(a, fmt.Sprintf("run %s was imported, and its simulated users", p.Name), d); err != nil {
			return err
		}
	}
	return CheckImportedJudges(a, p, p.Judges)
}

// CheckImportedJudges is that for the judges of a run which is rescored.
func CheckImportedJudges(a *cli.App, p *plan.Plan, judges []plan.JudgeModel) error {
	if !p.Imported {
		return nil
	}
	for _, m := range judges {
		d := plan.Deployment{Provider: m.Provider, BaseURL: m.BaseURL, Account: m.Account}
		if err := checkTrusted(a, fmt.Sprintf("run %s was imported, and its judge %q", p.Name, m.Name), d); err != nil {
			return err
		}
	}
	return nil
}

// checkTrusted refuses what would send a secret to a host that is not trusted. Who
// begins the sentence that says so.
func checkTrusted(a *cli.App, who string, d plan.Deployment) error {
	to, secret := sends(d)
	if secret == "" {
		return nil
	}
	at, err := url.Parse(strings.TrimSpace(to)) // as clients read it
	if err != nil {
		return cli.Usage("%s would send %s to what is no address", who, secret)
	}
	if loopback(at.Hostname()) {
		return nil
	}
	trusted, err := a.Setting(config.TrustedHosts, nil)
	if err != nil {
		return err
	}
	hosts := config.Hosts(trusted.Value)
	if slices.Contains(hosts, strings.ToLower(at.Host)) || slices.Contains(hosts, strings.ToLower(at.Hostname())) {
		if strings.EqualFold(at.Scheme, "https") {
			return nil
		}
		return (&cli.Failure{Status: cli.StatusNoPermission, Code: "permission_denied",
			Err: fmt.Errorf("%s would send %s to %s over %s, where others can read it: a trusted host is trusted over https alone", who, secret, at.Host, at.Scheme)}).
			Hint("write https:// in its address, or make a deployment of your own: agentclash deployment create --help")
	}
	return (&cli.Failure{Status: cli.StatusNoPermission, Code: "permission_denied",
		Err: fmt.Errorf("%s would send %s to %s, which is not trusted", who, secret, at.Host)}).
		Hint("if you trust it with secrets: agentclash config set trusted_hosts %s", strings.Join(append(hosts, strings.ToLower(at.Host)), ","))
}

// sends is where a deployment sends a secret of its own choosing, and what it calls
// that. A vendor's own address is none that a repository has chosen.
func sends(d plan.Deployment) (to, secret string) {
	if d.HTTP != nil {
		for _, name := range slices.Sorted(maps.Keys(d.HTTP.Headers)) {
			if v := d.HTTP.Headers[name]; isReference(v) || placeholder.MatchString(v) {
				return d.HTTP.URL, v
			}
		}
		return "", ""
	}
	own := slices.ContainsFunc(Servers(), func(s server) bool { return s.Provider == d.Provider && s.baseURL == d.BaseURL })
	if d.BaseURL == "" || own || !isReference(d.Account) {
		return "", ""
	}
	return d.BaseURL, d.Account
}

// loopback says that a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// checkRepoAccount sees that the account which a deployment of the repository names
// is there: what is no account's name may be a key, which is then shown nowhere.
func checkRepoAccount(ctx context.Context, a *cli.App, d plan.Deployment) error {
	if d.Account == "" || strings.Contains(d.Account, "://") {
		return nil
	}
	_, err := Account(ctx, a, d.Account)
	return err
}
