// Package sandboxes opens the sandboxes of an evaluation, removes what dead ones left,
// and holds the commands for both. Providers of sandboxes are met in its wire.go.
package sandboxes
