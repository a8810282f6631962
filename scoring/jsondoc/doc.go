// Package jsondoc reads JSON documents that nobody vouches for, finds values in
// them by a path, and compares them.
//
// Decided here: what one document is (nothing may follow it), which numbers
// are read, what a path may say ([ParsePath]), when two values are equal
// ([Equal], [EqualByValue]), when one is in another ([Contains], [Includes]), and
// how a number or a value is written as text ([PlainNumber], [Compact]).
//
// Not decided here: JSON Schema, and what a comparison is worth.
//
// A document is decoded as encoding/json does it, numbers as json.Number. Of two
// members with one name the last counts, and what is no UTF-8 becomes U+FFFD.
// The size of a text, the range and digits of a number, and the depth (10,000,
// by encoding/json) are bounded.
package jsondoc
