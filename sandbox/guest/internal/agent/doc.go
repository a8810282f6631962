// Command agent is the guest on its own, as small as it gets: what the product's
// binary does inside a sandbox, for tests. Beside the guest and the programs of
// the built-in image it holds a few that misbehave on purpose.
package main
