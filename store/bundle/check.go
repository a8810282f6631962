package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/engine/plan"
	"github.com/agentclash/agentclash/scoring"
)

// maxAttempts bounds the attempts of a trial: their numbers are below it.
const maxAttempts = 1 << 10

var (
	runEnds   = []string{"completed", "failed", "cancelled", "interrupted"}
	trialEnds = []string{"passed", "failed", "invalid", "interrupted", "cancelled", "queued", "running"}
)

// Check is a [Sink] that believes nothing: it hands on only what refers to what
// was there before and agrees with the plan. What it refuses is [ErrWrong].
type Check struct {
	RunID string                             // whose bundle it should be
	Next  Sink                               // nil: only check
	Pack  func(p Pack, own *plan.Plan) error // looks at a pack; own is nil for a rescoring's

	run     Run
	plan    plan.Plan
	lanes   int
	cases   map[string]int
	planned []bool // trials that have come, by place in the plan
	packs   []string
	blobs   map[string]struct{}
	trials  []span
	last    []int64 // sequence numbers, by attempt
	open    int     // trials that have not ended
	within  *Rescoring
}

// span are the attempts of a trial, as places in Check.last.
type span struct {
	first   int32
	numbers []int16 // nil: 1, 2, ... up to count
	count   int16
}

// Run is the run of the bundle, once it has been read.
func (c *Check) Run() Run { return c.run }

// Plan is the run's plan, once it has been read.
func (c *Check) Plan() plan.Plan { return c.plan }

// Unfinished counts the trials that neither passed nor failed nor were invalid.
func (c *Check) Unfinished() int { return c.open }

// Put checks a record and hands it on.
func (c *Check) Put(r Record) error {
	if err := c.check(r); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrWrong, r.place(), err)
	}
	if c.Next == nil {
		return nil
	}
	return c.Next.Put(r)
}

func (c *Check) check(r Record) error {
	if run, ok := r.(Run); ok {
		return c.checkRun(run)
	}
	if c.cases == nil {
		return errors.New("the run does not come first")
	}
	switch r := r.(type) {
	case Pack:
		return c.checkPack(r)
	case Blob:
		c.blobs[r.Name()] = struct{}{}
		return nil
	case Trial:
		return c.checkTrial(r)
	case Event:
		return c.checkEvent(r)
	case Rescoring:
		return c.checkRescoring(r)
	case Rescored:
		return c.checkRescored(r)
	case Gate:
		return c.checkGate(r)
	}
	return errors.New("it has no place here")
}

// Finish says whether anything is missing, after the last record.
func (c *Check) Finish() error {
	switch {
	case c.cases == nil:
		return fmt.Errorf("%w: it has no run", ErrWrong)
	case len(c.trials) != c.run.Trials:
		return fmt.Errorf("%w: the run has %d trials, and %d are there", ErrWrong, c.run.Trials, len(c.trials))
	case !slices.Contains(c.packs, c.run.Pack.Digest):
		return fmt.Errorf("%w: the run's pack is not there", ErrWrong)
	}
	return nil
}

