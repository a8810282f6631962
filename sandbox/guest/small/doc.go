// Command small is the guest on its own, as small as it gets: what the
// product's binary does inside a sandbox, for products that are built for
// another system than the sandbox's.
package main
