package tui

import (
	"io"

	tea "github.com/charmbracelet/bubbletea"
)

// resumed says that the process goes on after it was stopped.
type resumed struct{}

// suspend gives the terminal back and stops the process with all that belongs to it,
// as ctrl+z does of other programs; the screen is shown again when it goes on.
func suspend() tea.Cmd { return tea.Exec(away(stopHere), nil) }

// repaint shows the screen anew: what others have left on the terminal, and the mode
// in which they left it, is theirs.
func repaint() tea.Cmd { return tea.Exec(away(func() {}), nil) }

// away is what is done while the terminal is not the screen's. It asks nothing of it.
type away func()

func (do away) Run() error       { do(); return nil }
func (away) SetStdin(io.Reader)  {}
func (away) SetStdout(io.Writer) {}
func (away) SetStderr(io.Writer) {}
