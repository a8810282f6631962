package agents

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/proxy"
)

// opened is a program with what it runs with.
type opened struct {
	engine.Program
	client  provider.Client // of a model without a wire of its own
	secrets []string
}

// openProgram reads a program's files, which must be those that the run was
// planned with, and finds its model.
func openProgram(a *cli.App, t Target) (o opened, errs []error) {
	o.Files, errs = programFiles(t)
	switch t.Provider {
	case "":
		return o, errs
	case provider.Scripted:
		client, err := Script(a, t.ScriptFile(), NewScriptClient)
		if err != nil {
			errs = append(errs, err)
		}
		o.client = client
		return o, errs
	}
	s, key, err := serverOf(a, t, Servers())
	if err != nil {
		return o, append(errs, err)
	}
	o.Upstream = &proxy.Upstream{Provider: t.Provider, BaseURL: s.baseURL, Key: key, Proxy: http.ProxyFromEnvironment}
	if err := o.Upstream.Check(); err != nil {
		errs = append(errs, cli.Usage("%s: %w", t.Who, err))
	}
	if key != "" {
		o.secrets = []string{key}
	}
	return o, errs
}

// OpenPlayed is a program that is answered from a recording. Where its model was
// says how its requests are judged; nothing is asked there, and no key is needed.
func OpenPlayed(a *cli.App, t Target) (o opened, errs []error) {
	o.Files, errs = programFiles(t)
	if t.Provider == "" || t.Provider == provider.Scripted {
		return o, errs
	}
	at := t.BaseURL
	for _, s := range Servers() {
		if s.Provider == t.Provider {
			at = cmp.Or(at, s.baseURL)
		}
	}
	o.Upstream = &proxy.Upstream{Provider: t.Provider, BaseURL: at}
	if err := o.Upstream.Check(); err != nil {
		errs = append(errs, cli.Usage("%s: %w", t.Who, err))
	}
	return o, errs
}

// programFiles are a program's files, which must be those that the run was planned
// with.
func programFiles(t Target) ([]engine.ProgramFile, []error) {
	c := t.Command
	if c.Files == "" {
		return nil, nil
	}
	files, digest, err := agentFiles(c.Files)
	switch {
	case err != nil:
		return nil, []error{err}
	case digest != c.FilesDigest:
		return nil, []error{cli.Usage("%s: the files in %s are others than when the run was planned", t.Who, c.Files).Hint("start a new run")}
	}
	return files, nil
}

// openEndpoint makes the client of an endpoint, with its headers filled in.
func openEndpoint(a *cli.App, t Target) (client provider.Client, secrets []string, errs []error) {
	headers := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(t.HTTP.Headers)) {
		value, used, err := HeaderValue(a, t, name, t.HTTP.Headers[name])
		if err != nil {
			errs = append(errs, err)
		}
		headers[name], secrets = value, append(secrets, used...)
	}
	if _, err := a.ProxyFor(t.HTTP.URL); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, nil, errs
	}
	client, err := newEndpointClient(t.HTTP.URL, headers, secrets)
	if err != nil {
		errs = append(errs, cli.Usage("%s: %w", t.Who, err))
	}
	return client, secrets, errs
}

// HeaderValue fills secrets in, and says which were used.
func HeaderValue(a *cli.App, t Target, name, value string) (filled string, secrets []string, err error) {
	take := func(secret string, ok bool, from string) string {
		secret = strings.TrimSpace(secret)
		switch {
		case err != nil:
		case !ok || secret == "":
			err = (&cli.Failure{Status: cli.StatusNoPermission, Code: "secret_missing",
				Err: cli.Usage("%s: header %q: %s is not set", t.Who, name, from).Err}).Hint("agentclash secret set NAME, or export it")
		case len(secret) < cli.MinSecretBytes:
			err = cli.Usage("%s: header %q: %s has fewer than %d bytes: it could not be kept out of results", t.Who, name, from, cli.MinSecretBytes)
		}
		secrets = append(secrets, secret)
		return secret
	}
	stored := func(secretName string) string {
		v, ok, serr := Secret(a, secretName)
		if serr != nil && err == nil {
			err = serr
		}
		return take(v, ok, "the secret "+secretName)
	}
	switch scheme, rest, ok := strings.Cut(value, "://"); {
	case ok && scheme == "env":
		v := a.Process.Getenv(rest)
		return take(v, v != "", "the variable "+rest), secrets, err
	case ok && isScheme(scheme):
		return stored(rest), secrets, err
	}
	filled = placeholder.ReplaceAllStringFunc(value, func(m string) string { return stored(placeholder.FindStringSubmatch(m)[1]) })
	return filled, secrets, err
}

// deploymentView is a deployment for the list.
func deploymentView(d definition) view.Deployment {
	kind := d.Kind
	if kind == "" {
		kind = plan.KindModel
	}
	return view.Deployment{
		ID: d.ID, Name: d.Name, Kind: kind, Provider: d.Provider, Model: d.Model, Target: d.Target(), BaseURL: d.BaseURL,
		API: d.API, Account: d.Account, PromptCache: d.PromptCache, Build: d.Build, RuntimeProfile: d.Profile, ModelAlias: d.Alias,
		Origin: d.origin, CreatedAt: selector.When(d.CreatedAt),
	}
}
