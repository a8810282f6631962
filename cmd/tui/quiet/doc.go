// Package quiet keeps the rendering libraries from talking to the terminal
// when the program starts.
//
// Bubble Tea asks the terminal for its background colour while packages are
// initialised, in every command, and waits up to five seconds for an answer.
// The question is not asked once an answer is set. Go initialises packages in
// the order of their import paths as far as their imports permit, and this
// path sorts before Bubble Tea's, so importing this package anywhere in the
// program is enough. Nothing here draws; colours come from the terminal's own
// sixteen, which need no background to be known.
package quiet
