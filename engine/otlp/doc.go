// Package otlp exports runs as OpenTelemetry traces, with the semantic conventions
// for generative AI (version 1.41): one trace for each attempt of a trial, and one
// for the run itself, to which the others are linked.
//
// A trace is made of the facts that are stored, so that a run can be exported
// while it happens or a year later, with the same ids. What models and tools said
// is left out unless it is asked for. Nothing is exported that nobody asked for,
// and a collector that fails never fails a run.
package otlp
