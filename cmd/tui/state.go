package tui

import (
	"slices"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/scoring"
)

// State is all the screen knows: facts folded into what there is to show. The
// zero value is the state before the first fact. It grows with what is running
// and with what did not pass, never with what passed.
type State struct {
	Pack      string // slug and version
	InputSet  string
	Sandbox   string
	Status    string // of the finished run; empty while it runs
	StartedAt time.Time
	EndedAt   time.Time
	Note      string // something to know, such as what the run waits for

	Trials  int // this process will run
	PerLane int // trials of each lane, 0 when lanes differ (a resumed run)
	Passed  int
	Failed  int
	Invalid int

	Calls        int
	Retries      int // calls and trials made again
	InputTokens  int64
	OutputTokens int64
	SpentUSD     float64
	Priced       int // finished attempts with a known price
	Unpriced     int

	Awaiting []Awaited // conversations that wait for a person, the longest first
	Lanes    []Lane
	Running  []Running // the longest running first
	Problems []Problem // the newest last, at most maxProblems of them
	Problem  int       // how many there have been

	lane map[string]int // index in Lanes by run agent id
}

// Lane is one run agent.
type Lane struct {
	ID      string
	Label   string
	Model   string
	Passed  int
	Failed  int
	Invalid int
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
	Doing     string // what the trial is waiting for
	Since     time.Time
	LastTool  string

	said    string // by the agent, last
	carried bool   // its events are an earlier attempt's, stated again
}

// Problem is a trial that failed, was invalid, or is to be tried again.
type Problem struct {
	Outcome string // failed, invalid or retried
	Lane    string
	Name    string
	Code    string
	Phase   string
	Reason  string
}

const (
	// maxProblems bounds what is kept for scrolling back; the store has all.
	maxProblems = 2000
	// retried is the outcome of an attempt that another follows.
	retried = "retried"
	// maxText is how many bytes of one text are kept: a line's worth.
	maxText = 400
)

// writing is what a trial does while text comes in.
const writing = "model writing"

// Done is how many trials have their outcome.
func (s *State) Done() int { return s.Passed + s.Failed + s.Invalid }

// Apply takes one fact into account. What it does not know, and a payload that
// does not decode, changes nothing that is counted.
func (s *State) Apply(e event.Event) {
	switch e.Type {
	case event.RunStarted:
		s.runStarted(e)
	case event.RunFinished:
		v, _ := event.Decode[event.RunEnd](e)
		s.Status, s.EndedAt = or(clean(v.Status), "finished"), e.OccurredAt
	case event.TrialQueued:
		if v, err := event.Decode[event.Queue](e); err == nil && v.Judging != nil {
			s.running(e).carried = true
		}
	case event.TrialDone:
		s.trialDone(e)
	default:
		if e.TrialID != "" {
			s.trialFact(e)
		}
	}
}

