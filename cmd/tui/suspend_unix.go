//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// toStop is how long a process takes to stop at most.
const toStop = 100 * time.Millisecond

// stopHere stops the process and what was started with it, and returns when it goes
// on. Nothing stops where nobody could have it go on, as without a shell.
func stopHere() {
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return
	}
	select {
	case <-on:
	case <-time.After(toStop):
	}
}

// resuming tells the program whenever the process goes on after it was stopped,
// whoever stopped it.
func resuming(program *tea.Program) (stop func()) {
	on, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(on, syscall.SIGCONT)
	go func() {
		for {
			select {
			case <-on:
				program.Send(resumed{})
			case <-over:
				return
			}
		}
	}()
	return func() { signal.Stop(on); close(over) }
}
