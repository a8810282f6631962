// Package contract says what the program promises to other programs: its commands,
// statuses and codes, as a document, as pages and as completions.
package contract
