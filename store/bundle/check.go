package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	RunID string // whose bundle it should be
	Next  Sink   // nil: only check
	// Pack looks at a pack, and says by which spec it scores; own is nil for a
	// rescoring's. Without it no scorecard of a run agent is held against its trials.
	Pack func(p Pack, own *plan.Plan) (scoring.Spec, error)

	run     Run
	plan    plan.Plan
	lanes   int
	cases   map[string]int
	planned []bool // trials that have come, by place in the plan
	packs   []string
	blobs   map[string]struct{}
	ends    map[string]scoring.Trial // results among the blobs, without texts
	ids     map[uuid.UUID]struct{}   // of trials
	totals  []*scoring.Aggregator    // by run agent; nil without its spec
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
		c.keep(r)
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
	for i, total := range c.totals {
		if err := c.sameCard(i, total.Scorecard()); err != nil {
			return fmt.Errorf("%w: the scorecard of agent %d: %w", ErrWrong, i+1, err)
		}
	}
	return nil
}

// sameCard sees that what is said of a run agent follows from its trials, as far
// as anything is decided by it.
func (c *Check) sameCard(agent int, is scoring.AgentScorecard) error {
	document := c.run.Agents[agent].Scorecard
	if len(document) == 0 || string(document) == "null" || c.run.Status != "completed" {
		return nil // of a run that was stopped, it was said before the end
	}
	var said scoring.AgentScorecard
	if err := json.Unmarshal(document, &said); err != nil {
		return err
	}
	switch {
	case said.Trials != is.Trials || said.PassedTrials != is.PassedTrials || said.FailedTrials != is.FailedTrials || said.InvalidTrials != is.InvalidTrials:
		return fmt.Errorf("it counts %d trials, %d passed, %d failed, %d invalid; there are %d, %d, %d and %d", said.Trials, said.PassedTrials,
			said.FailedTrials, said.InvalidTrials, is.Trials, is.PassedTrials, is.FailedTrials, is.InvalidTrials)
	case said.Passed != is.Passed || said.Headline != is.Headline || !near(said.OverallScore, is.OverallScore) || !near(said.PassRate, is.PassRate):
		return errors.New("its score or its verdict does not follow from the trials")
	case !slices.EqualFunc(said.Dimensions, is.Dimensions, func(a, b scoring.AggregateDimension) bool { return a.Key == b.Key && near(a.Score, b.Score) }):
		return errors.New("its dimensions do not follow from the trials")
	}
	return nil
}

// near says whether two scores are the same but for how they were added up.
func near(a, b *float64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return math.Abs(*a-*b) < 1e-9
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
	case r.EventSchema == "" || !IsName(r.Name):
		return errors.New("its name or schema is missing, or the name is none")
	case r.CreatedAt.Year() < 1970 || r.CreatedAt.Year() > lastYear:
		return errors.New("its date is missing, or none that can be")
	case p.Session != "" && !IsName(p.Session):
		return errors.New("its session has no name that can be one")
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
		if !isLine(a.Label, maxLabel) {
			return fmt.Errorf("agent %d has no label that can be one", i+1)
		}
		if err := cardOf(a.Scorecard); err != nil {
			return fmt.Errorf("scorecard of agent %d: %w", i+1, err)
		}
		var d plan.Deployment
		if err := json.Unmarshal(a.Deployment, &d); err != nil {
			return fmt.Errorf("deployment of agent %d: %w", i+1, err)
		}
	}
	for _, o := range r.Others {
		if !slices.Contains([]string{Reused, RetryOf, MergedOf}, o.As) || !isID(o.RunID) {
			return errors.New("it names another run by no id, or for no reason there is")
		}
	}
	c.run, c.lanes, c.blobs = r, len(p.Agents), map[string]struct{}{}
	c.ends, c.ids = map[string]scoring.Trial{}, map[uuid.UUID]struct{}{}
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

// lastYear is the last whole one whose moments can be counted in nanoseconds.
const lastYear = 2261

// MaxName is how long the name of a run may be, in bytes.
const MaxName = 1000

// IsName says whether a text can be the name of a run or a session: one line that can be shown.
func IsName(name string) bool { return isLine(name, MaxName) }

