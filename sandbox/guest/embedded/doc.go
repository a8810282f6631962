// Package embedded carries the guests for Linux inside a product that is built
// for another system, or for an engine of another architecture. Builds with the
// tag embed_guests have them, after `make guests` has made them; others have
// none.
package embedded
