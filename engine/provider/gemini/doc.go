// Package gemini speaks Google's Gemini API (streamGenerateContent).
//
// Decided here: the wire format in both directions, what of a JSON Schema the
// vendor understands, what of a stream is a whole reply, and which settings the
// vendor does not have. Thought signatures go back to the vendor with the next
// request, as they must, and are shown to nobody.
//
// The vendor's SDK is not linked: its types alone bring gRPC and protobuf, which
// add 14 MB to the program and a quarter to its start. Tests hold what is sent
// and what is read against the SDK's types, so that it stays the same wire.
//
// Not decided here: retries, where keys come from, and what a failure is called
// (provider.Classify). Calls always stream. Images are out of scope, and so is
// Vertex AI.
package gemini
