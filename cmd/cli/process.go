package cli

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"golang.org/x/term"
)

// Process is everything a command takes from the world. System makes the real
// one; a test makes its own and runs a whole command inside itself.
type Process struct {
	In       io.Reader
	Out, Err io.Writer
	// Dir is the working directory; relative paths of arguments start there.
	Dir    string
	Getenv func(string) string
	Now    func() time.Time
	NewID  func() string // UUIDv7
	// Terminal says whether In and Out are a person's terminal, and its size.
	Terminal func() (width, height int, ok bool)
	// ErrTerminal says whether Err is a terminal, for progress lines.
	ErrTerminal bool
	// Signals delivers Ctrl-C and termination until stop is called.
	Signals func() (c <-chan os.Signal, stop func())
	// Exit leaves at once; only a second Ctrl-C uses it, a second after the first.
	Exit func(status int)
}

// System is the process as the operating system gives it.
func System() *Process {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return &Process{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Dir: dir,
		Getenv: os.Getenv, Now: time.Now, NewID: newID,
		Terminal:    systemTerminal,
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Signals:     systemSignals,
		Exit:        os.Exit,
	}
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		panic(err) // the system has no randomness: nothing sensible can be done
	}
	return id.String()
}

func systemTerminal() (width, height int, ok bool) {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return 0, 0, false
	}
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	return width, height, err == nil && width > 0
}

func systemSignals() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}
