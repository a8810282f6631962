// Package ci decides what a continuous integration job does: what a manifest
// says, whether a change wants an evaluation, what of a job's environment is
// believed, which status a verdict ends with, and what may be written on the
// default branch. Its documents are those that `agentclash ci` prints and keeps.
//
// It opens no file and no store and runs no program: cmd hands in what was read,
// and cmd/ci/git asks git.
package ci
