// Package providertest is the contract of provider.Client as a test suite.
//
// It decides what every adapter owes its caller: pieces in order, the whole
// reply, usage or none, durations, cancellation with its cause, and failures in
// the one taxonomy. What a vendor's wire looks like is the adapter's own tests'
// business: a [Subject] turns the suite's neutral [Reply] into it.
package providertest
