//go:build unix

package terminal

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/sys/unix"
)

// job is the process as a shell has it: stopped, gone on with, and given the terminal
// or not.
type job struct {
	ctx   context.Context // of the screen
	leave func()          // ends it
	tty   *os.File        // nil: there is no terminal
	keep  keeper
	turn  sync.Mutex // of whoever waits for the terminal
}

func newJob(ctx context.Context, leave func(), in io.Reader, out io.Writer) *job {
	tty, _ := in.(*os.File)
	return &job{ctx: ctx, leave: leave, tty: tty, keep: keep(in, out)}
}

// soon is how long a process takes at most to stop, and to hear of a signal.
const soon = 100 * time.Millisecond

// stop stops the process and what was started with it, as ctrl+z does of other
// programs, and returns when it goes on and the terminal may be changed.
func (j *job) stop() {
	j.keep.say("away")
	stopHere()
	j.regain()
	j.keep.say("shown")
}

// regain returns when the terminal may be changed. A shell lets one job at a time do
// that and stops others that try, also one that was only to end: until it is this
// one's turn the process stops again, unless the screen is to end.
func (j *job) regain() {
	j.turn.Lock()
	defer j.turn.Unlock()
	for !j.ours() {
		select {
		case <-j.ctx.Done():
			return
		case <-time.After(soon):
		}
		if !stopHere() {
			return
		}
	}
}

// ours says whether the process may change the terminal.
func (j *job) ours() bool {
	if j.tty == nil {
		return true
	}
	group, err := unix.IoctlGetInt(int(j.tty.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// end ends the screen. A process without the terminal is not stopped for giving it back.
func (j *job) end() {
	if !j.ours() {
		signal.Ignore(syscall.SIGTTOU)
	}
	j.leave()
}

// stopHere stops the process and what was started with it, and returns when it goes
// on. Nothing stops where nobody could have it go on, as without a shell.
func stopHere() (stopped bool) {
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	if syscall.Kill(0, syscall.SIGTSTP) != nil {
		return false
	}
	for range 2 { // the first wait is over, too, when the process goes on after a while
		select {
		case <-on:
			return true
		case <-time.After(soon):
		}
	}
	return false
}

// attend paints the screen anew whenever the process goes on after it was stopped,
// whoever stopped it, and gives the terminal back before SIGQUIT ends the process. What
// is told to end while it does not have the terminal ends the screen first.
func (j *job) attend(program *tea.Program) (done func()) {
	on, told, quit, over := make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(on, syscall.SIGCONT)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(quit, syscall.SIGQUIT)
	go func() {
		for {
			select {
			case <-on:
				j.regain()
				program.Send(meanwhile(func() {}))
			case <-over:
				return
			}
		}
	}()
	go func() {
		for {
			select {
			case <-told:
				if !j.ours() {
					j.end()
				}
			case <-quit:
				j.dump(program)
			case <-over:
				return
			}
		}
	}()
	return func() {
		signal.Stop(on)
		signal.Stop(told)
		signal.Stop(quit)
		close(over)
		j.keep.over()
	}
}

// dump ends the process with what each goroutine does, as SIGQUIT is to, on a terminal
// that can be read. A screen that does nothing any more is not waited for.
func (j *job) dump(program *tea.Program) {
	if j.ours() && !within(time.Second, func(done func()) {
		program.Send(meanwhile(func() { j.keep.say("away"); done(); select {} }))
	}) {
		within(time.Second, func(done func()) { _ = program.ReleaseTerminal(); j.keep.say("away"); done() })
	}
	signal.Reset(syscall.SIGQUIT)
	_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
}

// within has something done and says whether that was so in time.
func within(most time.Duration, do func(done func())) bool {
	over := make(chan struct{})
	go do(func() { close(over) })
	select {
	case <-over:
		return true
	case <-time.After(most):
		return false
	}
}
