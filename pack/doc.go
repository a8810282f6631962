// Package pack owns the challenge-pack file format: it loads, decodes with
// positions, normalizes, checks, and turns a pack into its manifest and digest.
//
// It decides whether a file is a valid pack and says everything that is wrong
// with it at once. It runs nothing and opens no store; the scoring contract
// inside a pack belongs to package scoring, which checks that part.
package pack
