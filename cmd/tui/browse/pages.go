package browse

import (
	"context"
	"strconv"
	"time"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// runsPage lists the runs; the selected one is told of beside them.
func (m *model) runsPage() *page {
	src := m.o.Source
	runs := newList(list[Run]{
		noun: "runs", fields: RunFields(), read: src.Runs, columns: runColumns,
		cells: func(r Run, width int) []view.Cell { return runCells(r, width, m.now) },
		id:    func(r Run) string { return r.RunID }, called: func(r Run) string { return r.Name },
		none: []string{"There are no runs yet. To make two that can be compared, without a key:", "", "  agentclash quickstart", "", "then r reads again."},
	})
	selected := func() (Run, bool) { return runs.selected() }
	details := newText(text{label: "details", none: "no run is selected", read: src.Details, of: func() string {
		r, _ := selected()
		return r.RunID
	}})
	p := &page{crumb: "runs", panes: []pane{runs, details}, side: 1, hints: []string{"enter open", "/ search", "c compare", "b baseline", "a artifacts", "o report"}}
	p.selected = selected
	p.enter = func() {
		if r, ok := selected(); ok {
			m.push(m.runPage(r))
		}
	}
	return p
}

// narrow is the width below which a list of runs says less.
const narrow = 60

func runColumns(width int) []view.Column {
	right := func(title string) view.Column { return view.Column{Title: title, Right: true, Keep: true} }
	spare := func(c view.Column) view.Column { c.Spare = true; return c }
	columns := []view.Column{{Title: "PACK"}, {Title: "STATUS", Keep: true}, right("PASS"), right("FAIL"), right("INV"),
		spare(view.Column{Title: "WHEN", Keep: true}), spare(right("SPENT")), spare(right("AGENTS")), spare(view.Column{Title: "NAME"})}
	if width < narrow {
		return columns
	}
	return append([]view.Column{{Title: "RUN", Keep: true}}, columns...)
}

func runCells(r Run, width int, now time.Time) []view.Cell {
	cells := []view.Cell{view.Text(r.Pack.String()), view.Status(r.Status), count(r.Passed, view.Good), count(r.Failed, view.Bad), count(r.Invalid, view.Waiting),
		view.Text(view.Age(r.CreatedAt, now)), view.Text(view.USD(r.SpentUSD)), view.Text(strconv.Itoa(len(r.Agents))), view.Text(r.Name)}
	if width < narrow {
		return cells
	}
	return append([]view.Cell{view.Text(view.ShortID(r.RunID))}, cells...)
}

func count(n int, style view.Style) view.Cell {
	if n == 0 {
		style = view.Faint
	}
	return view.Cell{Text: strconv.Itoa(n), Style: style}
}

// runPage is the scorecard of a run, and its trials.
func (m *model) runPage(r Run) *page {
	src := m.o.Source
	cards := newText(text{label: "scorecard", read: src.Scorecards, of: func() string { return r.RunID }})
	trials := newList(list[Trial]{
		noun: "trials", fields: widget.TrialFields(), columns: trialColumns(len(r.Agents)),
		read: func(ctx context.Context, words []widget.Word, limit, offset int) (Listed[Trial], error) {
			return src.Trials(ctx, r.RunID, words, limit, offset)
		},
		cells: func(t Trial, _ int) []view.Cell { return trialCells(t, len(r.Agents)) },
		id:    func(t Trial) string { return t.ID },
		none:  []string{"The run has no trials."},
	})
	p := &page{crumb: r.Name + " " + view.ShortID(r.RunID), panes: []pane{cards, trials}, side: 1, run: &r,
		hints: []string{"enter trial", "/ search", "c compare", "b baseline", "a artifacts", "o report"}}
	if m.width >= beside {
		p.focus = 1
	}
	p.selected = func() (Run, bool) { return r, true }
	p.enter = func() {
		if p.focus == 0 {
			p.to(1)
		} else if t, ok := trials.selected(); ok {
			m.push(m.trialPage(r, t))
		}
	}
	return p
}

func trialColumns(agents int) func(int) []view.Column {
	return func(int) []view.Column {
		columns := []view.Column{{Title: "CASE"}, {Title: "OUTCOME", Keep: true}, {Title: "SCORE", Right: true, Keep: true}}
		if agents > 1 {
			columns = append(columns, view.Column{Title: "AGENT"})
		}
		return append(columns, view.Column{Title: "CODE", Spare: true})
	}
}

func trialCells(t Trial, agents int) []view.Cell {
	code := t.Code
	if t.Phase != "" {
		code += " in " + t.Phase
	}
	cells := []view.Cell{view.Text(t.name()), view.Status(t.Status), view.Text(view.Score(t.Score))}
	if agents > 1 {
		cells = append(cells, view.Text(t.Agent))
	}
	return append(cells, view.Text(code))
}

func (t Trial) name() string {
	name := t.CaseKey + "#" + strconv.Itoa(t.Repetition)
	if t.Attempt > 1 {
		name += " attempt " + strconv.Itoa(t.Attempt)
	}
	return name
}

// trialPage is what scoring says of a trial, its transcript and its files.
func (m *model) trialPage(r Run, t Trial) *page {
	src := m.o.Source
	of := func() string { return t.ID }
	p := &page{crumb: t.name() + " " + t.Agent, side: 1, run: &r, hints: []string{"/ search", "n N next"}}
	p.panes = []pane{
		newText(text{label: "verdict", read: src.Verdict, of: of}),
		newTranscript(func(ctx context.Context, after int64) (Facts, error) { return src.Facts(ctx, t.ID, after) }),
		newText(text{label: "files", read: src.Files, of: of}),
	}
	p.selected = func() (Run, bool) { return r, true }
	p.enter = func() { p.to(1) }
	return p
}

// comparePage holds a run against another, or with a base of nil against the baseline
// of its pack.
func (m *model) comparePage(r Run, base *Run) *page {
	id, against := "", "baseline"
	if base != nil {
		id, against = base.RunID, base.Name
	}
	src := m.o.Source
	p := &page{crumb: r.Name + " against " + against, against: true, run: &r, hints: []string{"/ search", "n N next", "o report"}}
	p.panes = []pane{newText(text{label: "comparison", of: func() string { return r.RunID },
		read: func(ctx context.Context, runID string) (Document, error) { return src.Compare(ctx, id, runID) }})}
	p.selected = func() (Run, bool) { return r, true }
	return p
}

// artifactsPage lists the artifacts of a run, or all.
func (m *model) artifactsPage(r *Run) *page {
	src := m.o.Source
	runID, crumb, none := "", "artifacts", []string{"There are no artifacts. To keep a file beside runs:", "", "  agentclash artifact upload FILE --type TYPE"}
	if r != nil {
		runID = r.RunID
		none = []string{"No artifact is kept beside this run. To keep a file there:", "", "  agentclash artifact upload FILE --type TYPE --run " + view.ShortID(runID)}
	}
	files := newList(list[Artifact]{
		noun: "artifacts",
		read: func(ctx context.Context, _ []widget.Word, limit, offset int) (Listed[Artifact], error) {
			return src.Artifacts(ctx, runID, limit, offset)
		},
		columns: artifactColumns,
		cells:   func(a Artifact, _ int) []view.Cell { return artifactCells(a, m.now) },
		id:      func(a Artifact) string { return a.ID },
		none:    none,
	})
	detail := newText(text{label: "content", none: "no artifact is selected", read: src.Artifact, of: func() string {
		a, _ := files.selected()
		return a.ID
	}})
	p := &page{crumb: crumb, panes: []pane{files, detail}, side: 1, run: r, hints: []string{"enter content", "s save"}}
	p.selected = func() (Run, bool) {
		if r == nil {
			return Run{}, false
		}
		return *r, true
	}
	p.save = files.selected
	p.enter = func() { p.to(1) }
	return p
}

func artifactColumns(int) []view.Column {
	return []view.Column{{Title: "NAME"}, {Title: "TYPE"}, {Title: "SIZE", Right: true, Keep: true}, {Title: "VISIBLE", Keep: true, Spare: true},
		{Title: "WHEN", Keep: true, Spare: true}, {Title: "ID", Keep: true, Spare: true}, {Title: "RUN", Keep: true, Spare: true}}
}

func artifactCells(a Artifact, now time.Time) []view.Cell {
	run := ""
	if a.RunID != "" {
		run = view.ShortID(a.RunID)
	}
	return []view.Cell{view.Text(a.Name), view.Text(a.Type), view.Text(view.Tokens(a.Size)), view.Text(a.Visibility),
		view.Text(view.Age(a.CreatedAt, now)), view.Text(view.ShortID(a.ID)), view.Text(run)}
}
