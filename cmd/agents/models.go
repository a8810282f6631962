package agents

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/pack"
)

// unnamed makes the deployments of --model flags. A script is called by its
// base name when no other deployment of the run is.
func unnamed(models []string, taken []plan.Deployment) ([]plan.Deployment, error) {
	list := make([]plan.Deployment, 0, len(models))
	for _, m := range models {
		key, model, err := provider.ParseModel(m)
		if err != nil {
			return nil, cli.Usage("--model: %w", err).Hint("agentclash infra model-catalog list lists models, agentclash infra model-alias list your names of them")
		}
		list = append(list, plan.Deployment{Name: key + "/" + model, Provider: key, Model: model})
	}
	short := map[string]int{}
	for _, d := range taken {
		short[strings.ToLower(d.Name)]++
	}
	for _, d := range list {
		short[strings.ToLower(scriptLabel(d))]++
	}
	for i, d := range list {
		if label := scriptLabel(d); short[strings.ToLower(label)] == 1 {
			list[i].Name = label
		}
	}
	return list, nil
}

// scriptLabel is what a scripted deployment is called for short; others go by
// their whole name.
func scriptLabel(d plan.Deployment) string {
	if d.Provider != provider.Scripted {
		return d.Name
	}
	name := path.Base(filepath.ToSlash(strings.TrimPrefix(d.Model, selector.BuiltinPrefix)))
	return strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
}

// ModelClients are the clients of a run: one for each run agent, by lane, one
// for each judge's model, one for each model that plays users, and the keys that
// they use.
type ModelClients struct {
	Agents     []provider.Client
	Programs   []engine.Program // of command deployments, by lane
	Judges     map[string]provider.Client
	Simulators []provider.Client // by place in the plan's
	Secrets    []string
}

// Target is a model that is to be called, and what it is called in errors.
type Target struct {
	plan.Deployment
	Who       string
	judge     bool
	simulator bool
	research  bool // asked as the agents of a responses pack are
}

// Clients makes the clients of a plan. Everything that is missing is said at
// once.
func Clients(a *cli.App, p *plan.Plan) (ModelClients, error) {
	if err := checkImported(a, p); err != nil {
		return ModelClients{}, err
	}
	var c ModelClients
	var errs []error
	open := func(t Target) provider.Client {
		client, key, err := client(a, t)
		if err != nil {
			errs = append(errs, err)
		}
		if key != "" {
			c.Secrets = append(c.Secrets, key)
		}
		return client
	}
	for _, agent := range p.Agents {
		t := Target{Deployment: agent.Deployment, Who: fmt.Sprintf("deployment %q", agent.Deployment.Name),
			research: p.Mode == pack.Responses}
		var program engine.Program
		switch agent.Deployment.Kind {
		case plan.KindCommand:
			o, err := openProgram(a, t)
			errs = append(errs, err...)
			c.Agents, program, c.Secrets = append(c.Agents, o.client), o.Program, append(c.Secrets, o.secrets...)
		case plan.KindHTTP:
			client, secrets, err := openEndpoint(a, t)
			errs = append(errs, err...)
			c.Agents, c.Secrets = append(c.Agents, client), append(c.Secrets, secrets...)
		default:
			c.Agents = append(c.Agents, open(t))
		}
		c.Programs = append(c.Programs, program)
	}
	judges, secrets, err := JudgeClients(a, p.Judges)
	if err != nil {
		errs = append(errs, err)
	}
	c.Judges, c.Secrets = judges, append(c.Secrets, secrets...)
	opened := map[plan.SimulatorModel]provider.Client{} // a script goes on where it is, whatever model it plays
	for _, m := range p.Simulators {
		d := plan.Deployment{Provider: m.Provider, Model: cmp.Or(m.Script, m.Model), BaseURL: m.BaseURL, Account: m.Account}
		key := plan.SimulatorModel{Lane: m.Lane, Provider: m.Provider, Script: m.Script, BaseURL: m.BaseURL, Account: m.Account}
		if opened[key] == nil {
			opened[key] = open(Target{Deployment: d, Who: fmt.Sprintf("the users of %q", p.Agents[m.Lane].Label), simulator: true})
		}
		c.Simulators = append(c.Simulators, opened[key])
	}
	if len(errs) > 0 {
		return ModelClients{}, cli.JoinFailures(errs)
	}
	return c, nil
}

