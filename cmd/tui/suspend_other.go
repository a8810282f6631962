//go:build !unix

package tui

import tea "github.com/charmbracelet/bubbletea"

// stopHere does nothing where processes are not stopped from a terminal.
func stopHere() {}

func resuming(*tea.Program) (stop func()) { return func() {} }
