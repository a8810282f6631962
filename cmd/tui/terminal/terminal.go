package terminal

import (
	"context"
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	_ "github.com/agentclash/agentclash/cmd/tui/quiet" // before Bubble Tea is initialised
)

// Show shows a model until it quits or ctx is done, painted so many times a second at
// most, and leaves the terminal as it was. Signals that are to end it are the caller's,
// by ctx; ctrl+c is a key. Ctrl+z is not: it stops the process, and what is shown is
// painted anew when that goes on. SIGQUIT ends the process as it does without a screen.
// A process that is told to end while a shell has the terminal shows nothing any more.
func Show(ctx context.Context, m tea.Model, in io.Reader, out io.Writer, framesPerSecond int) (tea.Model, error) {
	within, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	ending, end := context.WithCancel(within)
	defer end()
	var program *tea.Program
	j := newJob(ending, func() {
		end()
		go program.Quit() // which waits for whoever reads keys
		time.AfterFunc(time.Second, cut)
	}, in, out)
	program = tea.NewProgram(m,
		tea.WithContext(within), tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen(), tea.WithFPS(framesPerSecond),
		tea.WithoutSignalHandler(),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			if key, is := msg.(tea.KeyMsg); is && key.Type == tea.KeyCtrlZ {
				return meanwhile(j.stop)
			}
			return msg
		}),
	)
	defer context.AfterFunc(ctx, j.end)()
	defer j.attend(program)()
	last, err := program.Run()
	if ending.Err() != nil && ctx.Err() == nil {
		return last, nil
	}
	return last, err
}

// meanwhile is a message that has something done while the terminal is not the
// screen's. Then all is painted anew: what others have left on the terminal, and the
// mode in which they left it, is theirs.
func meanwhile(do func()) tea.Msg { return tea.Exec(away(do), nil)() }

// away asks nothing of the terminal.
type away func()

func (do away) Run() error       { do(); return nil }
func (away) SetStdin(io.Reader)  {}
func (away) SetStdout(io.Writer) {}
func (away) SetStderr(io.Writer) {}
