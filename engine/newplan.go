package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/peers"
	"github.com/agentclash/agentclash/engine/turn"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

// What a plan may ask for.
const (
	MaxRepetitions = 100
	MaxConcurrency = 256
	MaxTrials      = 1_000_000
	MaxBudgetUSD   = 1_000_000

	maxReason = 2000 // bytes of an error's text in a result
)

// PlanRequest is what a user asked for, resolved to values.
type PlanRequest struct {
	Pack        *pack.Pack
	InputSet    string   // key or name; "" takes the only one
	Cases       []string // case keys; none takes all
	Deployments []Deployment
	Options     Options
	Name        string // "" makes one
	Workspace   string
	Sandbox     sandbox.Description
	Now         func() time.Time
	NewID       func() string
}

// NewPlan works out every trial of a run, or says everything that is wrong
// with the request.
func NewPlan(req PlanRequest) (*Plan, error) {
	if err := runnable(req.Pack); err != nil {
		return nil, err
	}
	set, err := req.Pack.InputSet(req.InputSet)
	if err != nil {
		return nil, err
	}
	cases, err := selectCases(set, req.Cases)
	if err != nil {
		return nil, err
	}
	packDigest, err := req.Pack.Digest()
	if err != nil {
		return nil, err
	}
	p := &Plan{
		RunID: req.NewID(), Name: req.Name, Workspace: req.Workspace, CreatedAt: req.Now().UTC(),
		Pack: event.PackRef{
			Slug: req.Pack.Pack.Slug, Name: req.Pack.Pack.Name, Version: req.Pack.Version.Number, Digest: packDigest,
		},
		InputSet: set.Key, Mode: req.Pack.Version.ExecutionMode, Sandbox: req.Sandbox, Options: req.Options,
	}
	if p.Mode == "" {
		p.Mode = pack.Native
	}
	if p.Name == "" {
		p.Name = p.newName()
	}
	if err := p.agents(req); err != nil {
		return nil, err
	}
	for _, c := range cases {
		digest, err := req.Pack.CaseDigest(set.Key, c.Key())
		if err != nil {
			return nil, err
		}
		p.Cases = append(p.Cases, CaseRef{Key: c.Key(), Digest: digest})
	}
	if err := p.bind(req.Pack); err != nil {
		return nil, err
	}
	if p.Simulators, err = simulators(cases, p.Agents); err != nil {
		return nil, err
	}
	if err := p.judges(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.checkSurface(), p.checkOptions(), p.checkTargets(), p.checkEnds(), p.checkPrices(), p.checkJudges()); err != nil {
		return nil, err
	}
	p.schedule(req.NewID)
	return p, nil
}

// newName is what a run is called that nobody has named.
func (p *Plan) newName() string {
	return p.Pack.Slug + "-" + p.CreatedAt.Format("20060102-150405") + "-" + p.RunID[max(0, len(p.RunID)-4):]
}

// runnable refuses a pack that this version would run as another one.
func runnable(p *pack.Pack) error {
	blockers := p.Blockers()
	if len(blockers) == 0 {
		return nil
	}
	list := make([]string, len(blockers))
	for i, b := range blockers {
		list[i] = b.Field + ": " + b.Message
	}
	return fmt.Errorf("this version cannot run pack %q: %s", p.Pack.Slug, strings.Join(list, "; "))
}

func selectCases(set pack.InputSet, keys []string) ([]pack.Case, error) {
	if len(keys) == 0 {
		return set.Cases, nil
	}
	var picked []pack.Case
	var unknown []string
	for _, k := range keys {
		i := slices.IndexFunc(set.Cases, func(c pack.Case) bool { return strings.EqualFold(c.Key(), strings.TrimSpace(k)) })
		if i < 0 {
			unknown = append(unknown, fmt.Sprintf("%q", k))
			continue
		}
		picked = append(picked, set.Cases[i])
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("input set %q has no case %s: %w", set.Key, strings.Join(unknown, ", "), pack.ErrNotFound)
	}
	return picked, nil
}

func (p *Plan) agents(req PlanRequest) error {
	if len(req.Deployments) == 0 {
		return errors.New("a run needs at least one deployment or model")
	}
	for i, d := range req.Deployments {
		for _, other := range p.Agents {
			if strings.EqualFold(other.Label, d.Name) {
				return fmt.Errorf("two run agents are called %q: give one of them a name of its own with agentclash deployment create", d.Name)
			}
		}
		p.Agents = append(p.Agents, RunAgent{ID: req.NewID(), Label: d.Name, Lane: i, Deployment: d})
	}
	return nil
}

// judges resolves the judges' models, and takes down today's prices of all that
// the run asks.
func (p *Plan) judges() (err error) {
	p.Judges, err = judgeModels(p.scorer.JudgeModels(), p.Agents)
	if err != nil {
		return err
	}
	p.Prices = p.listPrices()
	p.scorer = p.scorer.WithPrices(p.Prices)
	return nil
}

