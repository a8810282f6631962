// Package cmd is the front door: one file for each noun and verb, their flags,
// the wiring of adapters, and the exit status.
//
// It is the only room that reads the environment. It decides nothing about
// packs, trials, scores or verdicts: it asks the rooms that do, and hands what
// they say to a view.
package cmd
