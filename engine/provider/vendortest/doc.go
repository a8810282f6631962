// Package vendortest has loopback servers that speak each vendor's wire format,
// good and bad, and the scenarios that every adapter is put through against
// them. It decides what a vendor would send, and which outcome each scenario
// must have. It is for tests only.
package vendortest
