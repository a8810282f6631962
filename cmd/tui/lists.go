package tui

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/cmd/view"
)

// section is one list of the screen.
type section struct {
	focus   Focus
	entries int
	height  int // lines, with its heading; 0 is not shown
	table   func(from, to int) view.Table
}

// layout shares the lines of the body among the lists.
func layout(s State, f Frame) (sections []section, gap bool) {
	sections = []section{lanes(s), running(s, f.Now), problems(s)}
	return sections, share(sections, f.Focus, f.body())
}

// lists draws the lists that there is room for.
func lists(s State, f Frame) []string {
	sections, gap := layout(s, f)
	var lines []string
	for _, sec := range sections {
		if sec.height == 0 {
			continue
		}
		if gap {
			lines = append(lines, "")
		}
		lines = append(lines, sec.draw(f)...)
	}
	return lines
}

// minSection is a heading and one entry.
const minSection = 2

// full is the height that shows every entry.
func (sec section) full() int { return sec.entries + 1 }

// share gives each list its lines and reports whether there is room for an
// empty one above each. When not even their shortest forms fit, the running
// trials go first and the lanes next, because what went wrong is what a person
// looks for; the list that has the focus stays. What is left goes to the focus
// and then to the shortest.
func share(sections []section, focus Focus, height int) (gap bool) {
	left, shown := height, 0
	for i := range sections {
		if sections[i].entries > 0 {
			sections[i].height = minSection
			left -= minSection
			shown++
		}
	}
	for _, victim := range []Focus{RunningTrials, Lanes, Problems} {
		for i := range sections {
			if left < 0 && sections[i].focus == victim && victim != focus && sections[i].height > 0 {
				sections[i].height = 0
				left += minSection
				shown--
			}
		}
	}
	if left < 0 {
		for i := range sections {
			sections[i].height = min(sections[i].height, max(0, height))
		}
		return false
	}
	if gap = height >= 4*shown; gap {
		left -= shown
	}
	for ; left > 0; left-- {
		i := neediest(sections, focus)
		if i < 0 {
			break
		}
		sections[i].height++
	}
	return gap
}

// neediest is the list to give the next line to, or -1 when all are full.
func neediest(sections []section, focus Focus) int {
	best := -1
	for i, sec := range sections {
		if sec.height == 0 || sec.height >= sec.full() {
			continue
		}
		if sec.focus == focus {
			return i
		}
		if best < 0 || sec.height < sections[best].height {
			best = i
		}
	}
	return best
}

// scrolls says whether the list is the one that scrolls.
func (sec section) scrolls(f Frame) bool {
	return sec.focus == f.Focus || f.Focus == Balanced && sec.focus == Problems
}

// room is how many entries the list shows.
func (sec section) room() int { return max(1, sec.height-1) }

// maxScroll is how far the list that scrolls can be scrolled.
func maxScroll(s State, f Frame) int {
	sections, _ := layout(s, f)
	for _, sec := range sections {
		if sec.scrolls(f) {
			return max(0, sec.entries-sec.room())
		}
	}
	return 0
}

// wide is the width from which on headings say what part of a list is shown.
const wide = 60

// draw writes the heading and as many entries as there is room for. The
// heading says which ones when they are not all.
func (sec section) draw(f Frame) []string {
	from := 0
	if sec.scrolls(f) {
		from = max(0, min(f.Scroll, sec.entries-sec.room()))
	}
	to := min(sec.entries, from+sec.room())
	t := sec.table(from, to)
	if sec.focus == f.Focus {
		t.Columns[0].Title = "▸ " + t.Columns[0].Title
	}
	if to-from < sec.entries && f.Width >= wide {
		t.Columns[0].Title += fmt.Sprintf(" %d-%d of %d", from+1, to, sec.entries)
	}
	var b bytes.Buffer
	_ = t.Write(&b, view.Options{Color: f.Color, Width: f.Width}) // a buffer takes everything
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	return lines[:min(len(lines), sec.height)]
}

