package evaluation

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/agentclash/agentclash/cmd/agents"
	"github.com/agentclash/agentclash/cmd/cli"
	"github.com/agentclash/agentclash/cmd/infra"
	"github.com/agentclash/agentclash/cmd/runs"
	"github.com/agentclash/agentclash/cmd/sandboxes"
	"github.com/agentclash/agentclash/cmd/selector"
	"github.com/agentclash/agentclash/cmd/sessions"
	"github.com/agentclash/agentclash/cmd/verdict"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	reports "github.com/agentclash/agentclash/cmd/report"
	"github.com/agentclash/agentclash/engine"
	"github.com/agentclash/agentclash/engine/peers"
	"github.com/agentclash/agentclash/engine/record"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
	"github.com/agentclash/agentclash/store"
	"github.com/agentclash/agentclash/store/bundle"
)

// NewEval is agentclash eval: running agents on a pack, and reading or scoring again what
// came of it.
func NewEval(a *cli.App) *cobra.Command {
	return cli.Group("eval", "Run agents on a challenge pack, and read what came of it", newEvalStart(a), verdict.NewEvalScorecard(a), newEvalRescore(a),
		sessions.NewEvalSession(a), runs.NewEvalList(a))
}

// StartOptions are the flags of eval start and run create.
type StartOptions struct {
	pack        string
	inputSet    string
	Deployments []string
	Models      []string
	cases       []string
	name        string
	session     string
	plan        plan.Options
	limits      agents.LimitFlags
	shard       string
	sandbox     string
	image       string
	Profile     string
	prices      scoring.ListPrices
	Follow      bool
	dryRun      bool
	exitCode    bool
	Gate        bool
	PolicyFile  string
	against     verdict.Reference // its policy is read by check
	Until       UntilOptions
	affected    bool
	since       string
	traces      runs.TraceOptions
	Tape        tapeOptions
	Regressions suiteOptions
	reports     verdict.ReportFlags

	Inline []plan.Deployment // of a CI manifest, beside the named ones
	// opponent is the baseline to decide against, where it has been found
	Opponent *verdict.Comparand
	// ended takes the place of what is said and written when the run has ended
	Ended func(*plan.Plan, engine.Result, error) error
}

// agents is how many agents are named.
func (o *StartOptions) agents() int { return len(o.Deployments) + len(o.Models) + len(o.Inline) }

const humanWaitUsage = "wait for people to take their turns in conversations, by run turn submit"

func newEvalStart(a *cli.App) *cobra.Command {
	var o StartOptions
	c := &cobra.Command{
		Use: "start", Short: "Run every agent on every case of a pack",
		Long: `Run every agent on every case of a challenge pack, score what it did, and keep
every fact in the store. Native cases run in a fresh sandbox each.

A run that reaches --budget-usd or --deadline ends as failed; run resume runs
what it left, with a larger budget or another deadline.

Exit status: 0 the run completed, whatever the scores; 1 a replay asked for
what is not recorded; 31 it failed, reached a limit of its own or was
cancelled; 64 a flag or the pack is wrong; 66 something named does not exist;
69 a sandbox is needed and no Docker engine answers; 75 a provider was
unavailable; 77 a key is missing or was refused; 130 interrupted. With
--exit-code, 1 when an agent did not pass and 3 when more trials than
--max-invalid were invalid. With --gate, the gate's 0 pass, 1 fail, 2 warn,
3 not enough evidence.

With --until-decided, cases are repeated only until the evidence decides whether
the agent has regressed, at the error rates of the policy; --max-trials and
--budget-usd bound it, and 3 says that neither was decided within them.`,
		Example: `  agentclash eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good --follow
  agentclash eval start --pack my-pack.yaml --model openai/gpt-4.1-mini --repetitions 3 --follow
  agentclash eval start --pack my-pack.yaml --deployment prod --deployment next --json
  agentclash eval start --pack my-pack.yaml --deployment next --gate --policy gate.yaml
  agentclash eval start --pack my-pack.yaml --deployment next --gate --until-decided --max-trials 60 --budget-usd 5
  agentclash eval start --pack my-pack.yaml --deployment next --suite checkout --scope suite_only
  agentclash eval start --pack my-pack.yaml --deployment next --report junit=report.xml --report md=summary.md
  agentclash eval start --pack my-pack.yaml --deployment prod --record tapes/prod
  agentclash eval start --pack my-pack.yaml --deployment prod --replay tapes/prod --exit-code`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return RunEvalStart(c.Context(), a, o) },
	}
	o.AddFlags(c.Flags())
	return c
}

