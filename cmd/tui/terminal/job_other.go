//go:build !unix

package terminal

import (
	"context"
	"io"

	tea "github.com/charmbracelet/bubbletea"
)

// job is a process where none is stopped from a terminal.
type job struct{ end func() }

func newJob(_ context.Context, end func(), _ io.Reader, _ io.Writer) *job { return &job{end} }

func (*job) stop() {}

func (*job) attend(*tea.Program) (done func()) { return func() {} }
