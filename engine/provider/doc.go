// Package provider is the port to models: one call to one model, its reply,
// its usage and its errors in one taxonomy.
//
// Decided here: what a call and a failure mean ([Client], [Error]), what an
// HTTP failure is called ([Classify]), when a call is made again and how long
// one waits first ([Retry]), how long a stream may be silent ([Idle]), and
// which provider a model's name means ([ParseModel]).
//
// Not decided here: any vendor's wire format, where keys come from, and what a
// failed call does to a trial. Adapters live in the rooms below, import this
// one alone, and are met only in cmd's wiring. The suite every adapter passes
// is in providertest.
package provider
