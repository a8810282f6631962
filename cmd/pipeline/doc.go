// Package pipeline holds the commands of a CI job, as its manifest says.
package pipeline
