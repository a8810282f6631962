// Package e2btest is E2B on loopback, for the tests of those who speak to it:
// the control plane and the daemon of each machine, in E2B's own wire format,
// with machines that really run programs.
//
// It decides how E2B behaves where a test looks: what it refuses, what it
// answers, and what goes wrong when a test plans that. It reads requests
// strictly, so that a field, a header or a procedure that E2B does not have is
// an error here. It is no measure of E2B itself: what is not in the published
// client is not here either.
//
// A machine is a directory with the host's programs mounted read-only, and a
// process and mount namespace on it. That takes root, Linux, and the programs
// unshare and nsenter; see [Need].
package e2btest
