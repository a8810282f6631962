package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/event"
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
)

// Request is what a user asked for, resolved to values.
type Request struct {
	Pack        *pack.Pack
	InputSet    string   // key or name; "" takes the only one
	Cases       []string // case keys; none takes all
	Deployments []Deployment
	// Regressions says of cases of the input set which regression cases they are.
	Regressions map[string][]scoring.Regression
	Options     Options
	Name        string // "" makes one
	Session     string // to start the run into; "" for none
	Workspace   string
	Sandbox     sandbox.Description
	// Prices are the list prices to reckon with; zero: those that this version
	// comes with.
	Prices scoring.ListPrices
	Now    func() time.Time
	NewID  func() string
}

// New works out every trial of a run, or says everything that is wrong
// with the request.
func New(req Request) (*Plan, error) {
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
		RunID: req.NewID(), Name: req.Name, Session: req.Session, Workspace: req.Workspace, CreatedAt: req.Now().UTC(),
		Pack: event.PackRef{
			Slug: req.Pack.Pack.Slug, Name: req.Pack.Pack.Name, Version: req.Pack.Version.Number, Digest: packDigest,
		},
		InputSet: set.Key, Mode: req.Pack.Version.ExecutionMode, Sandbox: req.Sandbox, Options: req.Options, Prices: req.Prices,
	}
	if p.Mode == "" {
		p.Mode = pack.Native
	}
	if p.Options.Shard != nil {
		shard := *p.Options.Shard // the plan's own, to be filled in
		p.Options.Shard = &shard
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
		p.Cases = append(p.Cases, CaseRef{Key: c.Key(), Digest: digest, Regressions: req.Regressions[c.Key()]})
	}
	if p.Options.Shard != nil {
		p.Cases, cases = p.Options.Shard.of(p.Cases, cases)
	}
	if err := p.Bind(req.Pack); err != nil {
		return nil, err
	}
	if p.Simulators, err = simulators(cases, p.Agents); err != nil {
		return nil, err
	}
	if err := p.judges(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.checkSurface(), p.checkOptions(), p.checkTargets(), p.checkEnds(), p.checkPrices(), p.checkJudges(), p.checkBoxes(), p.checkAliases()); err != nil {
		return nil, err
	}
	p.schedule(req.NewID)
	return p, nil
}

// newName is what a run is called that nobody has named.
func (p *Plan) newName() string {
	name := p.Pack.Slug + "-" + p.CreatedAt.Format("20060102-150405") + "-" + p.RunID[max(0, len(p.RunID)-4):]
	if s := p.Options.Shard; s != nil {
		name += fmt.Sprintf("-shard%dof%d", s.Index, s.Of)
	}
	return name
}

// runnable refuses a pack that this version would run as another one.
func runnable(p *pack.Pack) error {
	blockers := p.Blockers()
	for _, a := range p.Unresolved() {
		blockers = append(blockers, pack.Blocker{Field: a.Field, Message: "its bytes were not read from the store"})
	}
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
		// a case that is named twice is one case: its trials are told apart by its key
		if !slices.ContainsFunc(picked, func(c pack.Case) bool { return c.Key() == set.Cases[i].Key() }) {
			picked = append(picked, set.Cases[i])
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("input set %q has no case %s: %w", set.Key, strings.Join(unknown, ", "), pack.ErrNotFound)
	}
	return picked, nil
}

func (p *Plan) agents(req Request) error {
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

// Bind gives the plan its pack, after New and after reading a plan back.
func (p *Plan) Bind(src *pack.Pack) error {
	set, err := src.InputSet(p.InputSet)
	if err != nil {
		return err
	}
	p.Source, p.Spec = src, src.Version.EvaluationSpec.Normalize()
	p.SpecDigest = src.SpecDigest()
	scorer, problems := scoring.Compile(p.Spec)
	if len(problems) > 0 {
		return fmt.Errorf("evaluation_spec.%s: %s", problems[0].Field, problems[0].Message)
	}
	secured, err := scorer.WithSecurity(src.Security)
	if err != nil {
		return err
	}
	p.Scorer = secured.WithPrices(p.Prices)
	p.cases = make(map[string]pack.Case, len(set.Cases))
	for _, c := range set.Cases {
		p.cases[c.Key()] = c
	}
	return nil
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
	p.Trials, p.Before = so.Left, so
	return p.Bind(src)
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

// SetCharged says what a stored plan's run has taken of its budget: see [Charges].
func (p *Plan) SetCharged(usd float64) { p.Before.ChargedUSD = usd }

// Renew gives a stored plan that was reopened another budget, deadline or
// waiting time, where the options say one.
func (p *Plan) Renew(o Options, now time.Time) error {
	if o.BudgetUSD != 0 {
		p.Options.BudgetUSD = o.BudgetUSD
	}
	if !o.Deadline.IsZero() {
		p.Options.Deadline = o.Deadline
	}
	if o.MaxWaitMS != nil {
		p.Options.MaxWaitMS = o.MaxWaitMS
	}
	if d := p.Options.Deadline; !d.IsZero() && !d.After(now) {
		return fmt.Errorf("the run's deadline %s has passed: give it another with --deadline", d.Format(time.RFC3339))
	}
	return p.checkEnds()
}
