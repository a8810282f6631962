// Package browser holds the command ui: what is stored, read for the screen of
// cmd/tui/browse by the functions that the other commands use.
package browser
