// Package sequential is the test by which a run stops as soon as its evidence
// decides: which method it is, what it is made of, in which order trials are
// planned, and how their outcomes are folded into a decision.
//
// A [Test] is made before the first trial and kept with the run's plan. It has all
// that it needs of the baseline, so that a run that is resumed goes on with the
// same test whatever has become of the baseline. A [Fold] takes outcomes in
// whichever order trials end, and counts them in the order in which they were
// planned.
//
// Not decided here: which cases are alike on both sides and what a gate makes of
// a decision (package compare), when a trial runs (package engine), and the
// statistics themselves (package stats).
package sequential
