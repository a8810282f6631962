// Package scoring turns the evidence of one trial into a scorecard, and the
// trials of one run agent into one.
//
// Decided here: what an evaluation spec may say ([Spec.Validate]) and what of
// it this version can score ([Spec.Unsupported]), what a reference such as
// case.expectations.answer resolves to, what each validator, metric, dimension
// and strategy is worth, what a pack's security block finds in what was said
// ([Scorer.WithSecurity]), whose fault a missing score is, and whether a trial
// passed, failed or cannot be judged.
//
// Not decided here: what happened. [Evidence] is handed in, folded from stored
// events elsewhere, and everything in this room is a pure function of it: no
// clock, no file, no network, no command, no model. The same spec, the same
// prices and the same evidence give the same scorecard, today or in a year.
//
// The way in is [Compile], which checks a spec and prepares it once, then
// [Scorer.Score] for each trial, [Scorer.Decide] for its outcome and an
// [Aggregator] for the run agent. What the format has stands in tables:
// validator types (registry.go), collectors (metric.go), dimension sources
// (dimension.go), signals (signal.go) and judge modes. A row without a function
// is checked and cannot be scored; giving it one is all that it takes.
//
// What is an algorithm on plain values has a room of its own below, which knows
// of no spec, evidence or result: mathexpr, similarity, textnorm, jsondoc and
// encodings.
//
// Nothing here needs the rest of the program: another one can import this
// package, fill in a [Spec] (it has the JSON of a pack's evaluation_spec) and
// the [Evidence] of a trial, and read the verdict, as in the example.
//
// Texts in specs, cases and evidence are hostile: sizes are bounded, nothing
// panics, and what is kept in a result is cut to a few KiB.
package scoring
