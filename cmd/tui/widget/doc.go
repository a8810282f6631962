// Package widget has the parts that screens are made of: a list with a cursor,
// the transcript of a trial, a text that is searched, a filter, a line of parts,
// a line that is written, the help of keys.
//
// Decided here: how each is laid out in so many cells and how it scrolls. Not
// decided here: what is listed, which keys there are, where facts come from, so
// that a screen of stored runs has the same parts as the live one. Nothing here
// knows a terminal or a clock. What models and tools said is cleaned here.
package widget
