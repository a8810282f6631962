// Package endpoint calls an agent that is an HTTP endpoint: it is given a case and
// answers.
//
// Decided here: what is sent, what an answer may look like, and how much of it is
// read. A call is one try, as with every provider; [provider.Retry] makes it again.
package endpoint
