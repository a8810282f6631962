// Package browse is the screen of what is stored: runs, their scorecards and trials,
// transcripts, comparisons and artifacts.
//
// It decides what a person sees, which keys do what, and when something is read:
// once it is shown, off the drawing loop, a part of a list at a time, and no longer
// than it is looked at. It opens nothing and computes nothing: a [Source] reads, and
// documents come with the function that writes them.
package browse
