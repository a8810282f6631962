// Package cli is what every command has: the process it runs in, its global flags,
// what it has opened so far, how it prints, and how it ends. It is the only room
// that reads the environment and exits.
package cli
