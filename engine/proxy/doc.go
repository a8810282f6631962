// Package proxy stands between the programs in a box and the models they use.
//
// Decided here: which requests of the wire formats of OpenAI, Anthropic and
// Gemini are let through, to which address and with which key, what is changed in
// them, and what a reply says of text, tool calls and usage. A reply itself goes to
// the program as it came, but for the key, should it hold it. Only a model without a
// wire of its own (a script) is translated.
//
// Not decided here: limits and facts. A [Watch] is asked before each call and hears
// what came of it.
//
// What a program sends is hostile. A request is let through when it is one of the
// known endpoints, names a permitted model, and holds nothing but keys, content
// and tools that are on a list, so that it asks the provider for nothing but a
// reply: see [Options.Bounded] and [Options.Reach].
package proxy
