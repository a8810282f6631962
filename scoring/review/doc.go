// Package review says what went wrong in a trial that failed or was invalid, in
// words that are the same for every trial of its kind, and brings equal failures
// of several trials and runs together.
//
// It reads results and facts that are there already. It scores nothing, and
// whether a trial failed was decided before it is asked.
package review
