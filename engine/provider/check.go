package provider

// Checker is a Client that can say, before any call is made, that its vendor
// does not have what a deployment sets.
type Checker interface {
	// Check returns an error that names the setting and what to do.
	Check(s Sampling) error
}
