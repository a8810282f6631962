package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/provider"
)

func newDeployment(a *app) *cobra.Command {
	c := group("deployment", "Name what is to be run: a model, a program or an endpoint", newDeploymentCreate(a), newDeploymentGet(a), newDeploymentList(a),
		newDeploymentUpdate(a), newDeploymentDelete(a))
	c.Aliases = []string{"deploy"}
	return c
}

// deploymentSpec is a deployment as flags and files write it.
type deploymentSpec struct {
	spec.Deployment

	argv   []string // of flags, or of Command once it is read
	env    []string // of flags
	header []string
	// alias is the model alias that Model was, "" when it was none.
	alias string

	replayed bool // a recording answers: its script need not be there
}

func newDeploymentCreate(a *app) *cobra.Command {
	var s deploymentSpec
	var file string
	var reminders int
	var shell bool
	c := &cobra.Command{
		Use: "create [flags] [-- PROGRAM ARG ...]", Short: "Keep a deployment under a name",
		Long: `Keep a deployment under a name: a model with its system prompt, where it is
reached and what it may use. A file holds the same fields as YAML or JSON.
Keys are never given here: an account says where the key is found.

With --kind command the agent is a program of yours, which is started inside the
trial's sandbox; what follows -- is the program and its arguments. {agent_dir}
stands for where --files are in the sandbox, {task} for the task and {task_file}
for the file it is in; without the two the task is the program's standard input.
The calls it makes to --model go through agentclash, and are counted and limited.

With --kind http the agent is an endpoint that is given the case and answers.
A header's value may be env://NAME, workspace-secret://NAME or hold
${secrets.NAME}. See docs/agents.md for both.`,
		Example: `  agentclash deployment create --name prod --model openai/gpt-4.1-mini --system-file prompt.md
  agentclash deployment create --name local --model openai/llama3 --base-url http://localhost:8000/v1
  agentclash deployment create --name mine --kind command --model openai/gpt-4.1-mini --files ./agent -- python3 {agent_dir}/main.py
  agentclash deployment create --name service --kind http --url http://localhost:8080/agent --header 'Authorization: Bearer ${secrets.AGENT_KEY}'
  agentclash deployment create --from-file deployment.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && c.ArgsLenAtDash() != 0 {
				return usage("deployment create takes no argument %q; a program and its arguments come after --", args[0]).hint("agentclash deployment create --help")
			}
			s.argv = args
			if file != "" {
				if c.Flags().NFlag() > 1 || len(args) > 0 {
					return usage("--from-file holds the whole deployment: leave out the other flags")
				}
				if err := a.readSpec(file, &s); err != nil {
					return err
				}
			}
			if c.Flags().Changed("text-reminders") {
				s.Limits.TextReminders = &reminders
			}
			if err := s.readPairs(); err != nil {
				return err
			}
			if c.Flags().Changed("allow-shell") {
				s.Sandbox.AllowShell = &shell
			}
			return runDeploymentCreate(c.Context(), a, s)
		},
	}
	f := c.Flags()
	s.addFlags(f)
	f.BoolVar(&shell, "allow-shell", false, "let this agent run programs where the pack does not say that it may")
	f.StringVar(&file, "from-file", "", "YAML or JSON file with the deployment's fields")
	f.IntVar(&reminders, "text-reminders", 1, "how often an agent that answers in text alone is told that only submit counts (0 to 5)")
	return c
}

func (s *deploymentSpec) addFlags(f *pflag.FlagSet) {
	s.addKindFlags(f)
	f.StringVar(&s.Name, "name", "", "name of the deployment")
	f.StringVar(&s.Model, "model", "", "provider/model, or a model alias")
	f.StringVar(&s.BaseURL, "base-url", "", "address of a server that speaks the provider's protocol; of an OpenAI-compatible one up to and including /v1")
	f.StringVar(&s.API, "api", "", "chat or responses, of a provider that speaks OpenAI's protocol (default: chat)")
	f.Var(&optionalBool{&s.PromptCache}, "prompt-cache", "ask anthropic to cache prompts (default: true)")
	f.Lookup("prompt-cache").NoOptDefVal = "true"
	f.StringVar(&s.Account, "account", "", "a provider account, or where the key is: env://NAME or workspace-secret://NAME (default: the provider's own variable; with --base-url none)")
	f.StringVar(&s.System, "system", "", "system prompt")
	f.StringVar(&s.SystemFile, "system-file", "", "file with the system prompt")
	f.IntVar(&s.Limits.MaxIterations, "max-iterations", 0, "steps of one trial (0: 50)")
	f.IntVar(&s.Limits.MaxToolCalls, "max-tool-calls", 0, "tool calls of one trial (0: 100)")
	f.IntVar(&s.Limits.StepTimeoutSeconds, "step-timeout", 0, "seconds for one model call (0: 120)")
	f.IntVar(&s.Limits.RunTimeoutSeconds, "run-timeout", 0, "seconds for one trial (0: 1800)")
	f.StringVar(&s.Build, "build", "", "an agent's build, as NAME or NAME@N: its system prompt, output schema, tools and limits")
	f.StringVar(&s.RuntimeProfile, "runtime-profile", "", "runtime profile with the limits that are not said here")
	f.Int64Var(&s.Limits.MaxOutputTokens, "max-output-tokens", 0, "tokens of one reply (0: 8192)")
}

func (a *app) readSpec(file string, s *deploymentSpec) error {
	src, err := os.ReadFile(a.path(file))
	if errors.Is(err, os.ErrNotExist) {
		return &failure{status: statusNotFound, code: "file_not_found", err: fmt.Errorf("read the deployment %s: no such file", file)}
	}
	if err != nil {
		return fmt.Errorf("read the deployment: %w", err)
	}
	if problems := spec.ParseDeployment(file, src, &s.Deployment); problems.Err() != nil {
		return refusal("deployment_invalid", "the deployment is not valid", problems.Errors()).hint("agentclash deployment create --help")
	}
	beside := filepath.Dir(a.path(file)) // where relative paths of the file begin
	for _, path := range []*string{&s.Files, &s.SystemFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(beside, *path)
		}
	}
	return nil
}

func runDeploymentCreate(ctx context.Context, a *app, s deploymentSpec) error {
	d, err := a.checkedSpec(ctx, s)
	if err != nil {
		return err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return err
	}
	db, err := a.store(ctx)
	if err != nil {
		return err
	}
	stored, err := db.SaveDeployment(ctx, workspace, d)
	if err != nil {
		return err
	}
	if file, err := a.repoDeployments(); err != nil {
		a.say("! %v", err)
	} else if _, ok := file.find(d.Name); ok {
		a.say("! %s has a deployment %s, too, which is used instead", a.shown(file.path), d.Name)
	}
	doc := map[string]string{"deployment_id": stored.ID, "name": d.Name, "model": d.Target()}
	return a.print(doc, func(io.Writer, view.Options) error {
		a.say("✓ deployment %s runs %s", d.Name, d.Target())
		return nil
	})
}

// checkedSpec is resolveSpec, which also sees that what the deployment names is
// there. It is kept as it names it.
func (a *app) checkedSpec(ctx context.Context, s deploymentSpec) (plan.Deployment, error) {
	if err := a.readAlias(ctx, &s); err != nil {
		return plan.Deployment{}, err
	}
	d, err := a.resolveSpec(s)
	if err != nil {
		return d, err
	}
	whole, err := a.referred(ctx, d)
	if err == nil {
		_, err = a.byAccount(ctx, whole)
	}
	return d, err
}

// resolveSpec checks a deployment and turns files and relative paths into
// what can be used from anywhere.
func (a *app) resolveSpec(s deploymentSpec) (plan.Deployment, error) {
	if err := s.check(); err != nil {
		return plan.Deployment{}, err
	}
	if s.Kind == plan.KindHTTP {
		return s.endpoint(), nil
	}
	key, model, err := s.models()
	if err != nil {
		return plan.Deployment{}, err
	}
	if strings.Contains(s.Account, "://") {
		if err := checkAccount(s.Account); err != nil {
			return plan.Deployment{}, usage("--account: %w", err)
		}
	}
	if s.BaseURL != "" {
		if _, err := newServerClient(server{provider: key, baseURL: s.BaseURL}, ""); err != nil {
			return plan.Deployment{}, usage("--base-url: %w", err)
		}
	}
	d := plan.Deployment{
		Name: strings.TrimSpace(s.Name), Provider: key, Model: model, BaseURL: s.BaseURL, API: s.API, Account: s.Account, PromptCache: s.PromptCache,
		System: s.System, OutputSchema: s.OutputSchema, Sampling: s.Sampling, Limits: s.Limits, Tools: s.Tools, Sandbox: s.Sandbox,
		Build: strings.TrimSpace(s.Build), Profile: strings.TrimSpace(s.RuntimeProfile), Alias: s.alias,
	}
	if err := a.checkSettings(d); d.Model != "" && err != nil {
		return plan.Deployment{}, usage("deployment create: %w", err)
	}
	if s.Kind == plan.KindCommand {
		d.Kind = plan.KindCommand
		if d.Command, err = a.program(s); err != nil {
			return plan.Deployment{}, err
		}
	}
	if s.SystemFile != "" {
		text, err := os.ReadFile(a.path(s.SystemFile))
		if err != nil {
			return plan.Deployment{}, usage("read the system prompt: %w", err)
		}
		d.System = string(text)
	}
	if key != provider.Scripted {
		return d, nil
	}
	if !strings.HasPrefix(model, builtinPrefix) {
		d.Model = filepath.Clean(a.path(model))
	}
	if s.replayed {
		return d, nil
	}
	_, err = a.script(d.Model, newScriptClient)
	return d, err
}

// check says everything that is wrong with a deployment by itself.
func (s *deploymentSpec) check() error {
	var errs []error
	if strings.TrimSpace(s.Name) == "" {
		errs = append(errs, errors.New("--name is missing"))
	}
	if s.Kind == "" {
		s.Kind = plan.KindModel
	}
	if s.Model == "" && s.Kind == plan.KindModel {
		errs = append(errs, errors.New("--model is missing"))
	}
	errs = append(errs, s.checkKind()...)
	if s.System != "" && s.SystemFile != "" {
		errs = append(errs, errors.New("--system and --system-file are two system prompts: choose one"))
	}
	if s.Build != "" && (s.System != "" || s.SystemFile != "" || len(s.OutputSchema) > 0) {
		errs = append(errs, errors.New("--build "+spec.BuildSays))
	}
	errs = append(errs, spec.CheckSandbox(s.Sandbox)...)
	if slices.Contains(s.Tools.Denied, "submit") {
		errs = append(errs, errors.New("tool_overrides.denied: submit cannot be denied: nothing else hands in the answer"))
	}
	for name, n := range map[string]int64{
		"max-iterations": int64(s.Limits.MaxIterations), "max-tool-calls": int64(s.Limits.MaxToolCalls),
		"step-timeout": int64(s.Limits.StepTimeoutSeconds), "run-timeout": int64(s.Limits.RunTimeoutSeconds),
		"max-output-tokens": s.Limits.MaxOutputTokens,
	} {
		if n < 0 {
			errs = append(errs, fmt.Errorf("--%s must not be negative", name))
		}
	}
	if n := s.Limits.TextReminders; n != nil && (*n < 0 || *n > plan.MaxTextReminders) {
		errs = append(errs, fmt.Errorf("--text-reminders must be 0 to %d", plan.MaxTextReminders))
	}
	if len(errs) > 0 {
		return usage("deployment create: %w", errors.Join(errs...)).hint("agentclash deployment create --help")
	}
	return nil
}

// models is the deployment's provider and what that calls the model, both "" for a
// program without one. A server of the user's own, which an account may name, has
// whatever other models it likes.
func (s deploymentSpec) models() (key, model string, err error) {
	if s.Model == "" {
		return "", "", nil
	}
	if key, model, err = provider.ParseModel(s.Model); err != nil {
		return "", "", usage("--model: %w", err)
	}
	if s.BaseURL != "" || s.Account != "" && !strings.Contains(s.Account, "://") {
		return key, model, nil
	}
	for _, also := range s.Models {
		if err := provider.CheckAlso(key, also); err != nil {
			return "", "", usage("--also-model: %w", err)
		}
	}
	return key, model, nil
}

// checkSettings refuses what the deployment's provider does not have.
func (a *app) checkSettings(d plan.Deployment) error {
	if err := d.CheckSurface(); err != nil || d.Provider == provider.Scripted {
		return err
	}
	list := servers()
	i := slices.IndexFunc(list, func(s server) bool { return s.provider == d.Provider })
	s := server{provider: d.Provider, baseURL: d.BaseURL, api: d.API}
	if s.baseURL == "" && i >= 0 {
		s.baseURL = list[i].baseURL
	}
	client, err := newServerClient(s, "")
	if err != nil {
		return err
	}
	return checkSampling(client, d.Sampling)
}

// optionalBool is a flag that is true, false or not given.
type optionalBool struct{ to **bool }

func (b *optionalBool) String() string {
	if b.to == nil || *b.to == nil {
		return ""
	}
	return strconv.FormatBool(**b.to)
}

func (b *optionalBool) Set(text string) error {
	v, err := strconv.ParseBool(text)
	if err != nil {
		return errors.New("must be true or false")
	}
	*b.to = &v
	return nil
}

func (b *optionalBool) Type() string { return "bool" }
