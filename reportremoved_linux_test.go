package main_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRunRemovedUnderItsReport removes a run while its page is being written, which is
// then no page of it.
func TestRunRemovedUnderItsReport(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.must(t, strings.Fields("eval start --pack builtin:quickstart --model scripted/builtin:quickstart-good --repetitions 50 --quiet")...)
	pipe := filepath.Join(p.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	c := p.command(t.Context(), "run", "report", "latest", "-o", pipe)
	var talk bytes.Buffer
	c.Stderr = &talk
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	page, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()
	if _, err := io.ReadFull(page, make([]byte, 1)); err != nil { // it is being written, and not to its end
		t.Fatal(err)
	}
	p.must(t, strings.Fields("run prune --keep 0")...)
	if _, err := io.Copy(io.Discard, page); err != nil {
		t.Fatal(err)
	}
	if _ = c.Wait(); c.ProcessState.ExitCode() != 66 || !strings.Contains(talk.String(), "not found") {
		t.Errorf("status %d: %s", c.ProcessState.ExitCode(), talk.String())
	}
}
