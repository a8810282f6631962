package packtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/tool/query"
	"github.com/agentclash/agentclash/pack"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/scoring"
)

// The agents, in the order they are shown.
const (
	// Reference is the agent that solves every case.
	Reference = "reference"
	// Silent says nothing that could be an answer.
	Silent = "silent"
	// Echo answers with what it was asked.
	Echo = "echo"
	// Reader answers with whatever it can read of what is expected.
	Reader = "reader"
	// Hardcoded gives every case the answer of one.
	Hardcoded = "hardcoded"
	// Leaker gives away what a security block wants kept. It is there for packs
	// that have one.
	Leaker = "leaker"
)

// Options say what to examine, and with what.
type Options struct {
	Pack *pack.Pack
	// InputSet is the key or name of the one to examine; "" takes all.
	InputSet string
	// Reference is a scripted agent that solves every case; nil when there is
	// none.
	Reference provider.Client
	// Simulator plays the simulated users of its conversations, nil: nobody does.
	Simulator provider.Client
	// Boxes opens sandboxes; nil when the pack's mode needs none. Sandbox
	// describes it.
	Boxes       sandbox.Provider
	Sandbox     sandbox.Description
	Queries     *query.Runner // what agents ask of JSON and SQLite files
	Concurrency int
	Now         func() time.Time
	NewID       func() string
	// Progress is told how far the examination is, by one goroutine at a time;
	// nil drops it.
	Progress func(Step)
}

// Step says that of a part of the examination so many are done.
type Step struct {
	Part        Part
	Done, Total int
}

// Part is a part of the examination that takes its time.
type Part string

// The parts.
const (
	Playing Part = "playing" // the agents' trials
	Judging Part = "judging" // the changed validators
)

func (s *subject) tell(step Step) {
	if s.options.Progress != nil {
		s.options.Progress(step)
	}
}

// Examine tests a pack's tests. The error is for an examination that could not
// be made; everything that is wrong with the pack is in the report.
func Examine(ctx context.Context, o Options) (*Report, error) {
	s, err := newSubject(o)
	if err != nil {
		return nil, err
	}
	r := &Report{Agents: []string{Silent, Echo, Reader, Hardcoded}}
	if s.guarded() {
		r.Agents = append(r.Agents, Leaker)
	}
	if o.Reference != nil {
		r.Agents = append([]string{Reference}, r.Agents...)
	} else {
		r.note("there is no reference agent: nothing shows that the cases can be passed, and mutants are judged on fewer trials")
	}
	if len(s.unjudged) > 0 {
		r.note("judges are not asked: what is examined is the pack without the dimensions %s", strings.Join(s.unjudged, ", "))
	}
	s.unpriced(r)
	s.deadWeights(r)
	s.thresholds(r)
	s.duplicates(r)
	s.readable(r)
	var trials []trial
	for _, set := range s.sets {
		played, err := s.play(ctx, set)
		if err != nil {
			return nil, err
		}
		trials = append(trials, played...)
	}
	s.outcomes(r, trials)
	if err := s.security(r, trials); err != nil {
		return nil, err
	}
	if err := s.mutants(ctx, r, trials); err != nil {
		return nil, err
	}
	r.sort()
	return r, nil
}

// subject is the pack under examination, with what is worked out of it once.
type subject struct {
	options Options
	pack    *pack.Pack // a copy that prices the agents of the examination and has no judges
	spec    scoring.Spec
	scorer  *scoring.Scorer
	sets    []pack.InputSet
	cases   []*testCase // of sets
	reads   bool        // agents can read files
	runs    bool        // agents can run programs
	room    int         // left for evidence, in bytes
	over    int         // trials that are
	// unjudged are the dimensions that judges would score.
	unjudged []string
}

// testCase is a case of the pack.
type testCase struct {
	pack.Case
	set     string
	scoring scoring.Case
}