// AddFlags adds every flag of eval start.
func (o *StartOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.pack, "pack", "", "pack file, slug of a stored pack, or builtin:NAME")
	f.StringVar(&o.inputSet, "input-set", "", "input set, by key or name (default: the only one)")
	f.StringArrayVar(&o.Deployments, "deployment", nil, "deployment to run, by name; repeatable")
	f.StringArrayVar(&o.Models, "model", nil, "provider/model to run without a deployment; repeatable")
	f.StringArrayVar(&o.cases, "case", nil, "run only this case; repeatable")
	f.StringVar(&o.name, "name", "", "name of the run (default: slug and time)")
	f.StringVar(&o.session, "session", "", sessions.SessionUsage)
	f.StringVar(&o.shard, "shard", "", "run only part I of N of the cases, as I/N; run merge puts the parts together")
	f.BoolVar(&o.Follow, "follow", false, "show what happens while it happens")
	f.BoolVar(&o.dryRun, "dry-run", false, "show the plan and its price ceiling, and run nothing")
	f.BoolVar(&o.exitCode, "exit-code", false, "exit 1 when an agent did not pass, 3 when too many trials were invalid")
	f.BoolVar(&o.Gate, "gate", false, "compare with the baseline and exit with the verdict")
	f.StringVar(&o.against.Baseline, "baseline", "", verdict.BaselineUsage)
	f.StringVar(&o.PolicyFile, "policy", "", verdict.PolicyUsage)
	o.Until.addFlags(f)
	f.BoolVar(&o.affected, "affected", false, "run only what changed: an earlier passed or failed trial of the same inputs stands for the rest")
	f.StringVar(&o.since, "since", "", "with --affected: the run to reuse trials of (default: the pack's newest)")
	o.traces.AddFlags(f)
	o.Tape.addFlags(f)
	o.Regressions.addFlags(f)
	o.reports.AddFlags(f)
	f.BoolVar(&o.plan.HumanWait, "human-wait", false, humanWaitUsage)
	f.BoolVar(&o.plan.PeerStandings, "peer-standings", false, "tell each agent now and then how the others stand on the same case")
	f.BoolVar(&o.plan.PeerStandings, "race-context", false, "the older name of --peer-standings")
	_ = f.MarkHidden("race-context") // it has just been added
	f.IntVar(&o.plan.PeerGap, "peer-standings-gap", peers.DefaultGap, "steps from one telling to the next when there is no news, 1 to 10")
	f.StringVar(&o.sandbox, "sandbox", "", sandboxes.SandboxUsage)
	f.StringVar(&o.image, "image", "", `sandbox image or template, or "builtin" (default: the pack's sandbox_template_id, else the setting image, python:3.12-slim or E2B_TEMPLATE_ID)`)
	f.StringVar(&o.Profile, "runtime-profile", "", "runtime profile of the agents that name none themselves")
	f.IntVar(&o.plan.Repetitions, "repetitions", 1, "how often each agent runs each case")
	f.Int64Var(&o.plan.Seed, "seed", 0, "seed of everything drawn by chance")
	f.IntVar(&o.plan.Concurrency, "concurrency", 0, "trials at once (0: the setting concurrency, else 4 in sandboxes, 8 without, 32 with scripted agents alone)")
	f.IntVar(&o.plan.RetryInvalid, "retry-invalid", 1, "new attempts of a trial that infrastructure made invalid")
	f.IntVar(&o.plan.MaxInvalid, "max-invalid", 0, "invalid trials, after retries, that --exit-code and --gate accept")
	o.limits.AddFlags(f)
	f.Float64Var(&o.plan.MinPassRate, "min-pass-rate", 1, "share of valid trials an agent must pass to pass")
}

