package cmd

import (
	"cmp"
	"context"
	"errors"
	"strings"

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

func newEval(a *app) *cobra.Command {
	return group("eval", "Run agents on a challenge pack, and read what came of it", newEvalStart(a), newEvalScorecard(a), newEvalRescore(a),
		newEvalSession(a), newEvalList(a))
}

// startOptions are the flags of eval start and run create.
type startOptions struct {
	pack        string
	inputSet    string
	deployments []string
	models      []string
	cases       []string
	name        string
	session     string
	plan        plan.Options
	limits      limitFlags
	shard       string
	sandbox     string
	image       string
	profile     string
	prices      scoring.ListPrices
	follow      bool
	dryRun      bool
	exitCode    bool
	gate        bool
	policyFile  string
	against     reference // its policy is read by check
	until       untilOptions
	affected    bool
	since       string
	traces      traceOptions
	tape        tapeOptions
	regressions suiteOptions
	reports     reportFlags

	inline []plan.Deployment // of a CI manifest, beside the named ones
	// opponent is the baseline to decide against, where it has been found
	opponent *comparand
	// ended takes the place of what is said and written when the run has ended
	ended func(*plan.Plan, engine.Result, error) error
}

// agents is how many agents are named.
func (o *startOptions) agents() int { return len(o.deployments) + len(o.models) + len(o.inline) }

const humanWaitUsage = "wait for people to take their turns in conversations, by run turn submit"

func newEvalStart(a *app) *cobra.Command {
	var o startOptions
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
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runEvalStart(c.Context(), a, o) },
	}
	o.addFlags(c.Flags())
	return c
}

func (o *startOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.pack, "pack", "", "pack file, slug of a stored pack, or builtin:NAME")
	f.StringVar(&o.inputSet, "input-set", "", "input set, by key or name (default: the only one)")
	f.StringArrayVar(&o.deployments, "deployment", nil, "deployment to run, by name; repeatable")
	f.StringArrayVar(&o.models, "model", nil, "provider/model to run without a deployment; repeatable")
	f.StringArrayVar(&o.cases, "case", nil, "run only this case; repeatable")
	f.StringVar(&o.name, "name", "", "name of the run (default: slug and time)")
	f.StringVar(&o.session, "session", "", sessionUsage)
	f.StringVar(&o.shard, "shard", "", "run only part I of N of the cases, as I/N; run merge puts the parts together")
	f.BoolVar(&o.follow, "follow", false, "show what happens while it happens")
	f.BoolVar(&o.dryRun, "dry-run", false, "show the plan and its price ceiling, and run nothing")
	f.BoolVar(&o.exitCode, "exit-code", false, "exit 1 when an agent did not pass, 3 when too many trials were invalid")
	f.BoolVar(&o.gate, "gate", false, "compare with the baseline and exit with the verdict")
	f.StringVar(&o.against.baseline, "baseline", "", baselineUsage)
	f.StringVar(&o.policyFile, "policy", "", policyUsage)
	o.until.addFlags(f)
	f.BoolVar(&o.affected, "affected", false, "run only what changed: an earlier passed or failed trial of the same inputs stands for the rest")
	f.StringVar(&o.since, "since", "", "with --affected: the run to reuse trials of (default: the pack's newest)")
	o.traces.addFlags(f)
	o.tape.addFlags(f)
	o.regressions.addFlags(f)
	o.reports.addFlags(f)
	f.BoolVar(&o.plan.HumanWait, "human-wait", false, humanWaitUsage)
	f.BoolVar(&o.plan.PeerStandings, "peer-standings", false, "tell each agent now and then how the others stand on the same case")
	f.BoolVar(&o.plan.PeerStandings, "race-context", false, "the older name of --peer-standings")
	_ = f.MarkHidden("race-context") // it has just been added
	f.IntVar(&o.plan.PeerGap, "peer-standings-gap", peers.DefaultGap, "steps from one telling to the next when there is no news, 1 to 10")
	f.StringVar(&o.sandbox, "sandbox", "", sandboxUsage)
	f.StringVar(&o.image, "image", "", `sandbox image or template, or "builtin" (default: the pack's sandbox_template_id, else the setting image, python:3.12-slim or E2B_TEMPLATE_ID)`)
	f.StringVar(&o.profile, "runtime-profile", "", "runtime profile of the agents that name none themselves")
	f.IntVar(&o.plan.Repetitions, "repetitions", 1, "how often each agent runs each case")
	f.Int64Var(&o.plan.Seed, "seed", 0, "seed of everything drawn by chance")
	f.IntVar(&o.plan.Concurrency, "concurrency", 0, "trials at once (0: the setting concurrency, else 4 in sandboxes, 8 without, 32 with scripted agents alone)")
	f.IntVar(&o.plan.RetryInvalid, "retry-invalid", 1, "new attempts of a trial that infrastructure made invalid")
	f.IntVar(&o.plan.MaxInvalid, "max-invalid", 0, "invalid trials, after retries, that --exit-code and --gate accept")
	o.limits.addFlags(f)
	f.Float64Var(&o.plan.MinPassRate, "min-pass-rate", 1, "share of valid trials an agent must pass to pass")
}

