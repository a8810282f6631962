// Package tool holds the tools an agent may use: which of them a pack's policy
// lets it see, how its arguments are checked, and what each one does to a box.
//
// It decides what the model is told. An agent's mistake is a result the model
// can read; only a box that is gone is an error.
package tool
