// Package gemini speaks Google's Gemini API (streamGenerateContent), in the
// types of the vendor's SDK.
//
// Decided here: the wire format in both directions, what of a JSON Schema the
// vendor understands, what of a stream is a whole reply, and which settings the
// vendor does not have. Thought signatures go back to the vendor with the next
// request, as they must, and are shown to nobody.
//
// The SDK's client is not used: it reads the environment, writes to the standard
// log, and reads streams without a bound. The address, the key's header and the
// stream are package wire's.
//
// Not decided here: retries, where keys come from, and what a failure is called
// (provider.Classify). Calls always stream. Images are out of scope, and so is
// Vertex AI.
package gemini
