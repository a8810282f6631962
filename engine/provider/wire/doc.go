// Package wire is what the adapters that speak HTTP have in common.
//
// Decided here: how a base URL may look, what of a server's answer is read and
// how much of it ([Limits], [Call]), what is sent beside the body, which
// redirects are followed, what a broken transport is called, that no key is
// repeated in an error, how an event stream is cut into events ([Events]), and
// what of a reply's pieces is a whole reply ([Reply]).
//
// Not decided here: any vendor's format, and retries.
package wire
