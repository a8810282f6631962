// Package sandbox is the port to the place an agent works in: a box with a
// workspace, and what may be done to it.
//
// It decides the words (paths, limits, errors) that every provider shares. The
// providers are the rooms below; sandboxtest holds the contract as a suite.
package sandbox
