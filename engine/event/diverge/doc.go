// Package diverge finds the first event at which two trials of a case part.
//
// Decided here: which events are what an agent did or was told, and when two of
// them are the same. Ids, dates, durations, prices and counts of tokens never
// make a difference. Not decided here: which trials are held against each other,
// and how the events look on a screen.
package diverge