func (c *Check) checkRun(r Run) error {
	if c.cases != nil {
		return errors.New("there is a second run")
	}
	if err := json.Unmarshal(r.Plan, &c.plan); err != nil {
		return fmt.Errorf("read its plan: %w", err)
	}
	p := c.plan
	switch {
	case r.ID != c.RunID || p.RunID != r.ID || !isID(r.ID):
		return errors.New("its ids differ")
	case r.EventSchema > event.SchemaVersion:
		return fmt.Errorf("%w: its events are of schema %.20s", ErrNewer, r.EventSchema)
	case r.EventSchema == "" || r.Name == "" || r.CreatedAt.IsZero():
		return errors.New("its name, date or schema is missing")
	case !slices.Contains(runEnds, r.Status):
		return fmt.Errorf("a run that is %.20q is not over", r.Status)
	case p.Pack != r.Pack || p.InputSet != r.InputSet || p.Mode != r.Mode || p.SpecDigest != r.SpecDigest:
		return errors.New("its pack, input set, mode or spec is not that of its plan")
	case len(r.Agents) == 0 || len(r.Agents) != len(p.Agents):
		return errors.New("its agents are not those of its plan")
	case p.Options.Repetitions < 1 || p.Options.Repetitions > plan.MaxRepetitions || r.Trials < 0 || r.Trials > plan.MaxTrials ||
		len(p.Cases)*len(p.Agents)*p.Options.Repetitions > plan.MaxTrials:
		return errors.New("its numbers are out of bounds")
	}
	for i, a := range r.Agents {
		if own := p.Agents[i]; a.ID != own.ID || a.Label != own.Label || own.Lane != i || !isID(a.ID) || a.Status == "" {
			return errors.New("its agents are not those of its plan")
		}
		if err := cardOf(a.Scorecard); err != nil {
			return fmt.Errorf("scorecard of agent %d: %w", i+1, err)
		}
		var d plan.Deployment
		if err := json.Unmarshal(a.Deployment, &d); err != nil {
			return fmt.Errorf("deployment of agent %d: %w", i+1, err)
		}
	}
	c.run, c.lanes, c.blobs = r, len(p.Agents), map[string]struct{}{}
	c.cases = make(map[string]int, len(p.Cases))
	for i, ref := range p.Cases {
		c.cases[ref.Key] = i
	}
	if len(c.cases) != len(p.Cases) {
		return errors.New("its plan has a case twice")
	}
	c.planned = make([]bool, len(p.Cases)*c.lanes*p.Options.Repetitions)
	return nil
}

func isID(id string) bool { return len(id) == 36 && uuid.Validate(id) == nil }

func cardOf(document json.RawMessage) error {
	if len(document) == 0 || string(document) == "null" {
		return nil
	}
	return json.Unmarshal(document, new(scoring.AgentScorecard))
}

func (c *Check) checkPack(p Pack) error {
	own := p.Digest == c.run.Pack.Digest
	switch {
	case slices.Contains(c.packs, p.Digest):
		return errors.New("it comes twice")
	case p.Slug != c.run.Pack.Slug:
		return errors.New("it is another pack than the run's")
	case own && (p.Version != c.run.Pack.Version || p.SpecDigest != c.run.SpecDigest):
		return errors.New("its version or spec is not the run's")
	}
	c.packs = append(c.packs, p.Digest)
	if c.Pack == nil {
		return nil
	}
	if own {
		return c.Pack(p, &c.plan)
	}
	return c.Pack(p, nil)
}

func (c *Check) checkTrial(t Trial) error {
	at, known := c.cases[t.CaseKey]
	reps := c.plan.Options.Repetitions
	switch {
	case !known || t.Agent < 1 || t.Agent > c.lanes || t.Repetition < 1 || t.Repetition > reps || !isID(t.ID):
		return errors.New("the plan has no such trial")
	case !slices.Contains(trialEnds, t.Status) || t.Status == "running" || t.Attempt < 0 || t.Attempt >= maxAttempts:
		return fmt.Errorf("its status %.20q or its attempt %d cannot be", t.Status, t.Attempt)
	}
	place := (at*c.lanes+t.Agent-1)*reps + t.Repetition - 1
	if c.planned[place] {
		return errors.New("it comes twice")
	}
	c.planned[place] = true
	if !slices.Contains([]string{"passed", "failed", "invalid"}, t.Status) {
		c.open++
	}
	s := span{first: int32(len(c.last)), count: int16(len(t.Attempts))} //nolint:gosec // both are bounded: a trial has at most 1023 attempts
	before, gaps := 0, false
	for _, a := range t.Attempts {
		if a.Number <= before || a.Number >= maxAttempts || !slices.Contains(trialEnds, a.Status) {
			return fmt.Errorf("attempt %d cannot follow attempt %d, or its status %.20q cannot be", a.Number, before, a.Status)
		}
		gaps, before = gaps || a.Number != before+1, a.Number
		if err := c.checkResult(a); err != nil {
			return fmt.Errorf("attempt %d: %w", a.Number, err)
		}
	}
	if gaps {
		for _, a := range t.Attempts {
			s.numbers = append(s.numbers, int16(a.Number)) //nolint:gosec // below 1024
		}
	}
	c.trials = append(c.trials, s)
	c.last = append(c.last, make([]int64, len(t.Attempts))...)
	return nil
}

