// Package encodings writes a short text in the ways that still give it away.
//
// Decided here: which ways these are ([Of]): as it is, escaped for JSON, for
// HTML and for addresses, in hexadecimal and octal, in base32 and base64 (wherever
// in a longer text it begins), and backwards; and which of them stay what they are
// when their lines are broken or their bytes set apart ([Join]). Who is determined
// to hide a text from a reader of bytes can.
//
// Not decided here: what becomes of a text that holds one of them. engine/redact
// takes real secrets out of what is written down; scoring says of a planted one
// that it was given away.
package encodings
