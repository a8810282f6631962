package browse

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentclash/agentclash/cmd/tui/widget"
	"github.com/agentclash/agentclash/cmd/view"
)

// model is the screen as Bubble Tea sees it. Only its loop touches it: what is read
// elsewhere comes back as an answer.
type model struct {
	o             Options
	ctx           context.Context // of the screen
	pages         []*page         // the last one is shown
	width, height int
	now           time.Time
	help          bool
	helped        int    // keys that are passed over in the help
	notice        string // what came of the last key, or went wrong
	prompt        *prompt
	base          *Run // that others are compared with
	ticking       bool // it is being waited for the next look
	failed        error
	text          string // as it was drawn last
}

// answer is what came of reading something for a page.
type answer struct {
	page  *page
	took  time.Duration
	err   error
	apply func()
}

// told is what came of writing something.
type told struct{ notice string }

// look is the time to read again what may have changed.
type look struct{}

// Init reads what is shown first.
func (m *model) Init() (cmd tea.Cmd) {
	defer m.recovered(&cmd)
	cmd = m.settle()
	m.text = m.draw()
	return cmd
}

// Update takes what came from the terminal or the source. It does no I/O. A panic ends
// the screen in good order.
func (m *model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = m
	defer m.recovered(&cmd)
	m.now = m.o.Now()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		if m.prompt != nil {
			widget.Refit(&m.prompt.input, m.width)
		}
	case tea.KeyMsg:
		cmd = m.keys(msg)
	case answer:
		m.heard(msg)
	case told:
		m.notice = msg.notice
	case look:
		m.ticking = false
		if m.top().live(m.layout()) {
			m.again()
		}
	}
	if m.failed != nil {
		return m, tea.Quit
	}
	cmd = tea.Batch(cmd, m.settle())
	m.text = m.draw()
	return m, cmd
}

// recovered makes a panic the end of the screen.
func (m *model) recovered(cmd *tea.Cmd) {
	if what := recover(); what != nil {
		m.failed = failure(what)
		*cmd = tea.Quit
	}
}

func failure(what any) error { return fmt.Errorf("draw the browser: %v", what) }

// View is the screen as it was drawn with the last message, where a panic ends it.
func (m *model) View() string { return m.text }

// guard has a panic in a command end the screen and not the process.
func (m *model) guard(do func() tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if what := recover(); what != nil {
				msg = answer{apply: func() { panic(what) }}
			}
		}()
		return do()
	}
}

// ask reads something for a page. What do returns is called by the loop, with what went
// wrong, unless the page was left meanwhile.
func (m *model) ask(ctx context.Context, p *page, do func(context.Context) (apply func(error), err error)) tea.Cmd {
	now, src := m.o.Now, m.o.Source
	p.pending++
	return m.guard(func() tea.Msg {
		began := now()
		apply, err := do(ctx)
		if ctx.Err() != nil {
			return answer{page: p} // nobody waits for it
		}
		if gone := src.Here(); gone != nil { // which says more than what was found in its place
			err = gone
		}
		return answer{page: p, took: now().Sub(began), err: err, apply: func() { apply(err) }}
	})
}

// heard takes an answer, unless nobody waits for it any more.
func (m *model) heard(a answer) {
	if a.page != nil {
		a.page.pending--
		a.page.took = max(a.page.took, a.took)
		if !slices.Contains(m.pages, a.page) {
			return
		}
	}
	if a.apply != nil {
		a.apply()
	}
	if a.err != nil && a.page == m.top() {
		m.notice = view.SanitizeLine(a.err.Error()) + " · r reads again"
	}
}

// tell does something that is not for a page, and says what came of it.
func (m *model) tell(do func(context.Context) string) tea.Cmd {
	ctx := m.ctx
	return m.guard(func() tea.Msg { return told{view.SanitizeLine(do(ctx))} })
}

func (m *model) top() *page { return m.pages[len(m.pages)-1] }

// push goes into a page.
func (m *model) push(p *page) {
	p.ctx, p.leave = context.WithCancel(m.ctx)
	m.pages = append(m.pages, p)
}

// pop leaves a page, and with it what is being read for it.
func (m *model) pop() {
	if last := len(m.pages) - 1; last > 0 {
		m.pages[last].leave()
		m.pages = slices.Delete(m.pages, last, last+1) // which lets go of it
	}
}

// again has all that is shown read again.
func (m *model) again() {
	for _, s := range m.layout() {
		s.pane.again()
	}
}

const (
	// lookEvery is how often what may change is read again.
	lookEvery = time.Second
	// lookShare is how many times as long as reading took it is left alone: reading a
	// run that is large takes no more than a tenth of the time.
	lookShare = 10
)

// settle has read what is shown and has not been read, and waits for the next look
// while something goes on.
func (m *model) settle() tea.Cmd {
	if m.failed != nil {
		return tea.Quit
	}
	p := m.top()
	shown := m.layout()
	var all []tea.Cmd
	for _, s := range shown {
		all = append(all, s.pane.need(m, p, s.box))
	}
	if !m.ticking && p.pending == 0 && p.live(shown) {
		m.ticking = true
		wait := max(lookEvery, lookShare*p.took)
		p.took = 0
		all = append(all, tea.Tick(wait, func(time.Time) tea.Msg { return look{} }))
	}
	return tea.Batch(all...)
}
