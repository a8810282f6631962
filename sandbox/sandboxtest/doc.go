// Package sandboxtest holds the sandbox port's contract as a test suite ([Run]),
// and a predictable box in memory for the tests of those who use the port
// ([Memory]).
//
// It decides how a provider shows that it is one: each sentence of the contract
// in package sandbox has a check here. It does not decide how a provider does it, and
// leaves a provider's own promises (labels, images, clean-up after a crash) to
// that provider's tests.
//
// A box is only assumed to have a POSIX shell at /bin/sh, and of that only what
// is built in: the smallest image has neither sleep nor cat nor ls.
package sandboxtest
