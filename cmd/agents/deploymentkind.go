package agents

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/proxy"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/spf13/pflag"
)

func (s *DeploymentSpec) addKindFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Kind, "kind", "", "model, command (a program of yours) or http (an endpoint) (default: model)")
	f.StringVar(&s.Files, "files", "", "command: file or directory of this machine that the program is in")
	f.StringArrayVar(&s.env, "env", nil, "command: NAME=VALUE in the program's environment; repeatable, and never a secret")
	f.StringVar(&s.Workdir, "workdir", "", "command: directory of the workspace that the program starts in")
	f.StringVar(&s.Answer, "answer", "", "command: stdout, or the file of the workspace with the answer (default: stdout)")
	f.StringArrayVar(&s.Models, "also-model", nil, "command: another model of the same provider that the program may ask; repeatable")
	f.Int64Var(&s.MaxOutputBytes, "max-output-bytes", 0, "command: what the program may print (0: what the pack says)")
	f.StringVar(&s.URL, "url", "", "http: the endpoint's address")
	f.StringArrayVar(&s.header, "header", nil, "http: 'NAME: VALUE' sent with each case; repeatable")
}

// readPairs takes the flags that are names and values.
func (s *DeploymentSpec) readPairs() error {
	for _, flag := range []struct {
		name, sep, form string
		from            []string
		to              *map[string]string
	}{{"--env", "=", "NAME=VALUE", s.env, &s.Env}, {"--header", ":", "'NAME: VALUE'", s.header, &s.Headers}} {
		for _, pair := range flag.from {
			name, value, ok := strings.Cut(pair, flag.sep)
			if name = strings.TrimSpace(name); !ok || name == "" {
				return cli.Usage("%s is written %s", flag.name, flag.form) // and what stands there instead may be a secret
			}
			if *flag.to == nil {
				*flag.to = map[string]string{}
			}
			if _, twice := (*flag.to)[name]; twice {
				return cli.Usage("%s %s is given twice", flag.name, name)
			}
			if flag.sep == ":" {
				value = strings.TrimSpace(value)
			}
			(*flag.to)[name] = value
		}
	}
	return nil
}

// checkKind says everything that is wrong with the fields of a kind.
func (s *DeploymentSpec) checkKind() (errs []error) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	program, endpoint := s.Kind == plan.KindCommand, s.Kind == plan.KindHTTP
	add(!slices.Contains([]string{plan.KindModel, plan.KindCommand, plan.KindHTTP}, s.Kind), "--kind must be model, command or http, not %q", s.Kind)
	errs = append(errs, s.readCommand()...)
	own := len(s.argv) > 0 || len(s.Env) > 0 || s.Workdir != "" || s.Answer != "" || s.Files != "" || len(s.Models) > 0 || s.MaxOutputBytes != 0
	add(own && !program, "command, env, workdir, answer, files, models and max_output_bytes go with --kind command")
	add((s.URL != "" || len(s.Headers) > 0) && !endpoint, "url and headers go with --kind http")
	add((program || endpoint) && (len(s.Tools.Denied) > 0 || len(s.OutputSchema) > 0), "tool_overrides and output_schema are for the built-in loop: an agent of kind %s has its own", s.Kind)
	if program {
		errs = append(errs, s.checkProgram()...)
	}
	if endpoint {
		errs = append(errs, s.checkHTTP()...)
	}
	return errs
}

