// Package provider is the port to models: one call to one model, its reply,
// its usage and its errors in one taxonomy.
//
// Decided here: what a call and a failure mean ([Client], [Error]), what an
// HTTP failure is called ([Classify]), what a client may be asked beside calls
// ([Lister], [Checker]), when a call is made again and how long one waits first
// ([Retry]), how long a stream may be silent ([Idle]), and which provider a
// model's name means ([ParseModel]).
//
// Not decided here: any vendor's wire format, where keys come from, and what a
// failed call does to a trial. Adapters live in the rooms below, import this one
// and wire alone, and are met only in cmd's wiring. The suite of the port is in
// providertest; vendortest adds the scenarios of the wire.
package provider