func (o *StartOptions) check(a *cli.App) error {
	kind, err := sandboxes.SandboxKind(a, o.sandbox, o.image)
	if err != nil {
		return err
	}
	o.sandbox = kind
	if err := a.SettleConcurrency(&o.plan.Concurrency); err != nil {
		return err
	}
	if err := checkRunName(o.name); err != nil {
		return err
	}
	if err := errors.Join(o.checkShard(), o.checkSession()); err != nil {
		return err
	}
	if o.since != "" && !o.affected {
		return cli.Usage("--since names the run whose trials --affected reuses: give both")
	}
	if err := o.Regressions.check(); err != nil {
		return err
	}
	if err := o.traces.Check(); err != nil {
		return err
	}
	if cli.LooksLikePath(o.against.Baseline) { // one that cannot be read is told before anything is run
		if _, err := verdict.ReadBaseline(a, o.against.Baseline); err != nil {
			return err
		}
	}
	if o.PolicyFile != "" && !o.Gate {
		return cli.Usage("--policy is for --gate")
	}
	policy, err := verdict.Policy(a, o.PolicyFile)
	if err != nil {
		return err
	}
	o.against.Policy, o.against.Judged = &policy, map[string]verdict.Opinion{}
	if o.Gate && o.exitCode {
		return cli.Usage("--gate and --exit-code both decide the exit status: choose one")
	}
	if err := o.checkUntil(); err != nil {
		return err
	}
	if o.dryRun && (o.Follow || o.Gate && !o.Until.decided || o.exitCode || o.traces.Endpoint != "" || len(o.reports.List) > 0) {
		return cli.Usage("--dry-run runs nothing: leave out --follow, --gate, --exit-code, --otlp and --report")
	}
	if err := o.reports.Check(a, o.Follow); err != nil {
		return err
	}
	if err := o.checkTape(a); err != nil {
		return err
	}
	if !o.plan.PeerStandings && o.plan.PeerGap != 0 && o.plan.PeerGap != peers.DefaultGap {
		return cli.Usage("--peer-standings-gap is for --peer-standings")
	}
	if a.Interactive() {
		return nil
	}
	var missing []error
	if o.pack == "" {
		missing = append(missing, errors.New("--pack FILE names the challenge pack"))
	}
	if o.agents() == 0 && o.Tape.player == nil {
		missing = append(missing, errors.New("--model PROVIDER/MODEL or --deployment NAME names the agent"))
	}
	if len(missing) > 0 {
		return cli.Faults("eval start", errors.Join(missing...)).Hint("agentclash eval start --help")
	}
	return nil
}

// checkRunName refuses a name that would hide what a selector means.
func checkRunName(name string) error {
	if name := strings.ToLower(strings.TrimSpace(name)); name == store.Latest || name == store.Baseline {
		return cli.Usage("--name %s is taken: it means a run already", name)
	}
	if !bundle.IsName(name) && name != "" {
		return cli.Usage("--name must be one line of at most %d bytes", bundle.MaxName)
	}
	return nil
}

// RunEvalStart plans, runs and reports an evaluation, as the flags say.
func RunEvalStart(ctx context.Context, a *cli.App, o StartOptions) error {
	if err := o.check(a); err != nil {
		return err
	}
	if err := askStart(ctx, a, &o); err != nil {
		return err
	}
	p, err := selector.RunnablePack(ctx, a, o.pack)
	if err != nil {
		return err
	}
	source := p.Source()
	if p, err = WithSuites(ctx, a, &o, p); err != nil {
		return err
	}
	if p, err = selector.WithArtifacts(ctx, a, p); err != nil { // of the suites' cases
		return err
	}
	deployments, err := startDeployments(ctx, a, o)
	if err != nil {
		return err
	}
	if err := profiled(ctx, a, &o, deployments); err != nil {
		return err
	}
	// a plan made before anything is opened refuses what is wrong with the
	// request first
	planned, err := planStart(ctx, a, &o, p, deployments)
	if err == nil {
		err = sessions.CheckJoin(ctx, a, planned)
	}
	if err != nil {
		return err
	}
	if err := decideBy(ctx, a, planned, o); err != nil {
		return err
	}
	if o.Tape.player == nil { // which sends nothing, and opens no script either
		selector.SaySecrets(a, p)
		if err := agents.DigestScripts(a, planned); err != nil {
			return err
		}
	}
	if o.dryRun && !o.affected {
		if _, _, err := reached(a, planned, p, o.Tape.player); err != nil {
			a.Say("! the run could not be started: %v", err)
		}
		return printPlan(a, planned)
	}
	needs := plan.NeedsOf(p, deployments...)
	if o.dryRun {
		return dryAffected(ctx, a, planned, o, needs)
	}
	clients, secrets, err := reached(a, planned, p, o.Tape.player)
	if err != nil {
		return err
	}
	boxes, described, err := sandboxes.Boxes(ctx, a, o.sandbox, o.imageFor(p), needs)
	if err != nil {
		return err
	}
	planned.Sandbox = described
	if o.affected {
		if err := affected(ctx, a, planned, o.since); err != nil {
			sandboxes.CloseBoxes(ctx, a, boxes)
			return err
		}
	}
	e := execution{plan: planned, pack: p, clients: clients, secrets: secrets, boxes: boxes, follow: o.Follow, humanWait: o.plan.HumanWait,
		traces: o.traces, player: o.Tape.player}
	result, err := execute(ctx, a, e)
	if o.Ended != nil {
		return o.Ended(planned, result, err)
	}
	if err == nil {
		err = afterRun(ctx, a, planned, result, o)
	}
	return verdict.WriteReports(a, o.reports, err, func() (reports.Run, error) {
		r, err := reportOn(ctx, a, planned.RunID, o)
		if r.PackFile != "" && o.reports.Has(reports.SARIF) {
			r.CaseLines = pack.CaseLines(source, planned.InputSet)
		}
		return r, err
	})
}

