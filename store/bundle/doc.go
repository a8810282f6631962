// Package bundle is the file of one run's evidence: what stands in it, in which
// order, and what a file must be like to be believed whole.
//
// A bundle is a tar archive in one zstd frame, followed by a skippable zstd frame
// with the SHA-256 of all bytes before it, so that tar and zstd read it and no
// byte of it can change unnoticed. The archive begins with bundle.json, which
// says what it is, and ends with manifest.json, the SHA-256 of every entry.
// Between them lie the run, its packs, its blobs (each named by its own digest),
// and its trials, events, rescorings and gates in files of lines of JSON. The
// same run gives the same bytes.
//
// Digests tell damage. They do not tell who wrote a bundle: whether its scores
// follow from its evidence is found out by scoring it again.
//
// It decides nothing about where records come from or go to, opens no file and
// knows no database. Writing and reading need memory for the largest entry, for
// a few bytes of each trial and for the digests of the blobs.
package bundle
