// Package tui is the live screen of a run: a sink with a face.
//
// It decides what a person sees while trials run and which keys do what. It
// computes no score and opens nothing: facts come in through Emit, the
// terminal's two ends and the clock are handed in, and what a key asks of the
// engine is a callback. A run goes on without it when it fails or is left.
//
// [State] is a plain fold of facts and [Draw] a pure function of it; only
// [Screen] knows there is a terminal.
package tui
