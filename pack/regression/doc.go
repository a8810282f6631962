// Package regression keeps regression suites: YAML files, in a repository, of
// cases that an agent once failed, each with the whole case and where it is from.
//
// It decides what such a file may say, which states a case can have, how a file
// is changed without losing what a person wrote in it, and whether the cases
// still fit a pack. It runs nothing and judges nothing.
package regression
