package tui

import (
	"slices"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// State is all the screen knows: facts folded into what there is to show. The
// zero value is the state before the first fact. It grows with what is running
// and with what did not pass, never with what passed.
type State struct {
	Name      string
	Pack      string // slug and version
	InputSet  string
	Sandbox   string
	Status    string // of the finished run; empty while it runs
	StartedAt time.Time
	EndedAt   time.Time
	EndsAt    time.Time // about when the last trial will end; zero: not known
	Note      string    // something to know, such as what the run waits for

	Trials  int // this process will run
	PerLane int // trials of each lane, 0 when lanes differ (a resumed run)
	Passed  int
	Failed  int
	Invalid int

	Paused      bool
	Concurrency int // trials at once, at most; 0: not known
	Paces       []Pace

	Calls        int
	Retries      int // calls and trials made again
	RateLimits   int // calls that a provider refused for their rate
	InputTokens  int64
	OutputTokens int64
	SpentUSD     float64
	Priced       int // finished attempts with a known price
	Unpriced     int
	BudgetUSD    float64 // 0: none
	ChargedUSD   float64 // to the budget, as far as calls have ended

	Awaiting []Awaited // conversations that wait for a person, the longest first
	Lanes    []Lane
	Running  []Running // the longest running first
	Quiet    int       // index in Running of the one that nothing has come from for the longest, -1: none
	Problems []Ended   // trials that did not pass, the newest last, at most maxProblems of them
	Problem  int       // how many there have been
	Passes   []Ended   // the newest last, at most maxPasses of them
	Watched  Watched   // the trial whose transcript is shown

	lane    map[string]int // index in Lanes by run agent id
	invalid map[string]int // lanes of the trials that ended invalid, by trial id
	ends    []time.Time    // of the last trials, for the rate at which they end
	since   time.Time      // that rate is counted from here when there are few
	version int            // of what is shown
}

// Lane is one run agent.
type Lane struct {
	ID      string
	Label   string
	Model   string
	Passed  int
	Failed  int
	Invalid int
	Running int
	Now     string // what its longest running trial does
}

// Done is how many trials of the lane have their outcome.
func (l Lane) Done() int { return l.Passed + l.Failed + l.Invalid }

// Running is a trial that is being run.
type Running struct {
	TrialID   string
	Lane      int // index in State.Lanes, -1 when unknown
	Name      string
	Attempt   int
	StartedAt time.Time
	Step      int
	Phase     string    // sandbox, agent, verification or scoring
	Doing     string    // what the trial is waiting for
	Heard     time.Time // when the last fact or byte came
	LastTool  string

	said    string // by the agent, last
	carried bool   // its events are an earlier attempt's, stated again
	tail    *widget.Tail
}

// Ended is an attempt that has ended.
type Ended struct {
	TrialID string
	Attempt int
	Outcome string // passed, failed, invalid or retried
	Lane    string
	Name    string
	Code    string
	Phase   string
	Reason  string
	Took    time.Duration

	item widget.Item
}

const (
	// maxProblems bounds what is kept for scrolling back; the store has all.
	maxProblems = 2000
	maxPasses   = 500
	// retried is the outcome of an attempt that another follows.
	retried = "retried"
	// maxText is how many bytes of one text are kept: a line's worth.
	maxText = 400
)

// Done is how many trials have their outcome.
func (s *State) Done() int { return s.Passed + s.Failed + s.Invalid }

// Queued is how many trials have not begun.
func (s *State) Queued() int { return max(0, s.Trials-s.Done()-len(s.Running)) }

// Apply takes one fact into account, heard at a time of the screen's clock: that
// of a trial may stand still, as in a replay. What it does not know, and a payload
// that does not decode, changes nothing that is counted.
func (s *State) Apply(e event.Event, at time.Time) {
	s.version++
	switch e.Type {
	case event.RunStarted:
		s.runStarted(e, at)
	case event.RunFinished:
		v, _ := event.Decode[event.RunEnd](e)
		s.Status, s.EndedAt = or(clean(v.Status), "finished"), at
	case event.RunAdjusted:
		s.adjusted(e, at)
	case event.RunPaced:
		s.paced(e)
	case event.TrialQueued:
		s.trialQueued(e, at)
	case event.TrialDone:
		s.trialDone(e, at)
	default:
		if e.TrialID != "" {
			s.trialFact(e, at)
		}
	}
}

func (s *State) runStarted(e event.Event, at time.Time) {
	v, err := event.Decode[event.RunStart](e)
	if err != nil {
		return
	}
	s.Name = clean(v.Name)
	s.Pack = clean(v.Pack.Slug) + " v" + strconv.Itoa(int(v.Pack.Version))
	s.InputSet, s.Sandbox, s.Trials = clean(v.InputSet), clean(v.Sandbox), v.Trials
	s.StartedAt, s.since = at, at
	s.Concurrency, s.BudgetUSD, s.ChargedUSD = v.Concurrency, v.BudgetUSD, v.ChargedUSD
	if perLane := v.Cases * v.Repetitions; perLane*len(v.Agents) == v.Trials {
		s.PerLane = perLane
	}
	s.lane = make(map[string]int, len(v.Agents))
	for _, a := range v.Agents {
		s.lane[a.ID] = len(s.Lanes)
		s.Lanes = append(s.Lanes, Lane{ID: a.ID, Label: clean(a.Label), Model: clean(a.Model)})
	}
}

// laneOf is the index of the lane of an event, -1 when unknown.
func (s *State) laneOf(e event.Event) int {
	if i, ok := s.lane[e.RunAgentID]; ok {
		return i
	}
	return -1
}

// Label is the name of a lane, "" for an unknown one.
func (s *State) Label(lane int) string {
	if lane < 0 || lane >= len(s.Lanes) {
		return ""
	}
	return s.Lanes[lane].Label
}

// running is the trial of an event; it is added when it is new.
func (s *State) running(e event.Event, at time.Time) *Running {
	i := slices.IndexFunc(s.Running, func(r Running) bool { return r.TrialID == e.TrialID })
	if i < 0 {
		i = len(s.Running)
		s.Running = append(s.Running, Running{
			TrialID: e.TrialID, Lane: s.laneOf(e), Name: name(e), Attempt: e.Attempt, StartedAt: at, Heard: at,
			tail: s.tailOf(e.TrialID),
		})
	}
	return &s.Running[i]
}

// trialQueued begins an attempt. One of a trial that had ended invalid takes its
// place in the counts.
func (s *State) trialQueued(e event.Event, at time.Time) {
	if e.TrialID == "" {
		return
	}
	if lane, was := s.invalid[e.TrialID]; was {
		delete(s.invalid, e.TrialID)
		s.Invalid--
		if lane >= 0 {
			s.Lanes[lane].Invalid--
		}
	}
	r := s.running(e, at)
	r.Phase, r.Doing = "queued", "about to begin"
	if s.Sandbox != "" {
		r.Phase, r.Doing = "sandbox", "opening a sandbox"
	}
	if v, err := event.Decode[event.Queue](e); err == nil && v.Judging != nil {
		r.carried = true
	}
	r.tail.Apply(e)
}

func (s *State) trialDone(e event.Event, at time.Time) {
	took := time.Duration(0)
	if i := slices.IndexFunc(s.Running, func(r Running) bool { return r.TrialID == e.TrialID }); i >= 0 {
		took = at.Sub(s.Running[i].StartedAt)
		s.Running[i].tail.Apply(e)
		s.Running = slices.Delete(s.Running, i, i+1)
	}
	s.Awaiting = slices.DeleteFunc(s.Awaiting, func(w Awaited) bool { return w.TrialID == e.TrialID })
	v, err := event.Decode[endPart](e)
	if err != nil {
		return
	}
	if v.CostUSD != nil {
		s.SpentUSD += *v.CostUSD
		s.Priced++
	} else {
		s.Unpriced++
	}
	if v.WillRetry {
		s.Retries++
		s.ended(e, retried, took)
		return
	}
	s.count(e, v.Outcome)
	s.ended(e, string(v.Outcome), took)
	s.estimate(at)
}

// count adds an outcome to those of the run and of its lane.
func (s *State) count(e event.Event, outcome scoring.Outcome) {
	lane, index := &Lane{}, s.laneOf(e) // of an unknown agent: counted for the run alone
	if index >= 0 {
		lane = &s.Lanes[index]
	}
	switch outcome {
	case scoring.OutcomePassed:
		s.Passed++
		lane.Passed++
	case scoring.OutcomeFailed:
		s.Failed++
		lane.Failed++
	case scoring.OutcomeInvalid:
		s.Invalid++
		lane.Invalid++
		if s.invalid == nil {
			s.invalid = map[string]int{}
		}
		s.invalid[e.TrialID] = index
	}
}

// ended keeps an attempt that has ended and, of one that did not pass, why.
func (s *State) ended(e event.Event, outcome string, took time.Duration) {
	n := Ended{TrialID: e.TrialID, Attempt: e.Attempt, Outcome: outcome, Lane: s.Label(s.laneOf(e)), Name: name(e), Took: took}
	if outcome == string(scoring.OutcomePassed) {
		n.item = widget.NewItem(n.Name, n.Lane, outcome, "", "", n.TrialID)
		s.Passes = keep(s.Passes, n, maxPasses)
		return
	}
	v, _ := event.Decode[event.TrialEnd](e) // endPart of it has decoded
	n.Code, n.Phase, n.Reason = clean(v.Code), clean(v.Phase), clean(view.NewTrial(v.Trial).Why())
	n.item = widget.NewItem(n.Name, n.Lane, outcome, n.Code, n.Phase, n.TrialID)
	s.Problem++
	s.Problems = keep(s.Problems, n, maxProblems)
}

// keep appends to a list of which the last most are kept. The array of a
// shortened one is new: a snapshot may still look at the old.
func keep(list []Ended, n Ended, most int) []Ended {
	if len(list) >= 2*most {
		list = slices.Clone(list[len(list)-most:])
	}
	return append(list, n)
}

// snapshot is a copy that later facts do not change. It costs the size of what
// is running, not of what was run.
func (s *State) snapshot() State {
	c := *s
	c.Lanes, c.Running, c.Awaiting, c.Paces = slices.Clone(s.Lanes), slices.Clone(s.Running), slices.Clone(s.Awaiting), slices.Clone(s.Paces)
	c.lane, c.invalid, c.ends = nil, nil, nil
	c.Problems = s.Problems[:len(s.Problems):len(s.Problems)] // only ever appended to
	c.Passes = s.Passes[:len(s.Passes):len(s.Passes)]
	c.Watched = s.Watched.snapshot()
	c.Quiet = -1
	for i := range c.Running {
		r := &c.Running[i]
		r.tail = nil
		if r.Doing != waiting && (c.Quiet < 0 || r.Heard.Before(c.Running[c.Quiet].Heard)) {
			c.Quiet = i
		}
		if r.Lane >= 0 && r.Lane < len(c.Lanes) {
			lane := &c.Lanes[r.Lane]
			if lane.Running++; lane.Now == "" {
				lane.Now = r.Name + " " + r.Doing
			}
		}
	}
	return c
}

// name is how a trial is called within its lane.
func name(e event.Event) string {
	return clean(e.CaseKey) + "#" + strconv.Itoa(e.Repetition)
}

// clean bounds untrusted text and makes it safe for one line of a terminal.
func clean(s string) string { return view.SanitizeLine(view.Clip(s, maxText)) }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
