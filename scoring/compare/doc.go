// Package compare decides, from stored facts alone, how a candidate did
// against a baseline and whether it may be released.
//
// It works in three steps, each a pure function of plain values. A [Snapshot]
// is one run agent's side: identities, digests, its scorecard and its results
// case by case, and never a prompt or an output. [Compare] pairs two snapshots
// by case and subtracts. [Gate] holds a [Policy] against the result and says
// pass, warn, fail or insufficient_evidence.
//
// Decided here: what makes two sides comparable, which cases count, what a
// delta is, when it has worsened, and the order in which a gate's questions
// are asked. Not decided here: how a trial or a run agent is scored (package
// scoring), how a test or an interval is worked out (package stats), which run and run agent a user meant, where snapshots come from,
// when and under which id a result is stored (package cmd), and how anything
// looks on a screen.
//
// Every score here is 0..1 and higher is better, latency and cost scores
// included, whatever direction their raw value has.
package compare
