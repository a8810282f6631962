package tui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"
)

// Controls steer a run that goes on. What comes of them is stated as facts. They
// may take their time: the screen calls them one after the other, from goroutines
// of its own.
type Controls interface {
	// Pause says whether trials are not to begin for now.
	Pause(paused bool)
	// SetConcurrency says how many trials may run at once, 1 at least.
	SetConcurrency(n int)
	// CancelTrial ends a trial that runs.
	CancelTrial(trialID string) error
	// RetryInvalid runs trials again that ended invalid and says how many.
	RetryInvalid() (int, error)
}

// wish is what has been asked of a run and may not have been stated yet, so that a
// key that is hit twice counts twice.
type wish struct {
	paused      bool
	concurrency int
}

// ask is something to ask of the run; it returns what to tell, "" for nothing.
type ask func(ctx context.Context) string

// asked is what came of one.
type asked struct{ notice string }

// question is something to ask once a person has said yes.
type question struct {
	text string
	do   ask
	of   Row // that must still run
}

// ask has something asked after what is being asked now.
func (m model) ask(a ask) (model, tea.Cmd) {
	m.asks = append(m.asks[:len(m.asks):len(m.asks)], a)
	if len(m.asks) > 1 {
		return m, nil
	}
	return m, m.askNext()
}

func (m model) askNext() tea.Cmd {
	a := m.asks[0]
	return m.screen.guard(func() tea.Msg { return asked{a(m.ctx)} })
}

// heard goes on to what is to be asked next.
func (m model) heard(msg asked) (model, tea.Cmd) {
	m.asks = m.asks[1:]
	if msg.notice != "" {
		m.frame.Notice = clean(msg.notice)
	}
	m = m.look()
	if len(m.asks) == 0 {
		return m, nil
	}
	return m, m.askNext()
}

// wished is what the run will be like when all that was asked is done.
func (m model) wished() wish {
	if len(m.asks) == 0 {
		return wish{m.state.Paused, m.state.Concurrency}
	}
	return m.wish
}

// steer takes the keys that ask something of the run.
func (m model) steer(key string) (model, tea.Cmd) {
	c := m.screen.o.Controls
	if c == nil {
		m.frame.Notice = "this run cannot be steered from here"
		return m, nil
	}
	w := m.wished()
	switch key {
	case "p":
		w.paused = !w.paused
		m.wish = w
		return m.ask(func(context.Context) string { c.Pause(w.paused); return "" })
	case "+", "=", "-":
		if w.concurrency == 0 { // nobody knows of how many it is one more
			m.frame.Notice = "the run has not begun"
			return m, nil
		}
		by := 1
		if key == "-" {
			by = -1
		}
		w.concurrency = max(1, w.concurrency+by)
		m.wish = w
		return m.ask(func(context.Context) string { c.SetConcurrency(w.concurrency); return "" })
	case "R":
		m.wish = w
		return m.ask(func(context.Context) string { return retriedNotice(c.RetryInvalid()) })
	}
	return m.cancel(c), nil
}

func retriedNotice(n int, err error) string {
	switch {
	case err != nil:
		return "not run again: " + err.Error()
	case n == 0:
		return "no trial is invalid: there is nothing to run again"
	}
	return count(n, "invalid trial") + " will be run again"
}

// cancel asks whether the selected trial is to be cancelled.
func (m model) cancel(c Controls) model {
	row := m.frame.Selected
	if row.running == nil {
		m.frame.Notice = "the selected trial does not run: there is nothing to cancel"
		return m
	}
	whose := row.Name
	if row.Lane != "" {
		whose += " of " + row.Lane
	}
	m.question = &question{
		text: "cancel " + whose + "?", of: row,
		do: func(context.Context) string {
			if err := c.CancelTrial(row.TrialID); err != nil {
				return "not cancelled: " + err.Error()
			}
			return row.Name + " is being cancelled"
		},
	}
	m.frame.Question = m.question.text
	return m
}

// decide takes the key that answers a question; what is not a yes is a no.
func (m model) decide(key string) (model, tea.Cmd) {
	do := m.question.do
	m.question, m.frame.Question = nil, ""
	switch key {
	case "y", "Y":
		m.wish = m.wished()
		return m.ask(do)
	case "ctrl+c":
		return m.stop()
	}
	return m, nil
}

// report asks where the report is.
func (m model) report() (model, tea.Cmd) {
	where := m.screen.o.Report
	if where == nil {
		m.frame.Notice = "there is no report of this run to open yet"
		return m, nil
	}
	m.wish = m.wished()
	return m.ask(func(ctx context.Context) string {
		text, err := where(ctx)
		if err != nil {
			return fmt.Sprintf("no report: %v", err)
		}
		return "report: " + text
	})
}