func lanes(s State) section {
	return section{focus: Lanes, entries: len(s.Lanes), table: func(from, to int) view.Table {
		t := view.Table{Columns: []view.Column{
			{Title: "AGENT"}, {Title: "DONE", Right: true, Keep: true}, {Title: "PASSED", Right: true, Keep: true},
			{Title: "FAILED", Right: true, Keep: true}, {Title: "INVALID", Right: true, Keep: true}, {Title: "NOW", Spare: true},
		}}
		for i := from; i < to; i++ {
			l := s.Lanes[i]
			done := strconv.Itoa(l.Done())
			if s.PerLane > 0 {
				done += "/" + strconv.Itoa(s.PerLane)
			}
			t.Add(view.Text(l.Label), view.Text(done), counted(l.Passed, view.Good), counted(l.Failed, view.Bad),
				counted(l.Invalid, view.Waiting), view.Text(now(s.Running, i)))
		}
		return t
	}}
}

func counted(n int, style view.Style) view.Cell {
	if n == 0 {
		style = view.Faint
	}
	return view.Cell{Text: strconv.Itoa(n), Style: style}
}

// now is what a lane does: its longest running trial, and how many more.
func now(trials []Running, lane int) string {
	text, more := "", 0
	for _, r := range trials {
		switch {
		case r.Lane != lane:
		case text == "":
			text = r.Name + " " + r.Doing
		default:
			more++
		}
	}
	if more > 0 {
		text += " +" + strconv.Itoa(more)
	}
	return text
}

func running(s State, at time.Time) section {
	return section{focus: RunningTrials, entries: len(s.Running), table: func(from, to int) view.Table {
		t := view.Table{Columns: []view.Column{
			{Title: "RUNNING"}, {Title: "AGENT"}, {Title: "STEP", Right: true, Keep: true}, {Title: "NOW", Min: len(writing)},
			{Title: "FOR", Right: true, Keep: true}, {Title: "TOTAL", Right: true, Keep: true, Spare: true}, {Title: "LAST TOOL", Spare: true},
		}}
		for _, r := range s.Running[from:to] {
			name := r.Name
			if r.Attempt > 1 {
				name += " attempt " + strconv.Itoa(r.Attempt)
			}
			label, step := "", ""
			if r.Lane >= 0 && r.Lane < len(s.Lanes) {
				label = s.Lanes[r.Lane].Label
			}
			if r.Step > 0 {
				step = strconv.Itoa(r.Step)
			}
			t.Add(view.Text(name), view.Text(label), view.Text(step), view.Cell{Text: r.Doing, Style: view.Busy},
				view.Text(clock(at.Sub(r.Since))), view.Text(clock(at.Sub(r.StartedAt))), view.Text(r.LastTool))
		}
		return t
	}}
}

// problems are shown the newest first.
func problems(s State) section {
	return section{focus: Problems, entries: len(s.Problems), table: func(from, to int) view.Table {
		t := view.Table{Columns: []view.Column{{Title: "NOT PASSED"}, {Title: "AGENT", Spare: true}, {Title: "OUTCOME", Keep: true}, {Title: "WHY"}}}
		for i := from; i < to; i++ {
			p := s.Problems[len(s.Problems)-1-i]
			t.Add(view.Text(p.Name), view.Text(p.Lane), view.Cell{Text: p.Outcome, Style: outcomeStyle(p.Outcome)}, view.Text(why(p)))
		}
		return t
	}}
}

func outcomeStyle(outcome string) view.Style {
	if outcome == retried {
		return view.Faint
	}
	return view.StatusStyle(outcome)
}

// why is the code, the phase and the reason of a problem, as far as known.
func why(p Problem) string {
	text := p.Code
	if text != "" && p.Phase != "" {
		text += " in " + p.Phase
	}
	if text != "" && p.Reason != "" {
		text += ": "
	}
	return text + p.Reason
}
