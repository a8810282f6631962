// Package event holds every kind of fact a run can state, its JSON, the sinks
// that receive facts, and the one fold from stored events to evidence.
//
// It decides what is written down. It stores nothing, prints nothing and runs
// nothing; live scoring, replay and rescoring read the same events through the
// same fold.
package event
