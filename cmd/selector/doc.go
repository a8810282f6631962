// Package selector finds what an argument names: a pack by path, slug or id, a run by
// name, latest or the tail of its id.
package selector
