// Package budget decides whether a model call may be made: it knows the most
// that a call can use, sets that aside before the call, and counts what the
// call used in its place afterwards. So no limit is ever passed.
//
// There are two kinds of limits. A trial's own, and those of its judges, are
// [Limits], which one goroutine counts against. The budget of a run is a
// [Purse], which all of the run's calls reserve from at once.
package budget