// listPrices are those of the providers that agents and judges use. A provider
// that one of them reaches at an address of its own has none: what is asked
// there, nobody has listed.
func (p *Plan) listPrices() scoring.ListPrices {
	elsewhere := map[string]bool{}
	for _, a := range p.Agents {
		elsewhere[a.Deployment.Provider] = elsewhere[a.Deployment.Provider] || a.Deployment.BaseURL != ""
	}
	for _, m := range p.Judges {
		elsewhere[m.Provider] = elsewhere[m.Provider] || m.BaseURL != ""
	}
	for _, m := range p.Simulators {
		elsewhere[m.Provider] = elsewhere[m.Provider] || m.BaseURL != ""
	}
	var providers []string
	for name, own := range elsewhere {
		if !own {
			providers = append(providers, name)
		}
	}
	return scoring.CurrentPrices().Of(providers...)
}

// bind gives the plan its pack, after NewPlan and after reading a plan back.
func (p *Plan) bind(src *pack.Pack) error {
	set, err := src.InputSet(p.InputSet)
	if err != nil {
		return err
	}
	p.pack, p.spec = src, src.Version.EvaluationSpec.Normalize()
	p.SpecDigest = src.SpecDigest()
	scorer, problems := scoring.Compile(p.spec)
	if len(problems) > 0 {
		return fmt.Errorf("evaluation_spec.%s: %s", problems[0].Field, problems[0].Message)
	}
	secured, err := scorer.WithSecurity(src.Security)
	if err != nil {
		return err
	}
	p.scorer = secured.WithPrices(p.Prices)
	p.cases = make(map[string]pack.Case, len(set.Cases))
	for _, c := range set.Cases {
		p.cases[c.Key()] = c
	}
	return nil
}

// Progress is how far a stored run has come.
type Progress struct {
	Left  []Trial           // what is still to be run
	Prior [][]scoring.Trial // the finished attempts, by lane and in order
	Facts int64             // the number of the run's own last fact
	// ChargedUSD is what the run has taken of its budget: see [Charges].
	ChargedUSD float64
}

// Reopen gives a stored plan its pack again, to go on from where it stopped.
func (p *Plan) Reopen(src *pack.Pack, so Progress) error {
	digest, err := src.Digest()
	if err != nil {
		return err
	}
	if digest != p.Pack.Digest {
		return fmt.Errorf("the pack's digest is %.12s, the run was planned on %.12s", digest, p.Pack.Digest)
	}
	p.Trials, p.before = so.Left, so
	return p.bind(src)
}

func (p *Plan) checkOptions() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	o := p.Options
	check(o.Repetitions >= 1 && o.Repetitions <= MaxRepetitions, "repetitions must be 1 to %d, not %d", MaxRepetitions, o.Repetitions)
	check(o.Concurrency >= 1 && o.Concurrency <= MaxConcurrency, "concurrency must be 1 to %d, not %d", MaxConcurrency, o.Concurrency)
	check(o.MinPassRate >= 0 && o.MinPassRate <= 1, "min-pass-rate must be 0 to 1, not %g", o.MinPassRate)
	check(o.RetryInvalid >= 0, "retry-invalid must not be negative")
	check(o.MaxInvalid >= 0, "max-invalid must not be negative")
	if o.PeerStandings {
		check(len(p.Agents) >= 2, "peer standings are of the other agents of a run, and this one has a single agent: give a second --model or --deployment")
		check(o.PeerGap >= peers.MinGap && o.PeerGap <= peers.MaxGap, "peer-standings-gap must be %d to %d, not %d", peers.MinGap, peers.MaxGap, o.PeerGap)
		check(p.Mode == pack.Native || p.Mode == pack.MultiTurn, "peer standings are for packs of the modes %s and %s, not %s: its agents make no steps", pack.Native, pack.MultiTurn, p.Mode)
		check(o.Concurrency >= len(p.Agents), "peer standings need the %d agents of a case side by side: concurrency is %d", len(p.Agents), o.Concurrency)
	}
	n := len(p.Cases) * len(p.Agents) * o.Repetitions
	check(n <= MaxTrials, "the run would have %d trials, more than %d", n, MaxTrials)
	return errors.Join(errs...)
}

// checkPrices refuses a cost cap that could not be kept: without a price
// nobody knows what a call costs.
func (p *Plan) checkPrices() error {
	if p.spec.RuntimeLimits.MaxCostUSD == nil {
		return nil
	}
	return errors.Join(p.priced("runtime_limits.max_cost_usd")...)
}

// priced are the agents that nobody prices, for whom a limit could not be kept.
// A provider that is free has none.
func (p *Plan) priced(limit string, free ...string) (errs []error) {
	for _, a := range p.Agents {
		if !a.Deployment.asksModels() {
			continue // nothing that could cost anything goes through us
		}
		if _, ok := p.scorer.Cost(a.Deployment.Provider, a.Deployment.Model, 1, 1); !ok && !slices.Contains(free, a.Deployment.Provider) {
			errs = append(errs, unpriced(limit, fmt.Sprintf("%q", a.Label), a.Deployment.Provider, a.Deployment.Model))
		}
	}
	return errs
}