// JudgeClients makes the clients of judges' models, by name, and collects the
// keys they use.
func JudgeClients(a *cli.App, models []plan.JudgeModel) (map[string]provider.Client, []string, error) {
	clients := map[string]provider.Client{}
	var secrets []string
	var errs []error
	for _, m := range models {
		d := plan.Deployment{Provider: m.Provider, Model: m.Model, BaseURL: m.BaseURL, Account: m.Account}
		client, key, err := client(a, Target{Deployment: d, Who: fmt.Sprintf("judge %q", m.Name), judge: true})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		clients[m.Name] = client
		if key != "" {
			secrets = append(secrets, key)
		}
	}
	if len(errs) > 0 {
		return nil, nil, cli.JoinFailures(errs)
	}
	return clients, secrets, nil
}

func client(a *cli.App, d Target) (provider.Client, string, error) {
	if d.Provider == provider.Scripted {
		open := NewScriptClient
		if d.judge {
			open = newScriptJudge
		}
		if d.simulator {
			open = NewScriptUser
		}
		client, err := Script(a, d.ScriptFile(), open)
		return client, "", err
	}
	s, key, err := serverOf(a, d, Servers())
	if err != nil {
		return nil, "", err
	}
	client, err := newServerClient(s, key)
	if err == nil {
		err = checkSampling(client, d.Sampling)
	}
	if err != nil {
		return nil, "", cli.Usage("%s: %w", d.Who, err)
	}
	return client, key, nil
}

// serverOf finds where a deployment's model is, and the key for it.
func serverOf(a *cli.App, d Target, list []server) (server, string, error) {
	i := slices.IndexFunc(list, func(s server) bool { return s.Provider == d.Provider })
	if i < 0 && d.BaseURL == "" {
		return server{}, "", cli.Usage("%s: this version has no client for provider %q", d.Who, d.Provider).
			Hint("give it the base URL of an OpenAI-compatible server: agentclash deployment create --base-url URL ...")
	}
	s := server{Provider: d.Provider}
	if i >= 0 {
		s = list[i]
	}
	s.baseURL, s.api, s.research = cmp.Or(d.BaseURL, s.baseURL), d.API, d.research
	s.noCache = d.PromptCache != nil && !*d.PromptCache
	if d.BaseURL != "" && i >= 0 && d.BaseURL != list[i].baseURL {
		s.KeyVar = "" // a vendor's key is for the vendor: another server gets one only when the account says so
	}
	if _, err := a.ProxyFor(s.baseURL); err != nil {
		return s, "", err
	}
	key, err := Key(a, d, s.KeyVar)
	// what is sent is what must be kept out of every fact
	return s, strings.TrimSpace(key), err
}

// checkSampling refuses settings that the client's vendor does not have.
func checkSampling(c provider.Client, s provider.Sampling) error {
	if checker, ok := c.(provider.Checker); ok {
		return checker.Check(s)
	}
	return nil
}

// builtinScript is an agent of a demo, or the reference agent of a pack of the
// catalogue.
func builtinScript(name string) ([]byte, error) {
	src, err := fs.ReadFile(pack.DemoAgents(), name+".yaml")
	if !errors.Is(err, fs.ErrNotExist) {
		return src, err
	}
	p, missing := pack.CatalogPack(name)
	if errors.Is(missing, pack.ErrNotFound) {
		return nil, err
	}
	return p.Reference(), missing
}

// Script opens a scripted model.
func Script(a *cli.App, model string, open func(string, []byte) (provider.Client, error)) (provider.Client, error) {
	src, err := ScriptSource(a, model)
	if err != nil {
		return nil, err
	}
	client, err := open(model, src)
	if err != nil {
		return nil, cli.Usage("%w", err)
	}
	return client, nil
}

// DigestScripts takes down what a plan's scripts hold today. All that are missing
// are said at once.
func DigestScripts(a *cli.App, p *plan.Plan) error {
	var errs []error
	read := map[string]bool{}
	for _, s := range p.Scripts() {
		src, err := ScriptSource(a, s.Model)
		if err != nil && !read[s.Model] {
			errs = append(errs, err)
		}
		read[s.Model] = true
		*s.Digest = digestOf(src)
	}
	if len(errs) > 0 {
		return cli.JoinFailures(errs)
	}
	return nil
}

// SameScripts refuses to go on with a run whose scripts hold something else than
// when it was planned.
func SameScripts(a *cli.App, p *plan.Plan) error {
	for _, s := range p.Scripts() {
		if *s.Digest == "" {
			continue
		}
		src, err := ScriptSource(a, s.Model)
		if err != nil {
			return err
		}
		if digestOf(src) != *s.Digest {
			return cli.Usage("%s: the script %s is another than when run %s was planned", s.Who, s.Model, p.Name).
				Hint("put it back, or start a new run with agentclash eval start")
		}
	}
	return nil
}

