//go:build race

package e2b_test

const raceDetector = true