func unpriced(limit, who, providerKey, model string) error {
	return fmt.Errorf("%s cannot be kept for %s: add a row for provider_key %q, provider_model_id %q to evaluation_spec.pricing.models",
		limit, who, providerKey, model)
}

// schedule lists the trials case by case, so that the run agents of one case
// and repetition run side by side.
func (p *Plan) schedule(newID func() string) {
	p.Trials = make([]Trial, 0, len(p.Cases)*len(p.Agents)*p.Options.Repetitions)
	for rep := 1; rep <= p.Options.Repetitions; rep++ {
		for _, c := range p.Cases {
			for lane := range p.Agents {
				p.Trials = append(p.Trials, Trial{ID: newID(), Agent: lane, CaseKey: c.Key, Repetition: rep, Attempt: 1})
			}
		}
	}
}

// Ceiling is the most that a run agent can cost in US dollars, retries of
// invalid trials included. why says what is missing when there is none.
func (p *Plan) Ceiling(lane int) (usd float64, why string) {
	d := p.Agents[lane].Deployment
	if !d.asksModels() {
		return 0, ""
	}
	attempts := 0.0
	for _, t := range p.Trials {
		if t.Agent == lane && t.Reuse == nil {
			attempts += float64(1 + p.Options.RetryInvalid)
		}
	}
	if most := p.spec.RuntimeLimits.MaxCostUSD; most != nil {
		return *most * attempts, ""
	}
	tokens := p.spec.RuntimeLimits.MaxTotalTokens
	if tokens == nil {
		return 0, "the pack sets neither runtime_limits.max_cost_usd nor max_total_tokens"
	}
	in, ok := p.scorer.Cost(d.Provider, d.Model, *tokens, 0)
	out, _ := p.scorer.Cost(d.Provider, d.Model, 0, *tokens)
	if !ok {
		return 0, fmt.Sprintf("no price is known for %s/%s", d.Provider, d.Model)
	}
	return max(in, out) * attempts, ""
}

// JudgeCeiling is how many questions the run's judges can be asked and what these
// can cost, retries of invalid trials included. why says what is missing when there
// is no ceiling.
func (p *Plan) JudgeCeiling() (calls int, usd float64, why string) {
	each, ranked := p.scorer.JudgeCalls(len(p.Agents))
	groups := len(p.Cases) * p.Options.Repetitions
	attempts := 1 + p.Options.RetryInvalid
	calls = attempts * (groups*(each*len(p.Agents)+ranked) + p.Options.Repetitions*p.judgedPhases()*each*len(p.Agents))
	most := p.scorer.JudgeLimits().MaxCallsUSD
	if calls > 0 && most <= 0 {
		return calls, 0, "the pack sets no judge_limits.max_calls_usd"
	}
	budgets := 0
	if each > 0 {
		budgets += len(p.Agents)
	}
	if ranked > 0 {
		budgets++
	}
	return calls, most * float64(attempts*groups*budgets), ""
}

// judgedPhases counts the phases of conversations before which judges are asked.
func (p *Plan) judgedPhases() (n int) {
	for _, c := range p.Cases {
		for _, phase := range phasesOf(p.cases[c.Key]) {
			if phase.Trigger == turn.OnJudgeBelow {
				n++
			}
		}
	}
	return n
}

// Caps are the limits of one trial of a run agent, on a case that sets none of
// its own.
func (p *Plan) Caps(lane int) Limits {
	l := resolveLimits(p.spec, pack.Case{}, p.Agents[lane].Deployment)
	return Limits{
		MaxIterations: l.steps, MaxToolCalls: l.toolCalls, StepTimeoutSeconds: int(l.step.Seconds()),
		RunTimeoutSeconds: int(l.trial.Seconds()), MaxOutputTokens: l.output,
	}
}

func (p *Plan) kase(key string) (pack.Case, error) {
	c, ok := p.cases[key]
	if !ok {
		return pack.Case{}, fmt.Errorf("input set %q has no case %q", p.InputSet, key)
	}
	return c, nil
}

func (p *Plan) prior(lane int) []scoring.Trial {
	if lane < len(p.before.Prior) {
		return p.before.Prior[lane]
	}
	return nil
}

// start is the plan as views see it.
func (p *Plan) start() event.RunStart {
	s := event.RunStart{
		Name: p.Name, Pack: p.Pack, InputSet: p.InputSet, Mode: p.Mode, Sandbox: p.Sandbox.Kind,
		Cases: len(p.Cases), Repetitions: p.Options.Repetitions, Trials: len(p.Trials), Concurrency: p.Options.Concurrency,
	}
	s.Cache = p.Cache
	if p.Recording != nil {
		s.Replay = p.Recording.Digest
	}
	for _, a := range p.Agents {
		s.Agents = append(s.Agents, event.AgentRef{ID: a.ID, Label: a.Label, Model: a.Deployment.Target()})
	}
	return s
}

// clipText cuts a text to n bytes on a rune boundary.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
