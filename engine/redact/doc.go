// Package redact takes secret values out of what was said by somebody who may
// have been told them: a server, a tool, a model.
//
// It decides which ways of writing a value down still give it away: as it is,
// escaped for JSON, for HTML and for addresses, in hexadecimal, in base32 and
// base64 (wherever in a longer text it begins), and backwards. Who is determined
// to hide a value from a reader of bytes can; a secret is for a server that the
// pack's author names.
package redact
