//go:build unix

package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	bin := flag.String("bin", "bin/agentclash", "the binary to measure")
	rounds := flag.Int("n", 5, "counted runs of the long measurements; short ones take four times as many")
	flag.Parse()
	if err := run(*bin, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin string, rounds int) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "agentclash-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := bench{bin: bin, dir: dir, rounds: rounds}
	fmt.Printf("%-58s %12s %10s  %s\n", "what", "median", "peak MB", "budget")
	for _, step := range []func() error{b.startUp, b.validate, b.manyCases, b.largeStore, b.largeRuns, b.rescore, b.nativeTrial} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
