// Package record keeps every exchange of a run in files beside its pack, and
// plays them back: what models, judges and servers replied, and what tools
// answered.
//
// Decided here: the layout and the format of a recording, what of a request
// must be the same for its recorded reply to be given, how a request that is
// not recorded is explained, and what of a tool's answer may differ from one run
// to the next. Not decided here: what a run does with a reply, and where keys,
// packs and clocks come from.
//
// # Layout
//
//	DIR/recording.json               what was recorded, and the digest of each file
//	DIR/trials/AGENT/CASE.rN.jsonl   the exchanges of a trial, attempt by attempt
//	DIR/rankings/CASE.rN.jsonl       what judges said who compare several trials
//
// The first line of a file says whose it is. Each other line is an attempt's
// beginning, one exchange, or an attempt's end with the digest of its lines; a
// model's request holds only what is new since the one before. A trial's file is
// replaced as a whole when an attempt ends, so that a process that dies leaves
// whole files, and a recording.json that does not say complete. One process at a
// time records into a directory: [Take].
package record
