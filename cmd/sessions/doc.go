// Package sessions holds the commands that read what repetitions and groups of runs
// came to.
package sessions
