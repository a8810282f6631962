// Package session says what several runs of one pack came to together, and what a
// run of several repetitions did: how its numbers spread, how often a case passes
// at least once and always, and whether one agent is better than the others.
//
// It takes trials one by one and keeps counts of cases and sums of repetitions, so
// that what it needs does not grow with trials. It neither reads nor stores
// anything. Its tests and intervals are those of package compare and package stats.
package session
