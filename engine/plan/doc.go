// Package plan says what a run will do before any of it is done: which agents meet
// which cases, what each of them is given, told and permitted, by which limits and
// prices, and what makes one trial the same as another. It refuses what cannot be
// run, all of it at once.
//
// It asks no model, opens no box and keeps nothing.
package plan
