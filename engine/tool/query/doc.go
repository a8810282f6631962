// Package query asks jq programs and SQL of files that came out of a sandbox.
//
// Both the question and the file are a stranger's, and either can ask for any
// amount of memory in one step. So the answer is worked out by a process of its
// own, this same binary started as [Subcommand], that is given no environment,
// writes no file, and has bounds of memory and time it cannot leave: whatever
// becomes of it, the run goes on.
package query
