// Package openaitest is a loopback server that speaks chat completions as they
// are on the wire, good and bad: streamed chunks, error documents, cut
// connections, silence, one byte at a time.
//
// It decides what a vendor would send and nothing about what is made of it. It
// is for tests only: those of the adapter, and those of whole runs that need a
// model server on loopback.
package openaitest
