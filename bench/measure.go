//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// bench holds what the measurements share.
type bench struct {
	bin, dir string
	rounds   int
}

// sample is one finished process.
type sample struct {
	wall time.Duration
	rss  int64 // bytes, at its peak
}

// time runs a command n times after one that is not counted, and returns the
// median wall time and the largest peak memory.
func (b bench) time(n int, home string, name string, args ...string) (sample, error) {
	var walls []time.Duration
	var peak int64
	for i := range n + 1 {
		s, err := b.once(home, name, args...)
		if err != nil {
			return sample{}, err
		}
		if i > 0 {
			walls, peak = append(walls, s.wall), max(peak, s.rss)
		}
	}
	slices.Sort(walls)
	return sample{wall: walls[len(walls)/2], rss: peak}, nil
}

func (b bench) once(home, name string, args ...string) (sample, error) {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "AGENTCLASH_HOME="+filepath.Join(b.dir, home), "CI=true")
	c.Dir = b.dir
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	began := time.Now()
	if err := c.Run(); err != nil {
		return sample{}, fmt.Errorf("%s %v: %w\n%s", name, args, err, out.String())
	}
	s := sample{wall: time.Since(began)}
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.rss = usage.Maxrss * 1024 // kilobytes on Linux
	}
	return s, nil
}

func row(what string, s sample, budget string) {
	fmt.Printf("%-58s %12s %10.1f  %s\n", what, s.wall.Round(100*time.Microsecond), float64(s.rss)/1e6, budget)
}

func ratio(what string, a, b time.Duration, budget string) {
	fmt.Printf("%-58s %11.2fx %10s  %s\n", what, float64(a)/float64(b), "", budget)
}

func (b bench) write(name, text string) error {
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
