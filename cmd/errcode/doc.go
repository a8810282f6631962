// Package errcode says of each code that agentclash states what it means and what
// to do: codes of errors that commands end with, of trials and runs, and of
// findings about packs. A code is a promise to scripts: it is not renamed.
//
// It decides no status and no code; a test holds its table against the source.
package errcode
