// Package shell is what stands in /bin of the built-in image: a POSIX shell and
// a handful of file commands, all of them this one program under other names.
//
// It decides which names there are and how far they go, which is as far as
// demonstrations and tests need: an option it does not know is refused, never
// ignored. The language itself is mvdan.cc/sh's business.
package shell