func digestOf(src []byte) string { return fmt.Sprintf("%x", sha256.Sum256(src)) }

// ScriptSource reads a script: a file, or one that the binary carries.
func ScriptSource(a *cli.App, model string) (src []byte, err error) {
	if name, ok := strings.CutPrefix(model, selector.BuiltinPrefix); ok {
		src, err = builtinScript(name)
	} else {
		src, err = os.ReadFile(a.Path(model))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, (&cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("read the script %q: no such file", model)}).
			Hint("name a script of yours, from this directory, or one that is built in: --model scripted/%squickstart-good", selector.BuiltinPrefix)
	}
	if info, serr := os.Stat(a.Path(model)); serr == nil && info.IsDir() {
		return nil, cli.Usage("read the script %q: it is a directory", model)
	}
	if err != nil {
		return nil, fmt.Errorf("read the script %q: %w", model, err)
	}
	return src, nil
}

// Key finds a deployment's key: where its account says, else in its provider's
// own variable or a secret of that name. A server of the user's own needs none.
func Key(a *cli.App, d Target, keyVar string) (string, error) {
	switch scheme, name, _ := strings.Cut(d.Account, "://"); {
	case d.Account == "":
	case scheme == "env":
		if v := a.Process.Getenv(name); v != "" {
			return v, nil
		}
		return "", noKey(d, "the variable %s is not set", name)
	case scheme == "workspace-secret" || scheme == "secret":
		v, ok, err := Secret(a, name)
		if err != nil || ok {
			return v, err
		}
		return "", noKey(d, "there is no secret %s", name).Hint("agentclash secret set %s", name)
	default:
		return "", cli.Usage("%s: %w", d.Who, errAccount)
	}
	if keyVar == "" {
		return "", nil
	}
	if v := a.Process.Getenv(keyVar); v != "" {
		return v, nil
	}
	v, ok, err := Secret(a, keyVar)
	if err != nil || ok {
		return v, err
	}
	return "", noKey(d, "%s is not set, and there is no secret of that name", keyVar).
		Hint("export %s=..., or agentclash secret set %s", keyVar, keyVar)
}

// ToolSecrets reads the secrets that a pack's own tools use. All that are missing
// are said at once.
func ToolSecrets(a *cli.App, p *pack.Pack) (map[string]string, error) {
	values := map[string]string{}
	var missing []string
	for _, name := range p.ToolSecrets() {
		v, ok, err := Secret(a, name)
		if err != nil {
			return nil, err
		}
		if !ok {
			missing = append(missing, name)
			continue
		}
		if v = strings.TrimSpace(v); len(v) < cli.MinSecretBytes { // what is sent is what must be kept out of results
			return nil, cli.Usage("the secret %s, which a tool of the pack uses, has fewer than %d bytes: it could not be kept out of results", name, cli.MinSecretBytes)
		}
		values[name] = v
	}
	if len(missing) > 0 {
		return nil, (&cli.Failure{Status: cli.StatusNoPermission, Code: "secret_missing",
			Err: fmt.Errorf("the pack's tools use secrets that are not set: %s", strings.Join(missing, ", "))}).Hint("agentclash secret set %s", missing[0])
	}
	return values, nil
}

// errAccount does not repeat the account: a key pasted in its place must not
// be shown.
var errAccount = errors.New("the account must be env://NAME, workspace-secret://NAME, or the name of a provider account")

// checkAccount refuses an account that says nowhere to look.
func checkAccount(account string) error {
	scheme, name, ok := strings.Cut(account, "://")
	if account == "" || ok && name != "" && slices.Contains([]string{"env", "workspace-secret", "secret"}, scheme) {
		return nil
	}
	return errAccount
}

func noKey(d Target, format string, args ...any) *cli.Failure {
	return &cli.Failure{Status: cli.StatusNoPermission, Code: "provider_key_missing",
		Err: fmt.Errorf("%s needs a key for %s: %w", d.Who, d.Provider, fmt.Errorf(format, args...))}
}

// Secret reads a secret: from AGENTCLASH_SECRET_<NAME>, else from the store.
func Secret(a *cli.App, name string) (string, bool, error) {
	if v := a.Process.Getenv("AGENTCLASH_SECRET_" + name); v != "" {
		return v, true, nil
	}
	store, err := a.OpenSecrets()
	if err != nil {
		return "", false, err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return "", false, err
	}
	return store.Get(workspace, name)
}
