package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/spec"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/engine/provider"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NewDeployment is agentclash deployment: what is to be run, under a name.
func NewDeployment(a *cli.App) *cobra.Command {
	c := cli.Group("deployment", "Name what is to be run: a model, a program or an endpoint", newDeploymentCreate(a), newDeploymentGet(a), newDeploymentList(a),
		newDeploymentUpdate(a), newDeploymentDelete(a))
	c.Aliases = []string{"deploy"}
	return c
}

// DeploymentSpec is a deployment as flags and files write it.
type DeploymentSpec struct {
	spec.Deployment

	argv   []string // of flags, or of Command once it is read
	env    []string // of flags
	header []string
	// alias is the model alias that Model was, "" when it was none; script is where it
	// says that a scripted model's file is.
	alias, script string

	Replayed bool // a recording answers: its script need not be there

	scriptDir string          // where a script's relative path begins; "" is the working directory
	was       plan.Deployment // what is being changed: its script stays where it is
}

func newDeploymentCreate(a *cli.App) *cobra.Command {
	var s DeploymentSpec
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
				return cli.Usage("deployment create takes no argument %q; a program and its arguments come after --", args[0]).Hint("agentclash deployment create --help")
			}
			s.argv = args
			if file != "" {
				if c.Flags().NFlag() > 1 || len(args) > 0 {
					return cli.Usage("--from-file holds the whole deployment: leave out the other flags")
				}
				if err := ReadSpec(a, file, &s); err != nil {
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

func (s *DeploymentSpec) addFlags(f *pflag.FlagSet) {
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

// ReadSpec reads a deployment from a JSON or YAML file; everything that is wrong with it
// is said at once.
func ReadSpec(a *cli.App, file string, s *DeploymentSpec) error {
	src, err := cli.ResourceFile(a.Path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return &cli.Failure{Status: cli.StatusNotFound, Code: "file_not_found", Err: fmt.Errorf("read the deployment %s: no such file", file)}
	}
	if err != nil {
		return cli.Usage("read the deployment: %w", err)
	}
	if problems := spec.ParseDeployment(file, src, &s.Deployment); problems.Err() != nil {
		return selector.Refusal("deployment_invalid", "the deployment is not valid", problems.Errors()).Hint("agentclash deployment create --help")
	}
	beside := filepath.Dir(a.Path(file)) // where relative paths of the file begin
	for _, path := range []*string{&s.Files, &s.SystemFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(beside, *path)
		}
	}
	return nil
}

func runDeploymentCreate(ctx context.Context, a *cli.App, s DeploymentSpec) error {
	d, err := checkedSpec(ctx, a, s)
	if err != nil {
		return err
	}
	db, workspace, err := a.StoreIn(ctx)
	if err != nil {
		return err
	}
	stored, err := db.SaveDeployment(ctx, workspace, d)
	if err != nil {
		return err
	}
	if file, err := repoDeployments(a); err != nil {
		a.Say("! %v", err)
	} else if _, ok := file.Find(d.Name); ok {
		a.Say("! %s has a deployment %s, too, which is used instead", a.Shown(file.Path), d.Name)
	}
	doc := map[string]string{"deployment_id": stored.ID, "name": d.Name, "model": d.Target()}
	return a.Print(doc, func(io.Writer, view.Options) error {
		a.Say("✓ deployment %s runs %s", d.Name, d.Target())
		return nil
	})
}

// checkedSpec is resolveSpec, which also sees that what the deployment names is
// there. It is kept as it names it.
func checkedSpec(ctx context.Context, a *cli.App, s DeploymentSpec) (plan.Deployment, error) {
	if err := ReadAlias(ctx, a, &s); err != nil {
		return plan.Deployment{}, err
	}
	d, err := ResolveSpec(a, s)
	if err != nil {
		return d, err
	}
	whole, err := Referred(ctx, a, d)
	if err == nil {
		_, err = ByAccount(ctx, a, whole)
	}
	return d, err
}

// ResolveSpec checks a deployment and turns files and relative paths into
// what can be used from anywhere.
func ResolveSpec(a *cli.App, s DeploymentSpec) (plan.Deployment, error) {
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
			return plan.Deployment{}, cli.Usage("--account: %w", err)
		}
	}
	if s.BaseURL = strings.TrimSpace(s.BaseURL); s.BaseURL != "" {
		if _, err := newServerClient(server{Provider: key, baseURL: s.BaseURL}, ""); err != nil {
			return plan.Deployment{}, cli.Usage("--base-url: %w", err)
		}
	}
	d := plan.Deployment{
		Name: strings.TrimSpace(s.Name), Provider: key, Model: model, BaseURL: s.BaseURL, API: s.API, Account: s.Account, PromptCache: s.PromptCache,
		System: s.System, OutputSchema: s.OutputSchema, Sampling: s.Sampling, Limits: s.Limits, Tools: s.Tools, Sandbox: s.Sandbox,
		Build: strings.TrimSpace(s.Build), Profile: strings.TrimSpace(s.RuntimeProfile), Alias: s.alias,
	}
	if err := checkSettings(a, d); d.Model != "" && err != nil {
		return plan.Deployment{}, cli.Usage("deployment create: %w", err)
	}
	if s.Kind == plan.KindCommand {
		d.Kind = plan.KindCommand
		if d.Command, err = program(a, s); err != nil {
			return plan.Deployment{}, err
		}
	}
	if s.SystemFile != "" {
		text, err := cli.ResourceFile(a.Path(s.SystemFile))
		if err != nil {
			return plan.Deployment{}, cli.Usage("read the system prompt: %w", err)
		}
		d.System = string(text)
	}
	if key != provider.Scripted {
		return d, nil
	}
	d.Script = s.scriptFile(a, model)
	if s.Replayed {
		return d, nil
	}
	_, err = Script(a, d.ScriptFile(), NewScriptClient)
	return d, err
}