func (s *State) runStarted(e event.Event) {
	v, err := event.Decode[event.RunStart](e)
	if err != nil {
		return
	}
	s.Pack = clean(v.Pack.Slug) + " v" + strconv.Itoa(int(v.Pack.Version))
	s.InputSet, s.Sandbox, s.Trials, s.StartedAt = clean(v.InputSet), clean(v.Sandbox), v.Trials, e.OccurredAt
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

// running is the trial of an event; it is added when it is new.
func (s *State) running(e event.Event) *Running {
	i := slices.IndexFunc(s.Running, func(r Running) bool { return r.TrialID == e.TrialID })
	if i < 0 {
		i = len(s.Running)
		s.Running = append(s.Running, Running{
			TrialID: e.TrialID, Lane: s.laneOf(e), Name: name(e), Attempt: e.Attempt, StartedAt: e.OccurredAt,
		})
	}
	return &s.Running[i]
}

// The parts of payloads that are read here. The rest of them, such as the
// messages of a call, can be large and is left alone.
type (
	usagePart struct {
		Usage *scoring.Usage `json:"usage"`
	}
	toolPart struct {
		Name string `json:"tool_name"`
	}
	endPart struct {
		Outcome   scoring.Outcome `json:"outcome"`
		CostUSD   *float64        `json:"cost_usd"`
		WillRetry bool            `json:"will_retry"`
	}
)

func (s *State) trialFact(e event.Event) {
	r := s.running(e)
	doing := ""
	switch e.Type {
	case event.Started:
		doing = "starting"
	case event.StepStarted:
		v, _ := event.Decode[event.Step](e)
		r.Step = v.StepIndex
	case event.CallStarted:
		doing = "model"
		if !r.carried {
			s.Calls++
		}
	case event.JudgeStarted:
		doing = "judge"
	case event.OutputDelta:
		if r.Doing != writing {
			doing = writing
		}
	case event.CallRetried:
		doing = "waiting to call again"
		if !r.carried {
			s.Retries++
		}
	case event.CallDone:
		doing = "next step"
		v, _ := event.Decode[usagePart](e)
		if v.Usage != nil && !r.carried {
			s.InputTokens += v.Usage.InputTokens
			s.OutputTokens += v.Usage.OutputTokens
		}
	case event.ToolStarted:
		v, _ := event.Decode[toolPart](e)
		r.LastTool = clean(v.Name)
		doing = "tool " + r.LastTool
	case event.ToolDone, event.ToolFailed:
		v, _ := event.Decode[toolPart](e)
		r.LastTool = clean(v.Name)
		doing = "next step"
	case event.TurnAwaiting:
		doing = "a person"
		s.awaiting(r, e)
	case event.TurnAssistant, event.TurnUser, event.TurnExpired:
		s.awaiting(r, e)
	case event.CommandStart, event.FileCaptured, event.DirListed, event.CodeExecuted:
		doing = "verifying"
	case event.ScoringStart:
		r.carried = false // what is stated from here on is new
		doing = "scoring"
	case event.Completed, event.Failed:
		doing = "scoring"
	}
	if doing != "" {
		r.Doing, r.Since = doing, e.OccurredAt
	}
}

func (s *State) trialDone(e event.Event) {
	s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return r.TrialID == e.TrialID })
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
		s.problem(e, retried)
		return
	}
	lane := &Lane{} // of an unknown agent: counted for the run alone
	if i := s.laneOf(e); i >= 0 {
		lane = &s.Lanes[i]
	}
	switch v.Outcome {
	case scoring.OutcomePassed:
		s.Passed++
		lane.Passed++
	case scoring.OutcomeFailed:
		s.Failed++
		lane.Failed++
		s.problem(e, string(v.Outcome))
	case scoring.OutcomeInvalid:
		s.Invalid++
		lane.Invalid++
		s.problem(e, string(v.Outcome))
	}
}

// problem notes why a trial did not pass.
func (s *State) problem(e event.Event, outcome string) {
	v, _ := event.Decode[event.TrialEnd](e) // endPart of it has decoded
	p := Problem{Outcome: outcome, Name: name(e), Code: clean(v.Code), Phase: clean(v.Phase), Reason: clean(view.NewTrial(v.Trial).Why())}
	if i := s.laneOf(e); i >= 0 {
		p.Lane = s.Lanes[i].Label
	}
	s.Problem++
	if len(s.Problems) >= 2*maxProblems {
		// a new array: a snapshot may still look at the old one
		s.Problems = slices.Clone(s.Problems[len(s.Problems)-maxProblems:])
	}
	s.Problems = append(s.Problems, p)
}

// snapshot is a copy that later facts do not change. It costs the size of what
// is running, not of what was run.
func (s *State) snapshot() State {
	c := *s
	c.Lanes, c.Running, c.Awaiting, c.lane = slices.Clone(s.Lanes), slices.Clone(s.Running), slices.Clone(s.Awaiting), nil
	c.Problems = s.Problems[:len(s.Problems):len(s.Problems)] // only ever appended to
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