// checkResult sees that an attempt that ended says so in its result.
func (c *Check) checkResult(a Attempt) error {
	if err := c.content(a.Result, a.Blob); err != nil {
		return err
	}
	decided := slices.Contains([]string{"passed", "failed", "invalid"}, a.Status)
	if decided != (a.Blob != "" || len(a.Result) > 0) {
		return errors.New("its status and its result differ")
	}
	if len(a.Result) == 0 {
		return nil
	}
	var end event.TrialEnd
	if err := json.Unmarshal(a.Result, &end); err != nil {
		return fmt.Errorf("read its result: %w", err)
	}
	if string(end.Outcome) != a.Status {
		return errors.New("its status and its result differ")
	}
	return nil
}

// content is in a record or in a blob that has come.
func (c *Check) content(inline json.RawMessage, blob string) error {
	if blob == "" {
		return nil
	}
	if _, ok := c.blobs[blob]; !ok || len(inline) > 0 {
		return fmt.Errorf("there is no blob %.12s", blob)
	}
	return nil
}

// attempt is the place of an attempt in Check.last.
func (c *Check) attempt(trial, number int) (int, bool) {
	if trial < 1 || trial > len(c.trials) || number < 1 {
		return 0, false
	}
	s := c.trials[trial-1]
	at := number - 1
	if s.numbers != nil {
		at = slices.Index(s.numbers, int16(min(number, maxAttempts))) //nolint:gosec // at most 1024
	}
	return int(s.first) + at, at >= 0 && at < int(s.count)
}

func (c *Check) checkEvent(e Event) error {
	if len(c.trials) != c.run.Trials {
		return fmt.Errorf("the run has %d trials, and %d are there", c.run.Trials, len(c.trials))
	}
	if e.Type == "" || len(e.Type) > 200 || len(e.Source) > 200 || e.Sequence < 1 || len(e.ID) > 200 {
		return errors.New("it has no type or no number, or its names are too long")
	}
	if err := c.content(e.Payload, e.Blob); err != nil {
		return err
	}
	if e.Trial == 0 {
		if e.Attempt != 0 || e.Type == event.TrialDone || e.Agent < 0 || e.Agent > c.lanes {
			return errors.New("it is a trial's fact and names no trial")
		}
		return nil
	}
	at, ok := c.attempt(e.Trial, e.Attempt)
	switch {
	case !ok || e.Agent != 0:
		return errors.New("there is no such attempt")
	case e.Sequence <= c.last[at]:
		return fmt.Errorf("it comes after %d", c.last[at])
	case e.Type == event.TrialDone && (e.Blob != "" || len(e.Payload) > 0):
		return errors.New("its payload is the attempt's result")
	}
	c.last[at] = e.Sequence
	return nil
}

func (c *Check) checkRescoring(r Rescoring) error {
	if !isID(r.ID) || !slices.Contains(c.packs, r.PackDigest) || r.CreatedAt.IsZero() || len(r.Scorecards) != c.lanes {
		return errors.New("its pack or one of its agents is not there")
	}
	for _, card := range r.Scorecards {
		if err := cardOf(card); err != nil {
			return err
		}
	}
	c.within = &r
	return nil
}

func (c *Check) checkRescored(r Rescored) error {
	if _, ok := c.attempt(r.Trial, r.Attempt); !ok || c.within == nil {
		return errors.New("there is no such attempt or rescoring")
	}
	if len(r.Result) > 0 {
		if err := json.Unmarshal(r.Result, new(event.TrialEnd)); err != nil {
			return err
		}
	}
	return c.content(r.Result, r.Blob)
}

func (c *Check) checkGate(g Gate) error {
	ours := slices.ContainsFunc(c.run.Agents, func(a Agent) bool { return a.ID == g.CandidateAgentID })
	if !isID(g.ID) || !isID(g.BaselineRunID) || !ours || g.GeneratedAt.IsZero() || !json.Valid(g.Document) {
		return errors.New("it is of no agent of the run, or incomplete")
	}
	return nil
}