// scriptFile is where a scripted model's file is, "" when its name says that from
// anywhere.
func (s *DeploymentSpec) scriptFile(a *cli.App, model string) string {
	switch {
	case strings.HasPrefix(model, selector.BuiltinPrefix), filepath.IsAbs(model):
		return ""
	case s.alias != "":
		return s.script
	case s.was.Script != "" && s.was.Model == model:
		return s.was.Script
	case s.scriptDir != "":
		return filepath.Join(s.scriptDir, model)
	}
	return a.Path(model)
}

// check says everything that is wrong with a deployment by itself.
func (s *DeploymentSpec) check() error {
	var errs []error
	if strings.TrimSpace(s.Name) == "" {
		errs = append(errs, errors.New("--name is missing"))
	} else if wrong := spec.NameProblem(s.Name); wrong != "" {
		errs = append(errs, errors.New("--name "+wrong))
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
		return cli.Faults("deployment create", errors.Join(errs...)).Hint("agentclash deployment create --help")
	}
	return nil
}

// models is the deployment's provider and what that calls the model, both "" for a
// program without one. A server of the user's own, which an account may name, has
// whatever other models it likes.
func (s DeploymentSpec) models() (key, model string, err error) {
	if s.Model == "" {
		return "", "", nil
	}
	if key, model, err = provider.ParseModel(s.Model); err != nil {
		return "", "", cli.Usage("--model: %w", err)
	}
	if s.BaseURL != "" || s.Account != "" && !strings.Contains(s.Account, "://") {
		return key, model, nil
	}
	for _, also := range s.Models {
		if err := provider.CheckAlso(key, also); err != nil {
			return "", "", cli.Usage("--also-model: %w", err)
		}
	}
	return key, model, nil
}

// checkSettings refuses what the deployment's provider does not have.
func checkSettings(a *cli.App, d plan.Deployment) error {
	if err := d.CheckSurface(); err != nil || d.Provider == provider.Scripted {
		return err
	}
	list := Servers()
	i := slices.IndexFunc(list, func(s server) bool { return s.Provider == d.Provider })
	s := server{Provider: d.Provider, baseURL: d.BaseURL, api: d.API}
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
