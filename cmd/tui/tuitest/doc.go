// Package tuitest is what the tests of screens share: what is kept of pictures, whether
// a page names every key, and a terminal.
package tuitest