// planStart plans what the flags ask for.
func planStart(ctx context.Context, a *cli.App, o *StartOptions, p *pack.Pack, deployments []plan.Deployment) (*plan.Plan, error) {
	var err error
	if o.inputSet, err = selector.InputSetKey(ctx, a, o.inputSet); err != nil {
		return nil, err
	}
	workspace, err := a.WorkspaceName()
	if err != nil {
		return nil, err
	}
	req := plan.Request{
		Pack: p, InputSet: o.inputSet, Cases: o.cases, Deployments: deployments, Options: o.plan,
		Regressions: o.Regressions.refs, Name: o.name, Session: o.session, Workspace: workspace, Now: a.Process.Now, NewID: a.Process.NewID,
		Sandbox: sandbox.Description{Image: o.imageFor(p)}, Prices: o.prices,
	}
	ends, err := o.limits.Options(a.Process.Now())
	if err != nil {
		return nil, err
	}
	req.Options.BudgetUSD, req.Options.Deadline, req.Options.MaxWaitMS = ends.BudgetUSD, ends.Deadline, ends.MaxWaitMS
	if plan.NeedsOf(p, deployments...).Box {
		req.Sandbox.Kind = o.sandbox
	}
	if req.Options.Concurrency == 0 {
		req.Options.Concurrency = agents.Concurrency(p, deployments)
		if o.plan.PeerStandings {
			req.Options.Concurrency = max(req.Options.Concurrency, len(deployments))
		}
	}
	if !o.plan.PeerStandings {
		req.Options.PeerGap = 0
	}
	planned, err := plan.New(req)
	if err != nil {
		return nil, selector.PlanFailure(err)
	}
	if err := tape(a, o, planned); err != nil {
		return nil, err
	}
	return planned, infra.UnderPolicies(ctx, a, planned, 0)
}

// reached are the clients of a plan and the secrets of its tools; those of a
// replay reach nothing.
func reached(a *cli.App, planned *plan.Plan, p *pack.Pack, player *record.Player) (agents.ModelClients, map[string]string, error) {
	if player != nil {
		clients, err := played(a, player, planned)
		if err != nil {
			return agents.ModelClients{}, nil, err
		}
		clients.Secrets, err = hiddenValues(a, planned, p, player)
		return clients, playedSecrets(p), err
	}
	clients, err := agents.Clients(a, planned)
	if err != nil {
		return agents.ModelClients{}, nil, err
	}
	secrets, err := agents.ToolSecrets(a, p)
	return clients, secrets, err
}

// imageFor is the image that was asked for: by flag, by the pack, or none.
func (o *StartOptions) imageFor(p *pack.Pack) string {
	return cmp.Or(o.image, sandboxes.TemplateOf(p))
}

// askStart asks a person for what the flags leave open.
func askStart(ctx context.Context, a *cli.App, o *StartOptions) error {
	if !a.Interactive() {
		return nil
	}
	if o.pack == "" {
		choice, err := selector.ChoosePack(ctx, a)
		if err != nil {
			return err
		}
		o.pack = choice
	}
	if o.agents() > 0 || o.Tape.player != nil {
		return nil
	}
	names, err := agents.ChooseDeployments(ctx, a)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return cli.Usage("no agent was chosen")
	}
	o.Deployments = names
	return nil
}
