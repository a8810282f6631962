// Package convert reads what other tools have written and makes cases of it:
// tables and lists of examples, transcripts and traces of agents.
//
// It decides what of a foreign file becomes the payload of a case, what an
// expectation and what only a comment, under which key, and where in a pack's
// file the cases are put, so that all else there stays as it is. Everything that
// does not fit is said at once, with row and column. It reads bytes and writes
// bytes: it opens no file, and whether the result is a valid pack is for package
// pack to say.
package convert
