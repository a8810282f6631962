// Package view prints values for people and for programs.
//
// It decides how a result looks: the JSON documents of the commands, tables,
// detail blocks, colours, and one plain line a fact for pipes. Every renderer
// is a function of a value and a writer. It computes no score, opens nothing
// and reads no environment; whether there is a terminal, how wide it is and
// what time it is are handed in by cmd.
//
// All text that came from a pack, a model or a container passes through
// [Sanitize] or [SanitizeLine] before it reaches a person. JSON carries it
// unaltered, because JSON escapes it.
package view
