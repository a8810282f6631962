package tui

import (
	"fmt"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// lists draws the lists that there is room for.
func lists(s State, f Frame, b box) []string {
	var lines []string
	if b.lanes > 0 {
		look := widget.Look{Width: b.width, Height: b.lanes, Color: f.Color, Focus: f.Focus == OnLanes, Cursor: f.Focus == OnLanes}
		lines = f.Lanes.Draw(len(s.Lanes), look, func(from, to int) view.Table { return lanes(s, from, to, part(f.Lanes, len(s.Lanes), b.lanes-1)) })
	}
	if b.trials == 0 {
		return lines
	}
	if b.gap {
		lines = append(lines, "")
	}
	n := f.trials(s)
	if n == 0 {
		return append(lines, "  "+view.Faint.Paint(nothing(s, f), f.Color))
	}
	look := widget.Look{Width: b.width, Height: b.trials, Color: f.Color, Focus: f.Focus == OnTrials, Cursor: true}
	rows := f.Trials.Draw(n, look, func(from, to int) view.Table { return trials(s, f, from, to, part(f.Trials, n, b.trials-1)) })
	lines = append(lines, rows...)
	for len(lines) < b.lanes+b.trials { // what stands below stays where it is
		lines = append(lines, "")
	}
	return lines
}

// nothing is what stands where there is no trial.
func nothing(s State, f Frame) string {
	if f.Filter != "" {
		return "no trial matches " + view.SanitizeLine(f.Filter) + " · esc shows all"
	}
	if s.Status == "" {
		return "no trial has begun"
	}
	return "no trial was run"
}

// part says which entries of a list are shown when they are not all.
func part(l widget.List, n, room int) string {
	if n <= room {
		return ""
	}
	l = l.Keep(n, room)
	return fmt.Sprintf(" %d-%d of %d", l.Top+1, min(n, l.Top+max(1, room)), n)
}

func lanes(s State, from, to int, part string) view.Table {
	t := view.Table{Columns: []view.Column{
		{Title: "AGENT" + part, Min: len("AGENT 10-19 of 99")}, {Title: "DONE", Right: true, Keep: true}, {Title: "PASSED", Right: true, Keep: true},
		{Title: "FAILED", Right: true, Keep: true}, {Title: "INVALID", Right: true, Keep: true}, {Title: "NOW", Spare: true},
	}}
	for _, l := range s.Lanes[from:to] {
		done := strconv.Itoa(l.Done())
		if s.PerLane > 0 {
			done += "/" + strconv.Itoa(s.PerLane)
		}
		now := l.Now
		if l.Running > 1 {
			now += " +" + strconv.Itoa(l.Running-1)
		}
		t.Add(view.Text(l.Label), view.Text(done), counted(l.Passed, view.Good), counted(l.Failed, view.Bad),
			counted(l.Invalid, view.Waiting), view.Cell{Text: now, Style: view.Faint})
	}
	return t
}

func counted(n int, style view.Style) view.Cell {
	if n == 0 {
		style = view.Faint
	}
	return view.Cell{Text: strconv.Itoa(n), Style: style}
}

// trials are those that run and those that have ended.
func trials(s State, f Frame, from, to int, part string) view.Table {
	title := "TRIAL" + part
	if f.Filter != "" {
		title += " /" + view.SanitizeLine(f.Filter)
	}
	state, what := view.Column{Title: "STATE"}, view.Column{Title: "WHAT"}
	if f.Width >= roomy { // what changes then moves nothing
		state.Min, state.Keep, what.Min = len("verification"), true, len(writing)
	}
	t := view.Table{Columns: []view.Column{
		{Title: title}, {Title: "AGENT", Spare: true}, state, what, {Title: "QUIET", Right: true, Keep: true}, {Title: "TOOK", Right: true, Keep: true, Spare: true},
	}}
	for i := from; i < to; i++ {
		r := s.row(f.place(i))
		name := r.Name
		if r.Attempt > 1 {
			name += " attempt " + strconv.Itoa(r.Attempt)
		}
		if r.running != nil {
			t.Add(runningCells(name, r, f.Now)...)
			continue
		}
		t.Add(view.Text(name), view.Text(r.Lane), view.Cell{Text: r.ended.Outcome, Style: outcomeStyle(r.ended.Outcome)},
			view.Text(why(*r.ended)), view.Text(""), view.Text(clock(r.ended.Took)))
	}
	return t
}

func runningCells(name string, row Row, now time.Time) []view.Cell {
	r, silent := row.running, now.Sub(row.running.Heard)
	quiet := view.Text(clock(silent))
	if silent >= stuckAfter {
		quiet.Style = view.Waiting
	}
	doing := r.Doing
	if r.Step > 0 {
		doing = "step " + strconv.Itoa(r.Step) + ": " + doing
	}
	return []view.Cell{view.Text(name), view.Text(row.Lane), {Text: r.Phase, Style: view.Busy},
		view.Text(doing), quiet, view.Text(clock(now.Sub(r.StartedAt)))}
}

func outcomeStyle(outcome string) view.Style {
	if outcome == retried {
		return view.Faint
	}
	return view.StatusStyle(outcome)
}

// why is the code, the phase and the reason of a problem, as far as known.
func why(p Ended) string {
	text := p.Code
	if text != "" && p.Phase != "" {
		text += " in " + p.Phase
	}
	if text != "" && p.Reason != "" {
		text += ": "
	}
	return text + p.Reason
}

// transcript is the pane of the selected trial, with a heading.
func transcript(s State, f Frame, b box) []string {
	row := f.Selected
	if row.TrialID == "" {
		return []string{view.Faint.Paint("no trial is selected", f.Color)}
	}
	title := row.Name
	if row.Lane != "" {
		title += " · " + row.Lane
	}
	if row.Attempt > 1 {
		title += " · attempt " + strconv.Itoa(row.Attempt)
	}
	right := ""
	if row.running != nil {
		right = view.Busy.Paint(row.running.Phase+": "+row.running.Doing, f.Color)
	} else {
		right = outcomeStyle(row.ended.Outcome).Paint(row.ended.Outcome, f.Color)
	}
	mark := "  "
	if f.Focus == OnTranscript || f.Open {
		mark = view.Busy.Paint("▍", f.Color) + " "
	}
	room := b.transcript - 1
	lines := []string{mark + widget.Ends(b.transcriptWidth-2, title, right, view.Bold, f.Color)}
	if f.Transcript == nil || !s.Watched.Known() || s.Watched.TrialID != row.TrialID {
		return append(lines, unseen(row, f.Color)...)
	}
	if below := f.Transcript.Below(room - 1); below > 0 {
		lines = append(lines, f.Transcript.Window(room-1)...)
		return append(lines, view.Faint.Paint("↓ "+count(below, "more line")+", end goes there", f.Color))
	}
	return append(lines, f.Transcript.Window(room)...)
}

// unseen stands where the transcript of a trial would that had ended before it was
// selected.
func unseen(row Row, color bool) []string {
	var lines []string
	if row.ended != nil {
		if text := why(*row.ended); text != "" {
			lines = append(lines, text)
		}
	}
	return append(lines, "", view.Faint.Paint("Its transcript is in the store:", color), "  agentclash replay get "+view.ShortID(row.TrialID))
}
