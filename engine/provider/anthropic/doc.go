// Package anthropic speaks the Messages API, on the vendor's SDK.
//
// Decided here: the wire format in both directions, where the prompt cache is
// asked for, what of a stream is a whole reply, and which settings the vendor
// does not have. Signed reasoning goes back to the vendor with the next request,
// as it must, and is shown to nobody.
//
// Not decided here: retries, where keys come from, and what a failure is called
// (provider.Classify). Calls always stream. Images are out of scope.
package anthropic
