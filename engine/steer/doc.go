// Package steer holds what of a run can be changed while it goes on: how many
// trials run at once, whether another begins, and which are still to come.
//
// It counts and waits. What a trial is, and what is stated about a change, is
// decided by the engine.
package steer
