// Package filelock keeps processes of one machine from changing the same file at
// once. A lock is the system's: it is let go of when its owner ends, however it
// ends, so that none is ever left behind by kill -9.
package filelock
