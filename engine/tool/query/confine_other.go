//go:build !linux

package query

// confine leaves the bounds to watch: other systems bound no process's memory.
func confine() error { return nil }
