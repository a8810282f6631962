// Package stats holds the statistics by which two sides are told apart and by
// which a test of a release may stop early.
//
// Decided here: what an interval, a p-value, a size of an experiment and a
// sequential decision are, each under the name that readers see in the output.
// Not decided here: which cases are compared, which of these methods a gate
// asks for, and what a verdict follows from it (package compare), or when a
// trial runs.
//
// Everything is a pure function of plain values. What draws random numbers
// takes a seed and gives the same answer for it on every machine. Work and
// memory are bounded whatever the size of the input: exact enumeration where
// it is small, a stated number of draws where it is not, and the method's name
// says which.
//
// Pass rates are of valid trials only: what was invalid must not be handed in.
// Distributions and quantiles are gonum's.
package stats
