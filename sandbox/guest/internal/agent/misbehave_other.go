//go:build !linux

package main

import (
	"fmt"
	"os"
)

func misbehave(what string, _ []string) int {
	fmt.Fprintf(os.Stderr, "agent: %q runs on Linux only\n", what)
	return 64
}
