// Package redact takes secret values out of what was said by somebody who may
// have been told them: a server, a tool, a model. A value is gone in every way of
// writing it that scoring/encodings knows.
//
// It decides where in a text or a JSON document a value is looked for, and what
// stands there afterwards. Who is determined to hide a value from a reader of
// bytes can; a secret is for a server that the pack's author names.
package redact
