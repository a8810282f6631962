// Package mathexpr reads mathematical expressions, plain or in LaTeX, and says
// whether two of them are the same.
//
// Decided here: which LaTeX stands for which operators ([Parse] writes
// \frac, \sqrt, \boxed, √ and the multiplication signs out), the grammar of
// what is left, what an expression's canonical form is and what it comes to as
// a number. Numbers are exact fractions. Sums and products are flattened, their
// numbers folded and their parts sorted; nothing is expanded, collected or
// approximated, so that two different keys may still be the same value.
//
// Not decided here: which part of an answer is the expression, and when two
// numbers are near enough.
//
// Texts are hostile: their length, the depth of their brackets, the digits and
// the exponent of a number, the power that is worked out and the size of a
// canonical form are bounded, and what is beyond a bound is an error. Division
// by zero is one too.
package mathexpr
