package peers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// When standings are told: from FirstStep on, and then every so many steps.
const (
	FirstStep  = 3
	DefaultGap = 3
	MinGap     = 1
	MaxGap     = 10
)

// State is how far an agent is.
type State string

// The states.
const (
	NotStarted State = "not_started"
	Running    State = "running"
	Submitted  State = "submitted"
	Failed     State = "failed"
	TimedOut   State = "timed_out"
)

// Standing is how one agent stands.
type Standing struct {
	Lane      int    `json:"lane_index"`
	Name      string `json:"name"` // its model, with a number where several have the same
	State     State  `json:"state"`
	Step      int    `json:"step_index"` // 0: unknown
	ToolCalls int    `json:"tool_call_count"`
	Tokens    int64  `json:"total_tokens"`
	// Took is how long it took until it submitted, 0: unknown.
	Took time.Duration `json:"took_ns,omitempty"`
}

// Cadence is the trigger of standings that are told since it is time to; the others
// are named by what a peer did.
const Cadence = "cadence"

// Watch decides when one agent is told. It is for one goroutine.
type Watch struct {
	Gap  int // steps between two tellings without news
	last int // the step of the last telling, 0 for none
	seen map[int]State
}

// Look takes note of the standings at the start of a step, and says whether self is
// told now, and by which trigger.
func (w *Watch) Look(step, self int, all []Standing) (trigger string, tell bool) {
	if step < FirstStep {
		return "", false
	}
	news, peers := "", 0
	first := w.seen == nil
	if first {
		w.seen = map[int]State{}
	}
	for _, s := range all {
		if s.Lane == self {
			continue
		}
		peers++
		if before, known := w.seen[s.Lane]; !first && (!known || before != s.State) && news == "" && over(s.State) {
			news = "peer_" + string(s.State)
		}
		w.seen[s.Lane] = s.State
	}
	switch {
	case peers == 0:
		return "", false
	case news != "":
		trigger = news
	case w.last == 0 || step-w.last >= w.Gap:
		trigger = Cadence
	default:
		return "", false
	}
	w.last = step
	return trigger, true
}

func over(s State) bool { return s == Submitted || s == Failed || s == TimedOut }

// Text is what an agent is told of the standings at one of its steps.
func Text(step, self int, all []Standing) string {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Step, a.Step), cmp.Compare(a.Lane, b.Lane))
	})
	running, submitted := 0, 0
	for _, s := range all {
		switch s.State {
		case Running, NotStarted:
			running++
		case Submitted:
			submitted++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[RACE UPDATE · your step %d]\n%d running, %d submitted", step, running, submitted)
	for _, s := range all {
		name := s.Name
		if s.Lane == self {
			name = "you (" + name + ")"
		}
		b.WriteString("\n- " + name + " — " + s.text())
	}
	return b.String()
}

// rank orders by submission, the earliest first and those of an unknown time last;
// who has not submitted comes after.
func rank(s Standing) time.Duration {
	const never = time.Duration(1<<63 - 1)
	switch {
	case s.State != Submitted:
		return never
	case s.Took <= 0:
		return never - 1
	}
	return min(s.Took, never-2)
}

func (s Standing) text() string {
	at := ""
	if s.Step > 0 {
		at = fmt.Sprintf(" at step %d", s.Step)
	}
	switch s.State {
	case Submitted:
		took := "—"
		if s.Took > 0 {
			took = fmt.Sprintf("%dm%02ds", int(s.Took.Minutes()), int(s.Took.Seconds())%60)
		}
		return "submitted" + at + " (" + took + "), being verified"
	case Failed:
		return "FAILED" + at
	case TimedOut:
		return "TIMED OUT" + at
	case NotStarted:
		return "not started"
	}
	return fmt.Sprintf("%d steps, %d tool calls, %d tokens", s.Step, s.ToolCalls, s.Tokens)
}

// Tokens is about how many tokens a text adds.
func Tokens(text string) int64 { return int64(len(text)+3) / 4 }

// Names are what agents are called by their models, in order: those that several
// have are numbered.
func Names(models []string) []string {
	names := make([]string, len(models))
	count, at := map[string]int{}, map[string]int{}
	for _, m := range models {
		count[m]++
	}
	for i, m := range models {
		names[i] = m
		if count[m] > 1 {
			at[m]++
			names[i] = fmt.Sprintf("%s #%d", m, at[m])
		}
	}
	return names
}
