package tui

import (
	"strings"

	"github.com/agentclash/agentclash/cmd/tui/widget"
)

// Row is an attempt in the list of trials: one that runs, or one that has ended.
type Row struct {
	TrialID string
	Attempt int
	Name    string
	Lane    string
	running *Running // nil: it has ended
	ended   *Ended
}

// rows is how many there are: what runs, the longest first, then what did not pass
// and what passed, the newest first.
func (s *State) rows() int { return len(s.Running) + len(s.Problems) + len(s.Passes) }

// row is the one at a place.
func (s *State) row(i int) Row {
	if i < len(s.Running) {
		r := &s.Running[i]
		return Row{TrialID: r.TrialID, Attempt: r.Attempt, Name: r.Name, Lane: s.Label(r.Lane), running: r}
	}
	e := s.endedAt(i)
	return Row{TrialID: e.TrialID, Attempt: e.Attempt, Name: e.Name, Lane: e.Lane, ended: e}
}

func (s *State) endedAt(i int) *Ended {
	if i -= len(s.Running); i < len(s.Problems) {
		return &s.Problems[len(s.Problems)-1-i]
	}
	i -= len(s.Problems)
	return &s.Passes[len(s.Passes)-1-i]
}

// match is the places of the rows that a filter lets pass, nil when it lets all.
func (s *State) match(f widget.Filter) []int {
	if f.Empty() {
		return nil
	}
	places := []int{}
	for i := range s.rows() {
		if i < len(s.Running) {
			r := s.Running[i]
			if f.Match(widget.NewItem(r.Name, s.Label(r.Lane), "running", "", r.Phase, r.TrialID)) {
				places = append(places, i)
			}
		} else if f.Match(s.endedAt(i).item) {
			places = append(places, i)
		}
	}
	return places
}

// find is the entry of the list that is a row's, -1 when it is not there or there is no row.
func (f Frame) find(s State, row Row) int {
	if row.TrialID == "" {
		return -1
	}
	for i := range f.trials(s) {
		if s.isAt(f.place(i), row) {
			return i
		}
	}
	return -1
}

// isAt says whether a row is at a place.
func (s *State) isAt(i int, row Row) bool {
	if i < len(s.Running) {
		return s.Running[i].TrialID == row.TrialID && s.Running[i].Attempt == row.Attempt
	}
	e := s.endedAt(i)
	return e.TrialID == row.TrialID && e.Attempt == row.Attempt
}

// laneFilter is the filter that a lane stands for. Of one whose name has spaces the
// words have to be there.
func laneFilter(l Lane) string {
	words := strings.Fields(l.Label)
	if len(words) == 1 {
		return "agent:=" + words[0]
	}
	for i, w := range words {
		words[i] = "agent:" + w
	}
	return strings.Join(words, " ")
}
