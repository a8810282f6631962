// Package timebox bounds work by a time that can be stopped while the work
// waits for something that is not its own doing.
package timebox