// maxLabel is how long the label of an agent may be, in bytes: it can be the name of a
// model, which a number may follow.
const maxLabel = 5000

// isLine says whether a text is one line that can be shown, of so many bytes at most.
func isLine(text string, most int) bool {
	return text != "" && len(text) <= most && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
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
	if !own {
		_, err := c.Pack(p, nil)
		return err
	}
	spec, err := c.Pack(p, &c.plan)
	for range c.lanes {
		c.totals = append(c.totals, scoring.NewAggregator(spec, c.plan.Options.MinPassRate))
	}
	return err
}

// keep notes a blob, and what it says when it is an attempt's result: the trials
// come later.
func (c *Check) keep(b Blob) {
	c.blobs[b.Name()] = struct{}{}
	if !bytes.HasPrefix(b.Content, []byte(`{"trial_id":`)) {
		return
	}
	var end event.TrialEnd
	if json.Unmarshal(b.Content, &end) == nil {
		c.ends[b.Name()] = slim(end.Trial)
	}
}

// slim is a result without what no aggregate looks at.
func slim(t scoring.Trial) scoring.Trial {
	t.FinalOutput = nil
	if t.Scorecard != nil {
		t.Scorecard.Validators, t.Scorecard.Judges, t.Scorecard.Metrics = nil, nil, nil
	}
	return t
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
	id := uuid.MustParse(t.ID) // it was looked at
	if _, twice := c.ids[id]; twice {
		return errors.New("its id is that of another trial")
	}
	c.ids[id] = struct{}{}
	if !ended(t.Status) {
		c.open++
	} else if n := len(t.Attempts); n == 0 || t.Attempts[n-1].Number != t.Attempt || t.Attempts[n-1].Status != t.Status {
		return fmt.Errorf("it is %s, and its attempt %d does not say so", t.Status, t.Attempt)
	}
	s := span{first: int32(len(c.last)), count: int16(len(t.Attempts))} //nolint:gosec // both are bounded: a trial has at most 1023 attempts
	before, gaps := 0, false
	for _, a := range t.Attempts {
		if a.Number <= before || a.Number >= maxAttempts || !slices.Contains(trialEnds, a.Status) {
			return fmt.Errorf("attempt %d cannot follow attempt %d, or its status %.20q cannot be", a.Number, before, a.Status)
		}
		gaps, before = gaps || a.Number != before+1, a.Number
		if err := c.checkResult(t, a); err != nil {
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

// ended says whether a trial or an attempt has come to something.
func ended(status string) bool {
	return slices.Contains([]string{"passed", "failed", "invalid"}, status)
}

// checkResult sees that an attempt that ended says so in its result, and that the
// trial says what its last attempt came to.
func (c *Check) checkResult(t Trial, a Attempt) error {
	if err := c.content(a.Result, a.Blob); err != nil {
		return err
	}
	if ended(a.Status) != (a.Blob != "" || len(a.Result) > 0) {
		return errors.New("its status and its result differ")
	}
	if !ended(a.Status) {
		return nil
	}
	end, known := c.ends[a.Blob]
	if a.Blob == "" {
		var document event.TrialEnd
		if err := json.Unmarshal(a.Result, &document); err != nil {
			return fmt.Errorf("read its result: %w", err)
		}
		end, known = document.Trial, true
	}
	switch {
	case !known || string(end.Outcome) != a.Status:
		return errors.New("its status and its result differ")
	case end.TrialID != t.ID || end.CaseKey != t.CaseKey || end.Repetition != t.Repetition || end.Attempt != a.Number:
		return errors.New("its result is that of another attempt")
	case ended(t.Status) && a.Number == t.Attempt && (end.Code != t.Code || end.Phase != t.Phase || !near(scoreOf(end), t.Score)):
		return errors.New("the trial's code, phase or score is not that of its result")
	}
	if c.totals != nil {
		c.totals[t.Agent-1].Add(slim(end))
	}
	return nil
}

// scoreOf is the score of a trial that a result makes.
func scoreOf(t scoring.Trial) *float64 {
	if t.Scorecard == nil || t.Outcome == scoring.OutcomeInvalid {
		return nil
	}
	return t.Scorecard.OverallScore
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
