//go:build !unix

package scratch_test

import (
	"testing"

	"github.com/agentclash/agentclash/sandbox"
)

// makePipe is nil where the system has no named pipes.
func makePipe() func(*testing.T, sandbox.Session, string) { return nil }
