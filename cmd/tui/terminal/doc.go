// Package terminal has a terminal shown what a model draws, and gives it back.
//
// It decides what a screen does with the terminal and nothing of what is on it: that it
// has the whole of it while it is shown, and that the terminal is in the mode in which
// it was whenever it is not: after ctrl+z, until the process goes on, and at the end,
// whatever brings that about.
package terminal