func newSubject(o Options) (s *subject, err error) {
	s = &subject{options: o, pack: priced(o.Pack), room: maxEvidence}
	if s.unjudged, err = leaveJudgesOut(s.pack); err != nil {
		return nil, err
	}
	s.spec = s.pack.Version.EvaluationSpec.Normalize()
	scorer, problems := scoring.Compile(s.spec)
	if len(problems) > 0 {
		return nil, fmt.Errorf("evaluation_spec.%s: %s", problems[0].Field, problems[0].Message)
	}
	s.scorer = scorer
	s.sets = s.pack.InputSets
	if o.InputSet != "" {
		set, err := s.pack.InputSet(o.InputSet)
		if err != nil {
			return nil, err
		}
		s.sets = []pack.InputSet{set}
	}
	for _, set := range s.sets {
		for _, c := range set.Cases {
			s.cases = append(s.cases, &testCase{Case: c, set: set.Key, scoring: s.pack.ScoringCase(c)})
		}
	}
	s.reads, s.runs, err = can(s.pack)
	return s, err
}

// priced is the pack with price rows for the agents of the examination, which
// cost what the pack's own first row says, else what some listed model does:
// limits and dimensions of cost are judged, and a limit does not keep the
// agents from starting.
func priced(p *pack.Pack) *pack.Pack {
	q := *p
	spec := &q.Version.EvaluationSpec
	models := append([]scoring.Price{}, spec.Pricing.Models...)
	row := append(models, scoring.CurrentPrices().Models...)[0]
	for _, name := range []string{Reference, Silent, Echo, Reader, Hardcoded, Leaker} {
		row.ProviderKey, row.ProviderModelID = provider.Scripted, name
		models = append(models, row)
	}
	spec.Pricing.Models = models
	return &q
}

// ErrOnlyJudges says that judges alone decide what a pack's trials come to.
var ErrOnlyJudges = errors.New("every dimension is scored by a judge: without asking a model there is nothing to examine")

// leaveJudgesOut takes judges and what they score out of a pack, and names the
// dimensions that are gone: an examination asks no model. Where nothing else
// decides, all that is left has to be met.
func leaveJudgesOut(p *pack.Pack) (gone []string, err error) {
	spec := &p.Version.EvaluationSpec
	if len(spec.LLMJudges) == 0 {
		return nil, nil
	}
	whole := spec.Normalize().Scorecard
	var kept []scoring.Dimension
	gated := false
	for _, d := range whole.Dimensions {
		if d.Source == scoring.SourceJudge {
			gone = append(gone, d.Key)
			continue
		}
		kept, gated = append(kept, d), gated || d.Gate
	}
	if len(kept) == 0 {
		return nil, ErrOnlyJudges
	}
	spec.LLMJudges, spec.JudgeMode = nil, scoring.Deterministic
	spec.Scorecard.Dimensions, spec.Scorecard.JudgeLimits = kept, nil
	if whole.Strategy != scoring.Binary && !gated {
		spec.Scorecard.Strategy = scoring.Weighted
		spec.Scorecard.PassThreshold = cmp.Or(whole.PassThreshold, new(1.0)) // a judge's gate may have been all there was
	}
	return gone, nil
}

// unpriced reports a cost limit that keeps agents of other models from
// starting.
func (s *subject) unpriced(r *Report) {
	own := s.options.Pack.Version.EvaluationSpec
	if own.RuntimeLimits.MaxCostUSD == nil || len(own.Pricing.Models) > 0 {
		return
	}
	r.add(Finding{Severity: Warning, Code: CodeUnpriced, Field: specField + ".runtime_limits.max_cost_usd",
		Message: "only agents with a model of the built-in price list can start: for others the limit cannot be kept without a price, and evaluation_spec.pricing has none"})
}

// specField is where the evaluation spec stands in a pack.
const specField = "version.evaluation_spec"

// expected is the text that a reference stands for in a case.
func (c *testCase) expected(ref string) (string, bool) {
	return scoring.Lookup(ref, scoring.Evidence{Case: c.scoring})
}