// readCommand takes the words of a file's command.
func (s *DeploymentSpec) readCommand() []error {
	switch command := s.Command.(type) {
	case nil:
		return nil
	case string:
		return []error{fmt.Errorf("command is one text: no shell reads it; write a list of words, or [sh, -c, %q]", command)}
	case []any:
		s.argv = nil
		for _, item := range command {
			word, ok := item.(string)
			if !ok {
				return []error{fmt.Errorf("command: %v is no text: put quotes around it", item)}
			}
			s.argv = append(s.argv, word)
		}
		return nil
	}
	return []error{errors.New("command must be a list of words: the program and its arguments")}
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (s *DeploymentSpec) checkProgram() (errs []error) {
	add := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	add(len(s.argv) == 0 || s.argv[0] == "", "the program is missing: it comes after --, or is the list command of a file")
	add(s.System != "" || s.SystemFile != "", "a program has its own system prompt: leave out --system")
	add(s.Build != "", "--build is for the built-in loop: a program has its own instructions")
	knobs := s.Sampling
	knobs.MaxOutputTokens = 0
	add(knobs.Temperature != nil || knobs.TopP != nil || knobs.Seed != nil || len(knobs.Stop) > 0 || knobs.ReasoningEffort != "", "sampling: a program says itself how it samples; of sampling only max_output_tokens counts")
	add(s.Model == "" && (s.BaseURL != "" || s.Account != "" || len(s.Models) > 0), "base_url, account and models are for the program's model: give --model")
	add(s.MaxOutputBytes < 0, "--max-output-bytes must not be negative")
	add(slices.Contains(s.Models, ""), "--also-model is empty")
	for what, at := range map[string]string{"--workdir": s.Workdir, "--answer": s.Answer} {
		if at == "" || what == "--answer" && at == plan.AnswerStdout {
			continue
		}
		if _, err := sandbox.Resolve(at); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	for _, word := range s.argv {
		add(strings.Contains(word, plan.AgentDir) && s.Files == "", "the command uses %s, and there are no --files", plan.AgentDir)
		add(strings.IndexByte(word, 0) >= 0, "a word of the command holds a NUL byte")
		found, meant := plan.Misspelled(word)
		add(found != "", "the command has %s, which is not replaced: write %s if that is meant, and another name if not", found, meant)
	}
	ours := proxy.Variables(0, "", "", "")
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		add(!variable.MatchString(name), "--env: %q is not the name of a variable", name)
		add(s.Model != "" && ours[name] != "" || strings.HasPrefix(name, "AGENTCLASH_") || s.Model != "" && isOurs(ours, name), "--env: %s is set by agentclash", name)
		add(strings.Contains(s.Env[name], "${") || isReference(s.Env[name]), "--env: %s: a sandbox gets no secrets: its programs reach their model without a key, and other addresses by the pack's tools", name)
	}
	return errs
}

func isOurs(ours map[string]string, name string) bool {
	_, is := ours[name]
	return is
}

func isReference(v string) bool {
	scheme, _, ok := strings.Cut(v, "://")
	return ok && isScheme(scheme)
}

func isScheme(s string) bool {
	return slices.Contains([]string{"env", "workspace-secret", "secret"}, s)
}

// secretly are names of headers whose values are secrets.
var secretly = regexp.MustCompile(`(?i)authorization|cookie|key|token|secret|password|credential`)

func (s *DeploymentSpec) checkHTTP() (errs []error) {
	if s.Model != "" || s.BaseURL != "" || s.Account != "" {
		errs = append(errs, errors.New("an endpoint has its model behind it: leave out --model, --base-url and --account"))
	}
	if s.Build != "" {
		errs = append(errs, errors.New("--build is for the built-in loop: an endpoint is what it is"))
	}
	if s.SystemFile != "" {
		errs = append(errs, errors.New("--system-file does not go with --kind http: use --system"))
	}
	if s.Sandbox != (plan.SandboxOverrides{}) {
		errs = append(errs, errors.New("an endpoint has no sandbox: leave out what is about one"))
	}
	if s.URL == "" {
		errs = append(errs, errors.New("--url is missing"))
	} else if _, bad := checkEndpoint(s.URL, s.Headers); len(bad) > 0 {
		errs = append(errs, bad...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if v := s.Headers[name]; secretly.MatchString(name) && !isReference(v) && !placeholder.MatchString(v) {
			errs = append(errs, fmt.Errorf("header %q: a secret is not kept in a deployment; write env://NAME, workspace-secret://NAME, or ${secrets.NAME} in the value", name))
		}
		for _, odd := range regexp.MustCompile(`\$\{[^}]*\}?`).FindAllString(s.Headers[name], -1) {
			if !placeholder.MatchString(odd) {
				errs = append(errs, fmt.Errorf("header %q: the one placeholder is ${secrets.NAME}", name))
			}
		}
	}
	return errs
}

// placeholder stands for a secret in a header's value.
var placeholder = regexp.MustCompile(`\$\{secrets\.([A-Za-z_][A-Za-z0-9_-]*)\}`)

// endpoint is a checked deployment of kind http.
func (s *DeploymentSpec) endpoint() plan.Deployment {
	at, _ := checkEndpoint(s.URL, nil)
	return plan.Deployment{
		Name: strings.TrimSpace(s.Name), Kind: plan.KindHTTP, Provider: httpProvider, Model: at, System: s.System,
		Limits: s.Limits, Profile: strings.TrimSpace(s.RuntimeProfile), HTTP: &plan.HTTPTarget{URL: strings.TrimSpace(s.URL), Headers: s.Headers},
	}
}

// program is a checked deployment's program. Its files are read once, so that what
// is wrong with them is said now.
func program(a *cli.App, s DeploymentSpec) (*plan.Command, error) {
	c := &plan.Command{Argv: s.argv, Env: s.Env, Answer: s.Answer, Models: s.Models, MaxOutputBytes: s.MaxOutputBytes}
	if s.Workdir != "" {
		c.Workdir, _ = sandbox.Resolve(s.Workdir) // it was checked
	}
	if c.Answer != "" && c.Answer != plan.AnswerStdout {
		c.Answer, _ = sandbox.Resolve(s.Answer)
	}
	if s.Files == "" {
		return c, nil
	}
	c.Files = path.Clean(a.Path(s.Files))
	_, _, err := agentFiles(c.Files)
	return c, err
}
