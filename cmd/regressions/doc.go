// Package regressions holds the commands that review failures and keep regression cases
// in the repository.
package regressions