func (o *startOptions) check(a *app) error {
	kind, err := a.sandboxKind(o.sandbox, o.image)
	if err != nil {
		return err
	}
	o.sandbox = kind
	if err := a.settleConcurrency(&o.plan.Concurrency); err != nil {
		return err
	}
	if err := checkRunName(o.name); err != nil {
		return err
	}
	if err := errors.Join(o.checkShard(), o.checkSession()); err != nil {
		return err
	}
	if o.since != "" && !o.affected {
		return usage("--since names the run whose trials --affected reuses: give both")
	}
	if err := o.regressions.check(); err != nil {
		return err
	}
	if err := o.traces.check(); err != nil {
		return err
	}
	if looksLikePath(o.against.baseline) { // one that cannot be read is told before anything is run
		if _, err := a.readBaseline(o.against.baseline); err != nil {
			return err
		}
	}
	if o.policyFile != "" && !o.gate {
		return usage("--policy is for --gate")
	}
	policy, err := a.policy(o.policyFile)
	if err != nil {
		return err
	}
	o.against.policy, o.against.judged = &policy, map[string]opinion{}
	if o.gate && o.exitCode {
		return usage("--gate and --exit-code both decide the exit status: choose one")
	}
	if err := o.checkUntil(); err != nil {
		return err
	}
	if o.dryRun && (o.follow || o.gate && !o.until.decided || o.exitCode || o.traces.endpoint != "" || len(o.reports.list) > 0) {
		return usage("--dry-run runs nothing: leave out --follow, --gate, --exit-code, --otlp and --report")
	}
	if err := o.reports.check(a, o.follow); err != nil {
		return err
	}
	if err := o.checkTape(a); err != nil {
		return err
	}
	if !o.plan.PeerStandings && o.plan.PeerGap != 0 && o.plan.PeerGap != peers.DefaultGap {
		return usage("--peer-standings-gap is for --peer-standings")
	}
	if a.interactive() {
		return nil
	}
	var missing []error
	if o.pack == "" {
		missing = append(missing, errors.New("--pack FILE names the challenge pack"))
	}
	if o.agents() == 0 && o.tape.player == nil {
		missing = append(missing, errors.New("--model PROVIDER/MODEL or --deployment NAME names the agent"))
	}
	if len(missing) > 0 {
		return usage("eval start: %w", errors.Join(missing...)).hint("agentclash eval start --help")
	}
	return nil
}

// checkRunName refuses a name that would hide what a selector means.
func checkRunName(name string) error {
	if name := strings.ToLower(strings.TrimSpace(name)); name == store.Latest || name == store.Baseline {
		return usage("--name %s is taken: it means a run already", name)
	}
	if !bundle.IsName(name) && name != "" {
		return usage("--name must be one line of at most %d bytes", bundle.MaxName)
	}
	return nil
}

