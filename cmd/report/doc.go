// Package report writes what came of a run for other programs and for reviews:
// JUnit XML, SARIF 2.1.0, Markdown, JSON, JSONL and CSV; and, as a [Transcript], what
// was said and done in it.
//
// It decides what each format says and how text that a model, a pack or a
// container wrote is made harmless there: no markup, no mention, no formula.
// Each writer is a function of a [Run] and an [io.Writer], and reads the trials
// one by one, so that a run of any size takes little memory. It opens no file
// and no store; cmd hands in both.
package report
