// Package runs holds the commands that read what runs have left in the store: what
// happened, who ranks where, what went where and why.
package runs