func runEvalStart(ctx context.Context, a *app, o startOptions) error {
	if err := o.check(a); err != nil {
		return err
	}
	if err := a.askStart(ctx, &o); err != nil {
		return err
	}
	p, err := a.runnablePack(ctx, o.pack)
	if err != nil {
		return err
	}
	source := p.Source()
	if p, err = a.withSuites(ctx, &o, p); err != nil {
		return err
	}
	if p, err = a.withArtifacts(ctx, p); err != nil { // of the suites' cases
		return err
	}
	deployments, err := a.startDeployments(ctx, o)
	if err != nil {
		return err
	}
	if err := a.profiled(ctx, &o, deployments); err != nil {
		return err
	}
	// a plan made before anything is opened refuses what is wrong with the
	// request first
	planned, err := a.planStart(ctx, &o, p, deployments)
	if err == nil {
		err = a.checkJoin(ctx, planned)
	}
	if err != nil {
		return err
	}
	if err := a.decideBy(ctx, planned, o); err != nil {
		return err
	}
	if o.tape.player == nil { // which opens no script either
		if err := a.digestScripts(planned); err != nil {
			return err
		}
	}
	if o.dryRun && !o.affected {
		if _, _, err := a.reached(planned, p, o.tape.player); err != nil {
			a.say("! the run could not be started: %v", err)
		}
		return a.printPlan(planned)
	}
	needs := plan.NeedsOf(p, deployments...)
	if o.dryRun {
		return a.dryAffected(ctx, planned, o, needs)
	}
	clients, secrets, err := a.reached(planned, p, o.tape.player)
	if err != nil {
		return err
	}
	boxes, described, err := a.boxes(ctx, o.sandbox, o.imageFor(p), needs)
	if err != nil {
		return err
	}
	planned.Sandbox = described
	if o.affected {
		if err := a.affected(ctx, planned, o.since); err != nil {
			a.closeBoxes(ctx, boxes)
			return err
		}
	}
	e := execution{plan: planned, pack: p, clients: clients, secrets: secrets, boxes: boxes, follow: o.follow, humanWait: o.plan.HumanWait,
		traces: o.traces, player: o.tape.player}
	result, err := a.execute(ctx, e)
	if o.ended != nil {
		return o.ended(planned, result, err)
	}
	if err == nil {
		err = a.afterRun(ctx, planned, result, o)
	}
	return a.writeReports(o.reports, err, func() (reports.Run, error) {
		r, err := a.reportOn(ctx, planned.RunID, o)
		if r.PackFile != "" && o.reports.has(reports.SARIF) {
			r.CaseLines = pack.CaseLines(source, planned.InputSet)
		}
		return r, err
	})
}

// planStart plans what the flags ask for.
func (a *app) planStart(ctx context.Context, o *startOptions, p *pack.Pack, deployments []plan.Deployment) (*plan.Plan, error) {
	var err error
	if o.inputSet, err = a.inputSetKey(ctx, o.inputSet); err != nil {
		return nil, err
	}
	workspace, err := a.workspaceName()
	if err != nil {
		return nil, err
	}
	req := plan.Request{
		Pack: p, InputSet: o.inputSet, Cases: o.cases, Deployments: deployments, Options: o.plan,
		Regressions: o.regressions.refs, Name: o.name, Session: o.session, Workspace: workspace, Now: a.p.Now, NewID: a.p.NewID,
		Sandbox: sandbox.Description{Image: o.imageFor(p)}, Prices: o.prices,
	}
	ends, err := o.limits.options(a.p.Now())
	if err != nil {
		return nil, err
	}
	req.Options.BudgetUSD, req.Options.Deadline, req.Options.MaxWaitMS = ends.BudgetUSD, ends.Deadline, ends.MaxWaitMS
	if plan.NeedsOf(p, deployments...).Box {
		req.Sandbox.Kind = o.sandbox
	}
	if req.Options.Concurrency == 0 {
		req.Options.Concurrency = concurrency(p, deployments)
		if o.plan.PeerStandings {
			req.Options.Concurrency = max(req.Options.Concurrency, len(deployments))
		}
	}
	if !o.plan.PeerStandings {
		req.Options.PeerGap = 0
	}
	planned, err := plan.New(req)
	if err != nil {
		return nil, planFailure(err)
	}
	if err := a.tape(o, planned); err != nil {
		return nil, err
	}
	return planned, a.underPolicies(ctx, planned, 0)
}

// reached are the clients of a plan and the secrets of its tools; those of a
// replay reach nothing.
func (a *app) reached(planned *plan.Plan, p *pack.Pack, player *record.Player) (modelClients, map[string]string, error) {
	if player != nil {
		clients, err := a.played(player, planned)
		if err != nil {
			return modelClients{}, nil, err
		}
		clients.secrets, err = a.hiddenValues(planned, p, player)
		return clients, playedSecrets(p), err
	}
	clients, err := a.clients(planned)
	if err != nil {
		return modelClients{}, nil, err
	}
	secrets, err := a.toolSecrets(p)
	return clients, secrets, err
}

// imageFor is the image that was asked for: by flag, by the pack, or none.
func (o *startOptions) imageFor(p *pack.Pack) string {
	return cmp.Or(o.image, templateOf(p))
}

// askStart asks a person for what the flags leave open.
func (a *app) askStart(ctx context.Context, o *startOptions) error {
	if !a.interactive() {
		return nil
	}
	if o.pack == "" {
		choice, err := a.choosePack(ctx)
		if err != nil {
			return err
		}
		o.pack = choice
	}
	if o.agents() > 0 || o.tape.player != nil {
		return nil
	}
	names, err := a.chooseDeployments(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return usage("no agent was chosen")
	}
	o.deployments = names
	return nil
}
